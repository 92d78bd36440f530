//! Tests of the client's errors.

use super::*;

#[test]
fn a_shared_error_is_as_the_error_itself() {
    let late = Error::TimedOut {
        url: "http://h".to_owned(),
        timeout: Duration::ZERO,
        reason: None,
    };
    let text = late.to_string();
    let shared = Error::Shared(Arc::new(Error::Shared(Arc::new(late))));

    assert_eq!((shared.code(), shared.is_retryable()), ("timed_out", true));
    assert_eq!(shared.group(), ErrorGroup::Network);
    assert_eq!(shared.to_string(), text);
    assert!(matches!(shared.unshared(), Error::TimedOut { .. }));
}

#[test]
fn a_failure_of_the_relay_is_an_error_of_its_own() {
    for is_retryable in [false, true] {
        let failure = RelayFailure {
            relay: "https://r".to_owned(),
            is_retryable,
            source: "it is away".into(),
        };
        let failure: Box<dyn std::error::Error + Send + Sync> = Box::new(failure);
        assert_eq!(is_final(failure.as_ref()), !is_retryable);

        let error = Error::of_failure("https://h/v1".to_owned(), failure);
        assert_eq!(error.code(), "relay");
        assert_eq!(error.group(), ErrorGroup::Network);
        assert_eq!(error.is_retryable(), is_retryable);
        assert_eq!(
            error.to_string(),
            "https://h/v1: through the relay https://r: it is away"
        );
    }
}

#[test]
#[cfg(any(feature = "aio", feature = "blocking"))]
fn a_server_whose_demand_is_refused_is_passed_over() {
    let url = || "http://h".to_owned();
    let demands = [
        Error::NoIssuer {
            url: url(),
            issuer: "issuer.example".to_owned(),
        },
        Error::BadChallenge {
            url: url(),
            reason: "a challenge with a redemption context".to_owned(),
        },
    ];
    for error in demands {
        assert!(error.is_of_server() && !error.is_retryable(), "{error}");
    }

    let own = Error::BadIssuer {
        url: url(),
        reason: "expected https".to_owned(),
    };
    assert!(!own.is_of_server());
}

#[test]
fn texts_have_no_passwords_and_no_tokens() {
    let url = || "https://user:secret@h/v1".to_owned();
    let token = format!("papir_{}", "5e".repeat(32));
    let errors = [
        Error::BadUrl {
            url: "https://h/?token=secret".to_owned(),
            reason: "it has a query",
        },
        Error::TokenInClear { url: url() },
        Error::Transport {
            url: url(),
            source: format!("{} refuses {token}", url()).into(),
        },
        Error::BadRelay {
            url: url(),
            reason: "it has white space".to_owned(),
        },
        Error::Relay {
            url: url(),
            failure: RelayFailure {
                relay: url(),
                is_retryable: true,
                source: format!("{} refuses {token}", url()).into(),
            },
        },
        Error::TimedOut {
            url: url(),
            timeout: Duration::ZERO,
            reason: Some(url()),
        },
        Error::Unexpected {
            url: url(),
            reason: format!("a redirection to {}", url()),
        },
        Error::Http {
            url: url(),
            status: 403,
            code: code::FORBIDDEN.to_owned(),
            message: format!("{token} is no token of {}", url()),
            current: None,
        },
        Error::StateCopied {
            url: url(),
            message: format!("{token} used the ticket at {}", url()),
        },
        Error::NoCheckpoint { url: url() },
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("***"), "{text}");
        assert!(!text.contains("secret") && !text.contains("5e5e"), "{text}");
    }
}
