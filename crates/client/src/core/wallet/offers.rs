//! Challenges of a service, and which of them a client accepts.

use papir_privacy_pass::{
    ChallengeOffer, IssuerPublicKey, PassError, SCHEME, TokenChallenge, parse_challenges,
};

use crate::core::address::Address;
use crate::core::request::Response;

/// The status of a response that demands a token.
const UNAUTHORIZED: u16 = 401;
/// The header with the challenges, of which a response may have several.
const WWW_AUTHENTICATE: &str = "www-authenticate";

/// The challenges of a response, of any token type; none for other responses.
///
/// # Errors
/// A header that names the scheme of tokens and is malformed.
pub(crate) fn token_offers(response: &Response) -> Result<Vec<ChallengeOffer>, PassError> {
    let mut offers = Vec::new();
    if response.status != UNAUTHORIZED {
        return Ok(offers);
    }

    for (name, value) in &response.headers {
        if name != WWW_AUTHENTICATE {
            continue;
        }
        match parse_challenges(value) {
            Ok(found) => offers.extend(found),
            Err(error) if names_tokens(value) => return Err(error),
            // A header of another scheme, which a proxy may have written.
            Err(_) => {}
        }
    }
    Ok(offers)
}

/// Returns true if a header contains the name of the scheme of tokens.
fn names_tokens(header: &str) -> bool {
    let scheme = SCHEME.to_ascii_lowercase();
    header.to_ascii_lowercase().contains(&scheme)
}

/// The issuer that the first challenge of type 2 names; `None` without such a challenge.
pub(crate) fn named_issuer(offers: &[ChallengeOffer]) -> Option<String> {
    let mut challenges = offers
        .iter()
        .filter_map(|offer| offer.parse_challenge().ok());
    challenges.next().map(|first| first.issuer().to_owned())
}

/// A challenge that the client answers, and the issuer's key that the service offers with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedChallenge {
    pub(crate) challenge: TokenChallenge,
    pub(crate) key: Option<IssuerPublicKey>,
}

/// The names that a challenge must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenParties {
    /// The host of the issuer, with its port unless it is the scheme's.
    issuer: String,
    /// The host of the service, with its port unless it is the scheme's.
    authority: String,
    /// The host of the service alone.
    host: String,
}

impl TokenParties {
    /// The names of an issuer and of a service at these addresses.
    pub(crate) fn new(issuer: &Address, service: &Address) -> Self {
        Self {
            issuer: issuer.authority(),
            authority: service.authority(),
            host: service.host().to_ascii_lowercase(),
        }
    }

    /// The first challenge that is accepted. The error is the reason for the last one that is not.
    pub(crate) fn choose(&self, offers: &[ChallengeOffer]) -> Result<AcceptedChallenge, String> {
        let mut reason = "no challenge for tokens of type 2".to_owned();
        for offer in offers {
            match self.accept(offer) {
                Ok(accepted) => return Ok(accepted),
                // Clients ignore token types that they do not know.
                Err(RefusedChallenge::OtherType) => {}
                Err(RefusedChallenge::Because(found)) => reason = found,
            }
        }
        Err(reason)
    }

    fn accept(&self, offer: &ChallengeOffer) -> Result<AcceptedChallenge, RefusedChallenge> {
        let challenge = offer.parse_challenge()?;
        self.check_issuer(&challenge)?;
        self.check_origins(&challenge)?;
        // Tokens are fetched ahead for one challenge. With a context of its own for each client,
        // the service could tell which requests belong together.
        if challenge.context().is_some() {
            let found = "a challenge with a redemption context: expected one without";
            return Err(RefusedChallenge::Because(found.to_owned()));
        }

        let key = offer.parse_key()?;
        Ok(AcceptedChallenge { challenge, key })
    }

    fn check_issuer(&self, challenge: &TokenChallenge) -> Result<(), RefusedChallenge> {
        let found = challenge.issuer();
        if found == self.issuer {
            return Ok(());
        }
        let expected = &self.issuer;
        let reason = format!("a challenge for the issuer {found}: expected {expected}");
        Err(RefusedChallenge::Because(reason))
    }

