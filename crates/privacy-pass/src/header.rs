//! The HTTP headers that offer challenges and carry tokens (RFC 9577, sections 2.1.3 and 2.2.2).

use std::fmt::Write;

use zeroize::Zeroizing;

use crate::auth_params::{self, AuthScheme};
use crate::base64url;
use crate::challenge::{MAX_CHALLENGE_BYTES, TokenChallenge};
use crate::error::PassError;
use crate::key::IssuerPublicKey;
use crate::token::{PassToken, TOKEN_BYTES};

/// The name of the authentication scheme.
pub const SCHEME: &str = "PrivateToken";
/// Longest value of a header that is parsed, in bytes.
pub const MAX_HEADER_BYTES: usize = 32 << 10;
/// Most challenges of [`SCHEME`] in one header.
pub const MAX_OFFERS: usize = 16;
/// Longest public key in an offer in bytes, of every token type.
const MAX_KEY_BYTES: usize = 1024;

/// A challenge in a `WWW-Authenticate` header, of any token type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChallengeOffer {
    /// The challenge, not yet parsed.
    pub challenge: Vec<u8>,
    /// The public key of the issuer, not yet parsed. Clients may know it from elsewhere.
    pub token_key: Option<Vec<u8>>,
    /// The time in seconds for which the service accepts tokens for the challenge.
    pub max_age: Option<u64>,
}

impl ChallengeOffer {
    /// An offer of tokens of type 2.
    pub fn new(
        challenge: &TokenChallenge,
        key: Option<&IssuerPublicKey>,
        max_age: Option<u64>,
    ) -> Self {
        Self {
            challenge: challenge.encode(),
            token_key: key.map(|key| key.spki().to_vec()),
            max_age,
        }
    }

    /// The challenge.
    ///
    /// # Errors
    /// [`PassError::TokenType`] for another token type, and clients ignore the offer. The other
    /// errors are those of [`TokenChallenge::parse`].
    pub fn parse_challenge(&self) -> Result<TokenChallenge, PassError> {
        TokenChallenge::parse(&self.challenge)
    }

    /// The public key, if the offer has one.
    ///
    /// # Errors
    /// The errors of [`IssuerPublicKey::parse`].
    pub fn parse_key(&self) -> Result<Option<IssuerPublicKey>, PassError> {
        let key = self.token_key.as_deref();
        key.map(IssuerPublicKey::parse).transpose()
    }
}

/// The value of a `WWW-Authenticate` header with these challenges, the preferred one first.
pub fn write_challenges(offers: &[ChallengeOffer]) -> String {
    let mut header = String::new();
    for offer in offers {
        if !header.is_empty() {
            header.push_str(", ");
        }

        let challenge = base64url::encode(&offer.challenge);
        let _ = write!(header, "{SCHEME} challenge=\"{challenge}\"");
        if let Some(key) = &offer.token_key {
            let key = base64url::encode(key);
            let _ = write!(header, ", token-key=\"{key}\"");
        }
        if let Some(seconds) = offer.max_age {
            let _ = write!(header, ", max-age={seconds}");
        }
    }
    header
}

/// Parses the value of a `WWW-Authenticate` header. Returns the challenges of [`SCHEME`], in order;
/// other schemes and unknown parameters are ignored. Several headers are parsed one by one.
///
/// # Errors
/// [`PassError::TooLarge`] for more than [`MAX_HEADER_BYTES`] or [`MAX_OFFERS`],
/// [`PassError::Malformed`] for a header that breaks the grammar, and for a challenge of [`SCHEME`]
/// without its parameter `challenge` or with a value that is not base64url with padding.
pub fn parse_challenges(header: &str) -> Result<Vec<ChallengeOffer>, PassError> {
    PassError::check_bound("bytes of the header", header.len(), MAX_HEADER_BYTES)?;
    let mut schemes = auth_params::parse(header)?;
    schemes.retain(|scheme| scheme.is(SCHEME));
    PassError::check_bound("challenges", schemes.len(), MAX_OFFERS)?;
    schemes.iter().map(offer).collect()
}

