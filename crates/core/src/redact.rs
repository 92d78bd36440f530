//! Removes passwords and tokens from texts.

/// The replacement for a password.
const HIDDEN: &str = "***";
/// Addresses whose users are names. Elsewhere a user without a password is often a token.
const OF_NAMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Names of parameters with secrets, or the ends of the names.
const PARAMETERS: [&str; 4] = ["passphrase=", "password=", "secret=", "token="];
/// The beginning of every access token that a service makes.
const TOKEN: &str = "papir_";
/// Hexadecimal digits of a token. Names of metrics and folders are shorter.
const TOKEN_DIGITS: usize = 64;

/// A text for errors and logs without passwords: those before the host of an address, as in
/// `http://user:password@host`, and those of parameters, as in `?password=…` or `?token=…`. Access
/// tokens are removed, too, and so is a user without a password, as in `https://token@host`, except
/// in the address of a database.
pub fn without_passwords(text: &str) -> String {
    without_tokens(&without_parameters(&without_logins(text)))
}

/// The text with the passwords of addresses hidden.
fn without_logins(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    // A login ends in the line and in the quoted text in which it begins.
    for piece in text.split_inclusive(['`', '"', '\n']) {
        // Searched once for each piece: a service may send a long text with many addresses.
        let end = piece.rfind('@').map_or(0, |last| last + 1);
        let (logins, others) = piece.split_at(end);
        push_without_logins(&mut shown, logins);
        shown.push_str(others);
    }
    shown
}

/// Adds a text that is empty or ends in `@`, with the passwords of its addresses hidden.
fn push_without_logins(shown: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + "://".len());
        shown.push_str(before);
        rest = address;

        if let Some(end) = end_of_user(address) {
            let (login, after) = address.split_at(end);
            let has_name = OF_NAMES.iter().any(|scheme| before.ends_with(scheme));
            match login.split_once(':') {
                Some((_, "")) if !has_name => *shown += &format!("{HIDDEN}:{HIDDEN}"),
                Some((name, _)) => *shown += &format!("{name}:{HIDDEN}"),
                None if has_name || login.is_empty() => shown.push_str(login),
                None => shown.push_str(HIDDEN),
            }
            rest = after;
        }
    }
    shown.push_str(rest);
}

/// The place of the `@` that ends the user and the password at the beginning of an address. The
/// address is empty or ends in `@`.
fn end_of_user(address: &str) -> Option<usize> {
    let end = address.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#'));
    let host = &address[..end.unwrap_or(address.len())];
    if let Some(at) = host.rfind('@') {
        return Some(at);
    }

    // What follows a colon is a port or, if it is no number, the beginning of a password with
    // characters that should have been escaped.
    let (_, port) = host.split_once(':')?;
    let port = port.trim_end_matches([',', ';', ':', '.', ')']);
    let is_port = address.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { None } else { address.rfind('@') }
}

/// Replaces the values of password parameters.
fn without_parameters(text: &str) -> String {
    // Lower case has the same length, as far as ASCII is concerned.
    let lower = text.to_ascii_lowercase();
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for (at, sign) in text.match_indices('=') {
        // Within a value that is hidden already.
        if at < done {
            continue;
        }
        let end = at + sign.len();
        let name = &lower[done..end];
        if !PARAMETERS.iter().any(|secret| name.ends_with(*secret)) {
            continue;
        }

        shown.push_str(&text[done..end]);
        let hidden = value_length(&text[end..]);
        if hidden > 0 {
            shown.push_str(HIDDEN);
        }
        done = end + hidden;
    }

    shown.push_str(&text[done..]);
    shown
}

/// The length of the value at the beginning of a text, with the quotes around it, if any.
fn value_length(text: &str) -> usize {
    let end = match text.strip_prefix('\'') {
        Some(quoted) => quoted.find('\'').map(|end| end + 2),
        None => text.find(|c: char| c.is_whitespace() || "&`\"".contains(c)),
    };
    end.unwrap_or(text.len())
}

/// The text with access tokens hidden.
fn without_tokens(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(TOKEN) {
        let (before, after) = rest.split_at(at + TOKEN.len());
        shown.push_str(before);

        let digits = after.bytes().take_while(u8::is_ascii_hexdigit).count();
        rest = if digits >= TOKEN_DIGITS {
            shown.push_str(HIDDEN);
            &after[digits..]
        } else {
            after
        };
    }

    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_addresses_are_hidden() {
        for (text, expected) in [
            (
                "http://u:secret@h:1/a: refused",
                "http://u:***@h:1/a: refused",
            ),
            (
                "bad address `postgres://u:secret@h/d`",
                "bad address `postgres://u:***@h/d`",
            ),
            ("http://u:sec@ret@h", "http://u:***@h"),
            ("http://me@i:secret@h/d", "http://me@i:***@h/d"),
            ("http://u:sec/ret@h/d", "http://u:***@h/d"),
            (
                "\"http://u:sec ret@h\" and http://v:sec/ret@i, a@b",
                "\"http://u:***@h\" and http://v:***@b",
            ),
            ("`http://u:sec ret@h`: a space", "`http://u:***@h`: a space"),
            ("http://:secret@h", "http://:***@h"),
            (
                "s3://a:secret@b/c and http://u:secret@h",
                "s3://a:***@b/c and http://u:***@h",
            ),
            (
                "http://h/?to=http://u:secret@i",
                "http://h/?to=http://u:***@i",
            ),
            (
                "postgres://h/d?sslpassword=secret&a=b",
                "postgres://h/d?sslpassword=***&a=b",
            ),
            (
                "host=h password='sec ret' user=u",
                "host=h password=*** user=u",
            ),
            ("host=h PASSWORD=secret", "host=h PASSWORD=***"),
            ("password=a=token=b c=d&token=", "password=*** c=d&token="),
            (
                "http://h/?access_token=secret&a=b&client_secret=secret",
                "http://h/?access_token=***&a=b&client_secret=***",
            ),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }

    #[test]
    fn users_that_may_be_tokens_are_hidden() {
        for (text, expected) in [
            (
                "https://ghp_secret@h/a: refused",
                "https://***@h/a: refused",
            ),
            ("https://sec@ret@h", "https://***@h"),
            ("https://secret:@h:80", "https://***:***@h:80"),
            ("socks5://secret@h:1", "socks5://***@h:1"),
            (
                "http://h/?to=https://secret@i and s3://secret@b",
                "http://h/?to=https://***@i and s3://***@b",
            ),
            ("postgres://papir:@db", "postgres://papir:***@db"),
            (
                "postgresql://papir@db,db2/shop",
                "postgresql://papir@db,db2/shop",
            ),
            ("https://@h", "https://@h"),
        ] {
            assert_eq!(without_passwords(text), expected);
            assert_eq!(without_passwords(expected), expected, "once more");
        }
    }

    #[test]
    fn access_tokens_are_hidden() {
        let token = format!("papir_{}", "0f".repeat(32));
        let text = format!("Bearer {token}: refused, {token}");
        let shown = without_passwords(&text);
        assert_eq!(shown, "Bearer papir_***: refused, papir_***");

        for text in ["papir_queries_total", "papir_0f0f", "papir_"] {
            assert_eq!(without_passwords(text), text);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "",
            "postgres://papir@db/shop",
            "http://h:7470/users/@me",
            "http://[::1]:80/@",
            "unix:/run/papir.sock: no such file, ask a@b",
            "é://ü, password: none",
            "http://h:1, then http://i:2 and a@b",
        ] {
            assert_eq!(without_passwords(text), text);
        }
    }
}
