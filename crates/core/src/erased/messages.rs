//! Enveloped messages of a scheme, and batches of answers.

use super::TOO_FEW;
use crate::codec::Writer;
use crate::envelope::{self, Header, Kind};
use crate::scheme::{Parameters, Scheme, Wire};
use crate::{Error, Result, Version};

/// The header of a message of this scheme.
pub(super) fn header<S: Scheme>(kind: Kind, version: Version) -> Header {
    Header {
        kind,
        scheme: S::ID,
        version,
    }
}

/// Encodes parameters and public part in an envelope with this version.
pub(super) fn public_part<S: Scheme>(
    version: Version,
    params: &S::Params,
    public: &S::Public,
) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.bytes(&params.encode()).raw(&public.encode(params));
    envelope::seal(&header::<S>(Kind::Public, version), &writer.finish())
}

/// Decodes an enveloped query. Fails for a query of another version.
pub(super) fn open_query<S: Scheme>(
    version: Version,
    params: &S::Params,
    query: &[u8],
) -> Result<S::Query> {
    let payload = envelope::open_version(query, Kind::Query, S::ID, version)?;
    S::Query::decode(params, payload)
}

/// Encodes an answer in an envelope with this version.
pub(super) fn seal_answer<S: Scheme>(
    version: Version,
    params: &S::Params,
    answer: &S::Answer,
) -> Vec<u8> {
    envelope::seal(&header::<S>(Kind::Answer, version), &answer.encode(params))
}

/// Answers all requests that parsed together. If that fails, answers each by itself, since an
/// invalid one must not fail the others. Returns one result per request.
pub(super) fn answer_each<R, A>(
    requests: Vec<Result<R>>,
    answer: impl Fn(&[&R]) -> Result<Vec<A>>,
) -> Vec<Result<A>> {
    // Only parsed requests: a malformed one must not make the others be answered one by one.
    let good: Vec<&R> = requests.iter().flatten().collect();
    let answers: Vec<Result<A>> = match answer(&good) {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) if good.len() == 1 => vec![Err(error)],
        Err(_) => good
            .iter()
            .map(|one| answer(&[one])?.pop().ok_or(TOO_FEW))
            .collect(),
    };

    // Results of good requests, back in the places of their requests.
    let mut answers = answers.into_iter();
    requests
        .into_iter()
        .map(|request| request.and_then(|_| answers.next().unwrap_or(Err(TOO_FEW))))
        .collect()
}

/// Replaces a parse error by [`Error::WrongVersion`] if the bytes are of another version: they need
/// not parse under this version's parameters.
pub(super) fn parse_error(error: Error, found: Version, expected: Version) -> Error {
    if found == expected {
        error
    } else {
        Error::WrongVersion { found, expected }
    }
}

/// The error for an object of another scheme.
pub(super) fn foreign<S: Scheme>(what: &'static str) -> Error {
    Error::malformed(what, "that of another scheme", S::NAME)
}