/// The offer in the parameters of a scheme.
fn offer(scheme: &AuthScheme<'_>) -> Result<ChallengeOffer, PassError> {
    let Some(challenge) = scheme.value("challenge")? else {
        return Err(missing("challenge"));
    };
    let challenge = base64url::decode("token challenge", challenge, MAX_CHALLENGE_BYTES)?;

    let token_key = match scheme.value("token-key")? {
        Some(key) => Some(base64url::decode("token-key", key, MAX_KEY_BYTES)?),
        None => None,
    };
    let max_age = match scheme.value("max-age")? {
        Some(age) => Some(seconds(age)?),
        None => None,
    };
    Ok(ChallengeOffer {
        challenge,
        token_key,
        max_age,
    })
}

/// The number of seconds in a text of digits.
fn seconds(text: &str) -> Result<u64, PassError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = text.parse().ok().filter(|_| is_number);
    seconds.ok_or_else(|| {
        let found = format!("{} characters", text.len());
        PassError::malformed("max-age", found, "a number of seconds")
    })
}

/// The error for a missing parameter.
fn missing(parameter: &'static str) -> PassError {
    PassError::malformed(SCHEME, "no parameter", parameter)
}

/// The value of an `Authorization` header with this token. It is erased on drop, as the token is a
/// secret until the service has it.
pub fn write_authorization(token: &PassToken) -> Zeroizing<String> {
    let bytes = Zeroizing::new(token.encode());
    let encoded = Zeroizing::new(base64url::encode(&bytes[..]));
    Zeroizing::new(format!("{SCHEME} token=\"{}\"", *encoded))
}

