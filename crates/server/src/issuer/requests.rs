//! Bodies of token requests and of their responses.

use axum::http::{HeaderMap, header};
use papir_privacy_pass::{
    BATCH_REQUEST_MEDIA_TYPE, BATCH_RESPONSE_MEDIA_TYPE, PassError, REQUEST_BYTES,
    REQUEST_MEDIA_TYPE, RESPONSE_MEDIA_TYPE, TOKENS_PER_BATCH, TokenRequest, TokenResponse,
    encode_responses, parse_requests, request_bytes,
};

use super::problem::IssuerProblem;

/// The path of token requests.
pub(super) const REQUEST_PATH: &str = "/token-request";

/// The form of a token request and of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestForm {
    /// One request (RFC 9578, section 6.1).
    Single,
    /// A batch, as papir's clients send it: [`TOKENS_PER_BATCH`] requests.
    Batch,
}

impl RequestForm {
    /// The form that the content type names, with or without parameters; `None` for another one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
        let media = value.split(';').next().unwrap_or_default().trim();

        let forms = [Self::Single, Self::Batch];
        forms
            .into_iter()
            .find(|form| media.eq_ignore_ascii_case(form.request_media()))
    }

    /// The content type of requests.
    fn request_media(self) -> &'static str {
        match self {
            Self::Single => REQUEST_MEDIA_TYPE,
            Self::Batch => BATCH_REQUEST_MEDIA_TYPE,
        }
    }

    /// The content type of responses.
    pub(super) fn response_media(self) -> &'static str {
        match self {
            Self::Single => RESPONSE_MEDIA_TYPE,
            Self::Batch => BATCH_RESPONSE_MEDIA_TYPE,
        }
    }

    /// The longest accepted body in bytes.
    pub(super) fn limit(self) -> usize {
        match self {
            Self::Single => REQUEST_BYTES,
            Self::Batch => request_bytes(TOKENS_PER_BATCH),
        }
    }

    /// Parses a body.
    pub(super) fn parse(self, body: &[u8]) -> Result<Vec<TokenRequest>, IssuerProblem> {
        if self == Self::Single {
            let request = TokenRequest::parse(body)?;
            return Ok(vec![request]);
        }

        let requests = parse_requests(body)?;
        if requests.len() != TOKENS_PER_BATCH {
            let found = requests.len();
            return Err(IssuerProblem::BatchSize { found });
        }
        Ok(requests)
    }

    /// Encodes the responses to the requests of a body, in order.
    pub(super) fn encode(self, responses: &[TokenResponse]) -> Result<Vec<u8>, PassError> {
        match (self, responses) {
            (Self::Single, [response]) => Ok(response.encode().to_vec()),
            _ => encode_responses(responses),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_privacy_pass::encode_requests;

    use super::*;

    fn form(media: &str) -> Option<RequestForm> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, media.parse().unwrap())]);
        RequestForm::of(&headers)
    }

    #[test]
    fn content_types_name_the_form() {
        assert_eq!(form(REQUEST_MEDIA_TYPE), Some(RequestForm::Single));
        let with_parameter = format!("{}; a=b", BATCH_REQUEST_MEDIA_TYPE.to_uppercase());
        assert_eq!(form(&with_parameter), Some(RequestForm::Batch));
        assert_eq!(form("application/json"), None);
        assert_eq!(RequestForm::of(&HeaderMap::new()), None);
    }

    #[test]
    fn batches_have_one_size() {
        let request = TokenRequest {
            truncated_key_id: 7,
            blinded: [1; 256],
        };
        for count in [1, TOKENS_PER_BATCH - 1, TOKENS_PER_BATCH + 1] {
            let body = encode_requests(&vec![request.clone(); count]).unwrap();
            let refused = RequestForm::Batch.parse(&body).unwrap_err();
            assert_eq!(refused, IssuerProblem::BatchSize { found: count });
        }

        let body = encode_requests(&vec![request.clone(); TOKENS_PER_BATCH]).unwrap();
        assert_eq!(body.len(), RequestForm::Batch.limit());
        let parsed = RequestForm::Batch.parse(&body).unwrap();
        assert_eq!(parsed.len(), TOKENS_PER_BATCH);

        let single = RequestForm::Single.parse(&request.encode()).unwrap();
        assert_eq!(single, [request]);
        for body in [&b""[..], &[0; REQUEST_BYTES]] {
            let refused = RequestForm::Single.parse(body).unwrap_err();
            assert_eq!((refused.status(), refused.code()), (422, "token_request"));
        }
    }
}
