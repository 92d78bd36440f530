//! A check of the XML of plots.

/// Returns the names of the elements of an XML text. Checks that it has one root, that elements are
/// nested, and that attributes are quoted.
pub(crate) fn elements(xml: &str) -> Vec<String> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    let mut roots = 0;
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let outside = &rest[..start];
        assert!(
            !outside.contains('>') && entities_are_known(outside),
            "{outside}"
        );
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name.trim()), "</{name}>");
            continue;
        }
        let body = tag.trim_end_matches('/');
        let name = body
            .split_whitespace()
            .next()
            .expect("a tag has a name")
            .to_owned();
        assert_eq!(body.matches('"').count() % 2, 0, "<{tag}>");
        assert_eq!(
            body.matches('=').count(),
            body.matches("=\"").count(),
            "<{tag}>"
        );
        assert!(entities_are_known(body), "<{tag}>");
        roots += usize::from(open.is_empty());
        found.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(
        open.is_empty() && roots == 1,
        "{open:?} left open, {roots} roots"
    );
    assert_eq!(found[0], "svg");
    found
}

fn entities_are_known(text: &str) -> bool {
    let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#"];
    text.match_indices('&')
        .all(|(at, _)| known.iter().any(|entity| text[at..].starts_with(entity)))
}
