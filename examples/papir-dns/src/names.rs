//! Names as keys, and the batch of keys for one name.

use hickory_proto::rr::Name;

/// The key of the root, and of dummies. No list has it: the root cannot be blocked.
pub(crate) const NO_NAME: &str = ".";

/// Returns the key of a name: lower case, without the last dot. [`NO_NAME`] for the root.
pub(crate) fn key_of(name: &Name) -> String {
    let text = name.to_lowercase().to_ascii();
    match text.strip_suffix('.') {
        Some("") | None if name.is_root() => NO_NAME.to_owned(),
        Some(relative) => relative.to_owned(),
        None => text,
    }
}

/// Returns `count` keys: of the name, of its parents with at most `count - 1` labels, and dummies.
///
/// The number of keys does not depend on the name, and the service cannot tell dummies from names.
pub(crate) fn keys_of_name_and_parents(name: &Name, count: usize) -> Vec<String> {
    let labels = name.iter().count();
    let highest = labels.saturating_sub(1).min(count.saturating_sub(1));

    let mut keys = vec![key_of(name)];
    for parent in 1..=highest {
        keys.push(key_of(&name.trim_to(parent)));
    }
    keys.resize(count, NO_NAME.to_owned());
    keys
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn keys(name: &str, count: usize) -> Vec<String> {
        keys_of_name_and_parents(&Name::from_ascii(name).unwrap(), count)
    }

    #[test]
    fn a_batch_has_the_name_its_parents_and_dummies() {
        let expected = ["a.ads.example", "example", "ads.example", ".", "."];
        assert_eq!(keys("A.Ads.Example.", 5), expected);
        assert_eq!(keys(".", 3), [".", ".", "."]);
        assert_eq!(keys("example.", 1), ["example"]);
    }

    #[test]
    fn every_name_gives_as_many_keys() {
        let mut name = Name::root();
        for _ in 0..40 {
            for count in [1, 2, 8, 40] {
                assert_eq!(keys_of_name_and_parents(&name, count).len(), count);
            }
            name = name.prepend_label("a").unwrap();
        }
    }

    #[test]
    fn a_longer_name_gives_itself_and_its_highest_parents() {
        assert_eq!(keys("e.d.c.b.a.", 3), ["e.d.c.b.a", "a", "b.a"]);
    }

    #[test]
    fn a_dot_within_a_label_begins_no_parent() {
        assert_eq!(keys("x\\.ads.example.", 3)[1..], ["example", "."]);
    }
}
