//! Lists of authentication schemes with parameters (RFC 9110, sections 11.2 to 11.6).
//!
//! `WWW-Authenticate` separates both schemes and their parameters by commas: a name that `=` and a
//! value follow is a parameter, every other name a scheme.

use crate::error::PassError;

/// Most schemes in one header, of every name.
const MAX_SCHEMES: usize = 64;
/// Most parameters of one scheme.
const MAX_PARAMETERS: usize = 32;

/// The name of the format, for errors.
const WHAT: &str = "authentication header";

/// A scheme in a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AuthScheme<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its parameters in order; none for a scheme with a token of RFC 7235.
    pub(crate) parameters: Vec<AuthParameter<'a>>,
}

/// A parameter of a scheme.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AuthParameter<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its value, without quotes and escapes.
    pub(crate) value: String,
}

impl AuthScheme<'_> {
    /// Returns true if the scheme has this name; case does not count.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value of the parameter with this name, which may stand once; case does not count.
    pub(crate) fn value(&self, name: &str) -> Result<Option<&str>, PassError> {
        let mut values = self
            .parameters
            .iter()
            .filter(|parameter| parameter.name.eq_ignore_ascii_case(name));
        let value = values.next().map(|parameter| parameter.value.as_str());
        if values.next().is_some() {
            return Err(malformed("a parameter twice", "it once"));
        }
        Ok(value)
    }
}

/// Parses the value of a header.
pub(crate) fn parse(header: &str) -> Result<Vec<AuthScheme<'_>>, PassError> {
    let mut scanner = Scanner { rest: header };
    let mut schemes: Vec<AuthScheme<'_>> = Vec::new();

    scanner.skip_separators();
    while !scanner.rest.is_empty() {
        let name = scanner.name()?;
        match scanner.value()? {
            Some(value) => {
                let Some(scheme) = schemes.last_mut() else {
                    return Err(malformed("a parameter", "a scheme before it"));
                };
                scheme.parameters.push(AuthParameter { name, value });
                let count = scheme.parameters.len();
                PassError::check_bound("parameters of a scheme", count, MAX_PARAMETERS)?;
            }
            None => {
                let parameters = Vec::new();
                schemes.push(AuthScheme { name, parameters });
                PassError::check_bound("authentication schemes", schemes.len(), MAX_SCHEMES)?;
                // What follows is a parameter of the scheme, without a comma before it.
                if scanner.skip_spaces() && !scanner.skip_token68() && !scanner.at_end() {
                    continue;
                }
            }
        }
        scanner.separator()?;
    }
    Ok(schemes)
}

/// The rest of a header.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    /// Skips spaces and tabs. Returns true if there were any.
    fn skip_spaces(&mut self) -> bool {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let skipped = rest.len() < self.rest.len();
        self.rest = rest;
        skipped
    }

    /// Skips commas, and spaces around them.
    fn skip_separators(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
    }

    /// Returns true if an element of the list ends here.
    fn at_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(',')
    }

    /// Skips the end of an element: a comma, or the end of the header.
    fn separator(&mut self) -> Result<(), PassError> {
        self.skip_spaces();
        if !self.at_end() {
            return Err(malformed("other characters", "a comma"));
        }
        self.skip_separators();
        Ok(())
    }

    /// Takes the characters at the front that fulfil a condition.
    fn take_while(&mut self, condition: impl Fn(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !condition(byte));
        // Only ASCII characters fulfil a condition, so that a character begins at the end.
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// Takes the name of a scheme or of a parameter.
    fn name(&mut self) -> Result<&'a str, PassError> {
        let name = self.take_while(is_token);
        if name.is_empty() {
            return Err(malformed("other characters", "a name"));
        }
        Ok(name)
    }

    /// Takes `=` and a value, which may be quoted. `None` if there is no `=`, with nothing taken.
    fn value(&mut self) -> Result<Option<String>, PassError> {
        let Some(rest) = self.rest.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            return Ok(None);
        };
        self.rest = rest.trim_start_matches([' ', '\t']);

        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            return self.quoted().map(Some);
        }
        // Servers also send base64 without quotes, though `=` may not stand in a token.
        let value = self.take_while(|byte| is_token(byte) || b"=/".contains(&byte));
        if value.is_empty() {
            return Err(malformed("no value", "one"));
        }
        Ok(Some(value.to_owned()))
    }

    /// Takes the rest of a quoted text with its closing quote.
    fn quoted(&mut self) -> Result<String, PassError> {
        let mut value = String::new();
        let mut characters = self.rest.chars();

        loop {
            let mut character = characters.next();
            if character == Some('"') {
                break;
            }
            if character == Some('\\') {
                character = characters.next();
            }

            match character {
                None => return Err(malformed("no closing quote", "one")),
                Some(control) if control != '\t' && control.is_control() => {
                    return Err(malformed("a control character", "none"));
                }
                Some(other) => value.push(other),
            }
        }

        self.rest = characters.as_str();
        Ok(value)
    }

    /// Skips the single token of a scheme such as `Negotiate`, if the element has this form.
    fn skip_token68(&mut self) -> bool {
        let mut ahead = Self { rest: self.rest };
        let token =
            ahead.take_while(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte));
        ahead.take_while(|byte| byte == b'=');
        ahead.skip_spaces();

        let is_token = !token.is_empty() && ahead.at_end();
        if is_token {
            self.rest = ahead.rest;
        }
        is_token
    }
}

