//! Removes passwords and tokens from texts.

/// The text that stands for a password.
const HIDDEN: &str = "***";
/// Names of parameters with secrets, or the ends of the names.
const PARAMETERS: [&str; 4] = ["passphrase=", "password=", "secret=", "token="];
/// The beginning of every access token that a service makes.
const TOKEN: &str = "papir_";
/// Hexadecimal digits of a token. Names of metrics and folders are shorter.
const TOKEN_DIGITS: usize = 64;

/// A text for errors and logs without passwords: those before the host of an address, as in
/// `http://user:password@host`, and those of parameters, as in `?password=…` or `?token=…`. Access
/// tokens are removed, too. A name without a password stays.
pub fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + "://".len());
        shown.push_str(before);
        rest = address;

        if let Some(end) = end_of_user(address) {
            let (user, after) = address.split_at(end);
            match user.split_once(':') {
                Some((name, _)) => shown += &format!("{name}:{HIDDEN}"),
                None => shown.push_str(user),
            }
            rest = after;
        }
    }

    shown.push_str(rest);
    without_tokens(&without_parameters(&shown))
}

/// The place of the `@` that ends the user and the password at the beginning of an address.
fn end_of_user(address: &str) -> Option<usize> {
    let quoted = address.find(['`', '"', '\n']).unwrap_or(address.len());
    let address = &address[..quoted];
    let word = address.find(char::is_whitespace).unwrap_or(address.len());
    let host = address[..word].find(['/', '?', '#']).unwrap_or(word);
    if let Some(at) = address[..host].rfind('@') {
        return Some(at);
    }

    // What follows a colon is a port or, if it is no number, the beginning of a password with
    // characters that should have been escaped.
    let (_, port) = address[..host].split_once(':')?;
    let port = port.trim_end_matches([',', ';', ':', '.', ')']);
    let is_port = address.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { None } else { address.rfind('@') }
}

/// The text with the values of parameters hidden.
fn without_parameters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(end) = end_of_parameter(rest) {
        let (name, value) = rest.split_at(end);
        shown.push_str(name);

        let end = match value.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map(|end| end + 2),
            None => value.find(|c: char| c.is_whitespace() || "&`\"".contains(c)),
        };
        let end = end.unwrap_or(value.len());
        if end > 0 {
            shown.push_str(HIDDEN);
        }
        rest = &value[end..];
    }

    shown.push_str(rest);
    shown
}

/// The end of the first name of a parameter with a secret.
fn end_of_parameter(text: &str) -> Option<usize> {
    // Lower case has the same length, as far as ASCII is concerned.
    let lower = text.to_ascii_lowercase();
    let ends = PARAMETERS
        .iter()
        .filter_map(|name| Some(lower.find(name)? + name.len()));
    ends.min()
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
            ("http://u:sec/ret@h/d", "http://u:***@h/d"),
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
            (
                "http://h/?access_token=secret&a=b&client_secret=secret",
                "http://h/?access_token=***&a=b&client_secret=***",
            ),
        ] {
            assert_eq!(without_passwords(text), expected);
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