/// Parses the value of an `Authorization` header. `None` for another scheme, such as `Bearer`.
///
/// # Errors
/// [`PassError::Malformed`] for a header of [`SCHEME`] that breaks the grammar, that has no
/// parameter `token`, or another scheme after it; [`PassError::TooLarge`]; the errors of
/// [`PassToken::parse`].
pub fn parse_authorization(header: &str) -> Result<Option<PassToken>, PassError> {
    let name = header.trim_start().split([' ', '\t', ',']).next();
    if name.is_none_or(|name| !name.eq_ignore_ascii_case(SCHEME)) {
        return Ok(None);
    }

    PassError::check_bound("bytes of the header", header.len(), MAX_HEADER_BYTES)?;
    let schemes = auth_params::parse(header)?;
    let [scheme] = &schemes[..] else {
        let found = format!("{} schemes", schemes.len());
        return Err(PassError::malformed("authorization", found, "one"));
    };
    let Some(token) = scheme.value("token")? else {
        return Err(missing("token"));
    };
    let bytes = base64url::decode("token", token, TOKEN_BYTES)?;
    PassToken::parse(&bytes).map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ISSUER, challenges};

    fn any_token() -> PassToken {
        PassToken::parse(&[&[0, 2][..], &[0xfb; TOKEN_BYTES - 2]].concat()).unwrap()
    }

    #[test]
    fn challenges_of_other_schemes_and_types_are_skipped() {
        let challenge = TokenChallenge::new("i", None, vec![]).unwrap();
        let offer = ChallengeOffer::new(&challenge, Some(ISSUER.public()), Some(10));
        let written = write_challenges(std::slice::from_ref(&offer));
        let header =
            format!("Basic realm=\"PrivateToken\", privatetoken challenge=AAE=, {written}");

        let offers = parse_challenges(&header).unwrap();
        assert_eq!(offers.len(), 2);
        let expected = PassError::TokenType { found: 1 };
        assert_eq!(offers[0].parse_challenge().unwrap_err(), expected);
        assert_eq!(offers[1], offer);
        assert_eq!(offers[1].parse_challenge().unwrap(), challenge);
        assert_eq!(
            offers[1].parse_key().unwrap().as_ref(),
            Some(ISSUER.public())
        );
        assert!(parse_challenges("Bearer").unwrap().is_empty());
    }

    #[test]
    fn malformed_offers_are_refused() {
        for header in [
            "PrivateToken",
            "PrivateToken AAI=",
            "PrivateToken token-key=AAI=",
            "PrivateToken challenge=AAI",
            "PrivateToken challenge=\"AA I=\"",
            "PrivateToken challenge=AAI=, challenge=AAI=",
            "PrivateToken challenge=AAI=, token-key=*",
            "PrivateToken challenge=AAI=, max-age=-1",
            "PrivateToken challenge=AAI=, max-age=+1",
            "PrivateToken challenge=AAI=, max-age=\"\"",
            "PrivateToken challenge=AAI=, max-age=18446744073709551616",
        ] {
            assert_eq!(
                parse_challenges(header).unwrap_err().code(),
                "malformed",
                "{header}"
            );
        }
    }

    #[test]
    fn headers_are_bounded() {
        let offers = vec!["PrivateToken challenge=AAI="; MAX_OFFERS].join(", ");
        assert_eq!(parse_challenges(&offers).unwrap().len(), MAX_OFFERS);
        let more = format!("{offers}, PrivateToken challenge=AAI=");
        assert_eq!(parse_challenges(&more).unwrap_err().code(), "too_large");

        for header in [
            " ".repeat(MAX_HEADER_BYTES + 1),
            format!("PrivateToken challenge={}", "A".repeat(8000)),
            format!(
                "PrivateToken challenge=AAI=, token-key={}",
                "A".repeat(2000)
            ),
        ] {
            assert_eq!(parse_challenges(&header).unwrap_err().code(), "too_large");
        }
        for length in [2000, MAX_HEADER_BYTES + 1] {
            let header = format!("PrivateToken token={}", "A".repeat(length));
            assert_eq!(
                parse_authorization(&header).unwrap_err().code(),
                "too_large"
            );
        }
    }

    #[test]
    fn tokens_return_from_headers() {
        let token = any_token();
        let header = write_authorization(&token);
        assert_eq!(parse_authorization(&header).unwrap(), Some(token.clone()));
        let unquoted = header.replace('"', "");
        assert_eq!(parse_authorization(&unquoted).unwrap(), Some(token.clone()));
        let other = header.replace("PrivateToken ", " privatetoken  other=1, ");
        assert_eq!(parse_authorization(&other).unwrap(), Some(token));
    }

    #[test]
    fn other_authorizations_are_skipped_or_refused() {
        for header in [
            "",
            "Bearer \"",
            "Basic YTpi",
            "PrivateTokens x",
            "Bearer x, PrivateToken",
        ] {
            assert_eq!(parse_authorization(header).unwrap(), None, "{header}");
        }
        let good = write_authorization(&any_token());
        for header in [
            "PrivateToken",
            "PrivateToken \"",
            "PrivateToken AAI=",
            "PrivateToken token=AAI=",
            "PrivateToken token=AAI",
            &format!("{}, {}", *good, *good),
            &good.replace("token=", "token=\"AAI=\", token="),
        ] {
            assert_eq!(
                parse_authorization(header).unwrap_err().code(),
                "malformed",
                "{header}"
            );
        }
        let refused = parse_authorization("PrivateToken token=AAE=");
        assert_eq!(refused.unwrap_err(), PassError::TokenType { found: 1 });
    }

    proptest! {
        #[test]
        fn offers_return(
            challenges in prop::collection::vec(challenges(), 0..4),
            has_key: bool,
            max_age: Option<u64>,
        ) {
            let key = has_key.then(|| ISSUER.public());
            let offers: Vec<ChallengeOffer> = challenges
                .iter()
                .map(|challenge| ChallengeOffer::new(challenge, key, max_age))
                .collect();
            prop_assert_eq!(parse_challenges(&write_challenges(&offers)).unwrap(), offers);
        }

        #[test]
        fn no_text_panics(text in "(PrivateToken|challenge|token|=|AAI=|\"|,| |[ -~]|\\PC){0,20}") {
            let _ = parse_challenges(&text);
            let _ = parse_authorization(&text);
        }
    }
}