/// Returns true if a byte may stand in a token (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The error for a header that breaks the grammar.
fn malformed(found: &str, expected: &'static str) -> PassError {
    PassError::malformed(WHAT, found, expected)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A header as text: `Scheme(name=value;name=value)`.
    fn shown(header: &str) -> Result<String, PassError> {
        let mut text = String::new();
        for scheme in parse(header)? {
            let pairs: Vec<String> = scheme
                .parameters
                .iter()
                .map(|parameter| format!("{}={}", parameter.name, parameter.value))
                .collect();
            text += &format!("{}({})", scheme.name, pairs.join(";"));
        }
        Ok(text)
    }

    #[test]
    fn schemes_and_parameters_are_told_apart() {
        for (header, expected) in [
            ("", ""),
            (" , ,", ""),
            ("A", "A()"),
            ("A, B", "A()B()"),
            ("A x=1", "A(x=1)"),
            ("A x=1, y=2", "A(x=1;y=2)"),
            ("A x=1,y=2,B z=3", "A(x=1;y=2)B(z=3)"),
            ("A x = \"1, B y=2\" ,, B", "A(x=1, B y=2)B()"),
            ("A x=\"a\\\"b\\\\\"", "A(x=a\"b\\)"),
            ("A x=\"\"", "A(x=)"),
            ("A x=ab==, y=_-8=", "A(x=ab==;y=_-8=)"),
            ("Negotiate ab+/==, A x=1", "Negotiate()A(x=1)"),
            ("Negotiate a", "Negotiate()"),
            ("A  x=1\t,\ty=2 ", "A(x=1;y=2)"),
            ("A x=\"ü\"", "A(x=ü)"),
        ] {
            assert_eq!(shown(header).unwrap(), expected, "{header}");
        }
    }

    #[test]
    fn other_headers_are_refused() {
        for header in [
            "x=1",
            "A x=\"1",
            "A x=\"1\\",
            "A x=1 y=2",
            "A x=\"1\"y=2",
            "A x=\"\n\"",
            "A x=1, y=,",
            "ü",
            "A ü=1",
            "A x=ü",
            "A \"x\"=1",
            "A (x)",
            "=",
            "A =1",
            "A x=1;y=2",
            "A\nB",
            "A x=\"\0\"",
        ] {
            assert_eq!(parse(header).unwrap_err().code(), "malformed", "{header:?}");
        }
    }

    #[test]
    fn a_parameter_stands_once() {
        let schemes = parse("A x=1, y=2, X=3").unwrap();
        assert_eq!(schemes[0].value("Y").unwrap(), Some("2"));
        assert_eq!(schemes[0].value("z").unwrap(), None);
        assert_eq!(schemes[0].value("x").unwrap_err().code(), "malformed");
    }

    #[test]
    fn lists_are_bounded() {
        let schemes = |count| vec!["A"; count].join(",");
        assert_eq!(parse(&schemes(MAX_SCHEMES)).unwrap().len(), MAX_SCHEMES);
        assert_eq!(
            parse(&schemes(MAX_SCHEMES + 1)).unwrap_err().code(),
            "too_large"
        );

        let parameters = |count| format!("A {}", vec!["x=1"; count].join(","));
        assert!(parse(&parameters(MAX_PARAMETERS)).is_ok());
        let header = parameters(MAX_PARAMETERS + 1);
        assert_eq!(parse(&header).unwrap_err().code(), "too_large");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[Aax=\", \\\\\tü\u{0}/-]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn quoted_values_return(value in "[ -~\t]{0,40}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let header = format!("A x=\"{escaped}\", y=1");
            let schemes = parse(&header).unwrap();
            prop_assert_eq!(schemes[0].value("x").unwrap(), Some(value.as_str()));
            prop_assert_eq!(schemes[0].value("y").unwrap(), Some("1"));
        }
    }
}
