//! Parser of the option for a proxy.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use papir_client::ProxySetting;

/// Parses a proxy. The errors of clap's own parsers show the value, which may have a password.
#[derive(Clone)]
pub(crate) struct ProxyParser;

impl TypedValueParser for ProxyParser {
    type Value = ProxySetting;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ProxySetting, clap::Error> {
        let parsed = match value.to_str() {
            Some(text) => text
                .parse::<ProxySetting>()
                .map_err(|error| error.to_string()),
            None => Err("it is not UTF-8".to_owned()),
        };
        parsed.map_err(|reason| {
            let name = argument.map_or("--proxy".to_owned(), ToString::to_string);
            let message = format!("invalid value for '{name}': {reason}");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}
