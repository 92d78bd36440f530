//! Paths in token streams that syn leaves unparsed.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::ext::IdentExt;

use crate::modules::Path;

/// Keys of serde attributes whose value is the path of a function or a type.
const FUNCTIONS: &[&str] = &[
    "default",
    "serialize_with",
    "deserialize_with",
    "skip_serializing_if",
    "from",
    "try_from",
    "into",
];

/// All paths of two or more segments in `stream`, those of nested groups included.
pub(crate) fn paths(stream: TokenStream) -> Vec<Path> {
    let mut found = Vec::new();
    scan(stream, &[], &mut found);
    found
}

/// Adds the paths of `stream` to `found`, each below `prefix`.
fn scan(stream: TokenStream, prefix: &[String], found: &mut Vec<Path>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut position = 0;
    while position < trees.len() {
        match &trees[position] {
            TokenTree::Group(group) => {
                scan(group.stream(), &[], found);
                position += 1;
            }
            // After `>::` an identifier is an associated item, after a leading `::` a crate.
            TokenTree::Ident(_) if !separates(&trees[..position]) => {
                position = path(&trees, position, prefix, found);
            }
            _ => position += 1,
        }
    }
}

/// Returns true if `trees` ends in `::`.
fn separates(trees: &[TokenTree]) -> bool {
    let colon =
        |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ':');
    trees.len() >= 2 && trees[trees.len() - 2..].iter().all(colon)
}

/// Reads the path that starts at `start` and returns the position after it.
fn path(trees: &[TokenTree], start: usize, prefix: &[String], found: &mut Vec<Path>) -> usize {
    let mut segments = prefix.to_vec();
    let mut position = start;
    while let Some(TokenTree::Ident(ident)) = trees.get(position) {
        segments.push(ident.unraw().to_string());
        position += 1;
        if trees.len() < position + 2 || !separates(&trees[position..position + 2]) {
            break;
        }
        position += 2;
    }
    match trees.get(position) {
        // `use a::{b, c}` in the body of a macro.
        Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Brace && separates(&trees[..position]) =>
        {
            scan(group.stream(), &segments, found);
            position + 1
        }
        _ => {
            if segments.len() > 1 {
                found.push(segments);
            }
            position
        }
    }
}

/// Paths of functions that a serde attribute names in strings.
pub(crate) fn named_functions(stream: TokenStream) -> Vec<Path> {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut found = Vec::new();
    for window in trees.windows(3) {
        let [
            TokenTree::Ident(key),
            TokenTree::Punct(equals),
            TokenTree::Literal(value),
        ] = window
        else {
            continue;
        };
        let Ok(value) = syn::parse_str::<syn::LitStr>(&value.to_string()) else {
            continue;
        };
        let Ok(path) = value.parse_with(syn::Path::parse_mod_style) else {
            continue;
        };
        let mut segments: Path = path
            .segments
            .iter()
            .map(|segment| segment.ident.unraw().to_string())
            .collect();
        if equals.as_char() == '=' && key == "with" {
            // `with` names a module that has this function.
            segments.push("serialize".to_owned());
            found.push(segments);
        } else if equals.as_char() == '=' && FUNCTIONS.iter().any(|function| key == function) {
            found.push(segments);
        }
    }
    found
}
