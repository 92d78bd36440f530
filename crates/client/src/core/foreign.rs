//! Responses of proxies and other servers in place of a service's.

use papir_protocol::{code, header};

use super::request::Response;
use crate::error::Error;

/// The header with the target of a redirection.
const LOCATION: &str = "location";
/// Longest target of a redirection that an error names, in bytes.
const MAX_LOCATION_BYTES: usize = 200;
/// Media types of HTML.
const HTML_TYPES: [&str; 2] = ["text/html", "application/xhtml+xml"];
/// Beginnings of an HTML page, in lower case.
const HTML_BEGINNINGS: [&[u8]; 2] = [b"<!doctype html", b"<html"];

/// The data of a response's head that explain why it is not a service's.
pub(crate) struct ForeignHead {
    status: u16,
    location: Option<String>,
    /// Set if the head names HTML as the type of the body.
    is_html: bool,
}

impl ForeignHead {
    pub(crate) fn of(response: &Response) -> Self {
        Self {
            status: response.status,
            location: response.header(LOCATION).map(str::to_owned),
            is_html: is_html(response),
        }
    }

    /// The error for a refusal that does not come from a papir service but from a proxy or another
    /// server. `body` is its body, and `sent` the length of the request's body in bytes.
    pub(crate) fn refusal(&self, url: String, body: &[u8], sent: Option<usize>) -> Error {
        let reason = match self.status {
            // Redirections are not followed: the next server would get the token and the queries.
            300..=399 => Foreign::redirect(self.location.as_deref()),
            401 => Foreign::new(
                code::UNAUTHORIZED,
                "a server or proxy before the service asks for another login",
            ),
            407 => Foreign::new(
                "proxy_login",
                "the proxy asks for a login, or refuses the one of its address",
            ),
            413 => Foreign::too_long(sent),
            _ if self.holds_page(body) => Foreign::new(
                "unknown",
                "an HTML page of a server or proxy, not a response of a papir service",
            ),
            _ => Foreign::new("unknown", "not a response of a papir service"),
        };

        Error::Http {
            url,
            status: self.status,
            code: reason.code.to_owned(),
            message: reason.message,
            current: None,
        }
    }

    /// Returns true if the response is an HTML page, by its head or its body.
    pub(crate) fn holds_page(&self, body: &[u8]) -> bool {
        self.is_html || begins_as_html(body)
    }
}

/// Returns true if the head of a response names HTML as the type of its body.
pub(crate) fn is_html(response: &Response) -> bool {
    let Some(media) = response.header(header::CONTENT_TYPE) else {
        return false;
    };
    let essence = media.split(';').next().unwrap_or_default().trim();
    HTML_TYPES
        .iter()
        .any(|html| essence.eq_ignore_ascii_case(html))
}

/// Returns true if text begins as an HTML page does. A page may have any type in its head.
fn begins_as_html(body: &[u8]) -> bool {
    let text = body.trim_ascii_start();
    HTML_BEGINNINGS.iter().any(|beginning| {
        text.get(..beginning.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(beginning))
    })
}

/// Code and message for a refusal that does not come from a papir service.
struct Foreign {
    code: &'static str,
    message: String,
}

impl Foreign {
    fn new(code: &'static str, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
        }
    }

    /// The reason for a request that is too long. A refusal names no limit, so the message states
    /// the length of the request, which the limit must at least have.
    fn too_long(sent: Option<usize>) -> Self {
        let server = "the limit of a server or proxy before the service";
        let message = match sent {
            Some(sent) => format!(
                "the request of {sent} bytes exceeds {server}: expected a limit of at least {sent} bytes"
            ),
            None => format!("the request exceeds {server}"),
        };
        Self {
            code: code::TOO_LONG,
            message,
        }
    }

    /// The reason for a redirection. It is not followed, since it could send a token or a query to
    /// another machine.
    fn redirect(location: Option<&str>) -> Self {
        // From the network: a terminal must not be controlled by it.
        let shown = location.filter(|text| {
            text.len() <= MAX_LOCATION_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
        });
        let message = match shown {
            Some(target) => {
                format!("it redirects to {target}: expected the address of the service itself")
            }
            None => "it redirects: expected the address of the service itself".to_owned(),
        };
        Self {
            code: "redirect",
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(media: Option<&str>) -> ForeignHead {
        let headers = media.map(|media| (header::CONTENT_TYPE.to_owned(), media.to_owned()));
        ForeignHead::of(&Response {
            status: 200,
            headers: headers.into_iter().collect(),
            body: Ok(Vec::new()),
        })
    }

    #[test]
    fn pages_are_recognized_by_their_type_and_by_their_beginning() {
        let cases: [(Option<&str>, &[u8], bool); 10] = [
            (Some("text/html"), b"", true),
            (Some("Text/HTML; charset=utf-8"), b"", true),
            (Some("application/xhtml+xml"), b"", true),
            (Some("application/json"), b" \r\n<!DOCTYPE html><p>", true),
            (None, b"<html>", true),
            (None, b"<HTML lang=en>", true),
            (None, b"", false),
            (None, b"<!doctype", false),
            (Some("application/json"), b"{\"a\":\"<html>\"}", false),
            (Some("text/plain"), b"html", false),
        ];
        for (media, body, expected) in cases {
            let text = String::from_utf8_lossy(body);
            assert_eq!(head(media).holds_page(body), expected, "{media:?} {text}");
        }
    }
}