    /// Checks that the origins are the service or any. Further names could mark a client.
    fn check_origins(&self, challenge: &TokenChallenge) -> Result<(), RefusedChallenge> {
        let found = challenge.origins();
        let is_service = match found {
            [] => true,
            [origin] => *origin == self.authority || *origin == self.host,
            _ => false,
        };
        if is_service {
            return Ok(());
        }

        let found = found.join(",");
        let expected = &self.authority;
        let reason = format!("a challenge for the origin {found}: expected {expected}");
        Err(RefusedChallenge::Because(reason))
    }
}

/// Why a challenge is not accepted.
enum RefusedChallenge {
    /// It is for tokens of another type.
    OtherType,
    /// It is malformed, or has other names.
    Because(String),
}

impl From<PassError> for RefusedChallenge {
    fn from(error: PassError) -> Self {
        match error {
            PassError::TokenType { .. } => Self::OtherType,
            error => Self::Because(error.to_string()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_privacy_pass::write_challenges;

    use super::*;

    fn parties() -> TokenParties {
        TokenParties::new(
            &Address::parse("https://issuer.example:8443").unwrap(),
            &Address::parse("https://PIR.example/papir").unwrap(),
        )
    }

    fn offer(issuer: &str, context: Option<[u8; 32]>, origins: &[&str]) -> ChallengeOffer {
        let origins = origins.iter().map(|&name| name.to_owned()).collect();
        let challenge = TokenChallenge::new(issuer, context, origins).unwrap();
        ChallengeOffer::new(&challenge, None, None)
    }

    /// A response with this status and header.
    fn response(status: u16, header: &str) -> Response {
        Response {
            status,
            headers: vec![("www-authenticate".to_owned(), header.to_owned())],
            body: Ok(Vec::new()),
        }
    }

    #[test]
    fn only_challenges_of_the_service_and_its_issuer_are_accepted() {
        let issuer = "issuer.example:8443";
        for origins in [&[][..], &["pir.example"]] {
            let good = offer(issuer, None, origins);
            assert!(parties().choose(&[good]).is_ok(), "{origins:?}");
        }

        for (bad, part) in [
            (offer("issuer.example", None, &[]), "expected issuer"),
            (offer("Issuer.example:8443", None, &[]), "expected issuer"),
            (offer(issuer, None, &["other.example"]), "expected pir"),
            (offer(issuer, None, &["PIR.example"]), "expected pir"),
            (offer(issuer, None, &["pir.example", "x"]), "expected pir"),
            (offer(issuer, Some([1; 32]), &[]), "redemption context"),
        ] {
            let reason = parties().choose(&[bad]).unwrap_err();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn the_first_acceptable_challenge_is_chosen_and_other_types_are_skipped() {
        let other_type = ChallengeOffer {
            challenge: vec![0, 1, 9],
            token_key: None,
            max_age: None,
        };
        let reason = parties().choose(std::slice::from_ref(&other_type));
        assert!(reason.unwrap_err().contains("type 2"));

        let issuer = "issuer.example:8443";
        let offered = [
            other_type,
            offer("a.example", None, &[]),
            offer(issuer, None, &["pir.example"]),
            offer(issuer, None, &[]),
        ];
        let chosen = parties().choose(&offered).unwrap();
        assert_eq!(chosen.challenge.origins(), ["pir.example"]);
        assert_eq!(named_issuer(&offered).as_deref(), Some("a.example"));
    }

    #[test]
    fn only_refusals_with_the_scheme_demand_tokens() {
        let header = write_challenges(&[offer("issuer.example:8443", None, &[])]);
        assert_eq!(token_offers(&response(401, &header)).unwrap().len(), 1);
        assert!(token_offers(&response(403, &header)).unwrap().is_empty());
        for other in ["Bearer", "Basic realm=\"", ""] {
            assert!(token_offers(&response(401, other)).unwrap().is_empty());
        }
        assert!(token_offers(&response(401, "PrivateToken challenge=*")).is_err());
    }
}
