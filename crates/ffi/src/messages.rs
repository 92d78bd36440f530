//! Answers to queries that travelled in messages.

use papir_client::aio;

use crate::error::PapirError;
use crate::options::Options;

/// Decodes the answer to a query of `query_message`, and removes its lookup before, so that an
/// answer is never decoded twice. Returns the value; none for an absent key. Sends nothing. The
/// address and the options are those of the query: they name the client state.
///
/// An answer to which no lookup waits leaves the state unchanged, and has the code `malformed`: it
/// is of another client, version or query, is damaged or truncated, or was decoded before.
#[uniffi::export(async_runtime = "tokio")]
pub async fn extract_message(
    url: String,
    options: Options,
    answer: Vec<u8>,
) -> Result<Option<Vec<u8>>, PapirError> {
    let options = options.into_client_options()?;
    Ok(aio::extract_message(&url, &options, answer).await?)
}
