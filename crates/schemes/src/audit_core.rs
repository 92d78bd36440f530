//! The clients of the audit core's schemes (`docs/audit.md`).
//!
//! Without the feature `all` this crate has no others. `papir-client` then finds schemes here, in
//! place of the registry.

use papir_core::erased::{Erased, ErasedClientScheme};
use papir_core::{Error, Result};

use crate::inspire::Inspire;
use crate::simple::Simple;
use crate::simple::packed::Inspire1;

/// The schemes, in the order of their numbers.
pub const CLIENTS: [&dyn ErasedClientScheme; 3] = [
    &Erased::<Simple>::new(),
    &Erased::<Inspire>::new(),
    &Erased::<Inspire1>::new(),
];

/// Returns the scheme of this name.
///
/// # Errors
/// [`Error::UnknownScheme`] with the names of the core's schemes.
pub fn by_name(name: &str) -> Result<&'static dyn ErasedClientScheme> {
    find(|scheme| scheme.name() == name, name)
}

/// Returns the scheme with this number on the wire.
///
/// # Errors
/// The errors of [`by_name`].
pub fn by_id(id: u16) -> Result<&'static dyn ErasedClientScheme> {
    find(
        |scheme| scheme.properties().id == id,
        &format!("number {id}"),
    )
}

/// Returns the scheme that matches.
fn find(
    matches: impl Fn(&dyn ErasedClientScheme) -> bool,
    wanted: &str,
) -> Result<&'static dyn ErasedClientScheme> {
    let found = CLIENTS.into_iter().find(|scheme| matches(*scheme));
    found.ok_or_else(|| {
        let names = CLIENTS.map(|scheme| scheme.name());
        Error::UnknownScheme {
            found: wanted.to_owned(),
            expected: format!(
                "{}; the feature `all-schemes` of papir-client adds the others",
                names.join(", ")
            ),
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn the_registry_has_the_same_schemes() {
        for scheme in CLIENTS {
            let id = scheme.properties().id;
            assert_eq!(registry::by_id(id).unwrap().name(), scheme.name());
            assert_eq!(by_id(id).unwrap().name(), scheme.name());
            assert_eq!(by_name(scheme.name()).unwrap().properties().id, id);
        }
    }

    #[test]
    fn other_schemes_are_refused_with_the_way_to_them() {
        let zip = registry::by_name("zip").unwrap();
        let by_name = by_name(zip.name()).err().unwrap();
        let by_id = by_id(zip.properties().id).err().unwrap();

        for (refused, wanted) in [(by_name, "`zip`"), (by_id, "`number ")] {
            let text = refused.to_string();
            let has_all = [wanted, "simple, inspire, inspire1", "all-schemes"]
                .iter()
                .all(|part| text.contains(part));
            assert!(has_all, "{text}");
            assert_eq!(refused.code(), "unknown_scheme");
        }
    }
}
