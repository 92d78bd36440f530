//! The guide's code blocks against the example's source files.

/// The guide and the files that it quotes.
const GUIDE: &str = include_str!("../../../../docs/add-a-scheme.md");
const SOURCES: [&str; 5] = [
    include_str!("main.rs"),
    include_str!("params.rs"),
    include_str!("wire.rs"),
    include_str!("server.rs"),
    include_str!("client.rs"),
];

/// The text with each run of white space as one space.
fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The contents of a page's ```` ```rust ```` blocks.
fn rust_blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("\n```rust\n").skip(1);
    blocks
        .map(|rest| rest.split("\n```\n").next().expect("the end of a block"))
        .collect()
}

#[test]
fn the_guide_quotes_the_example() {
    let sources = SOURCES.map(normalised);
    let blocks = rust_blocks(GUIDE);
    assert!(blocks.len() >= 5, "{} blocks of Rust", blocks.len());
    for block in blocks {
        let text = normalised(block);
        let found = sources.iter().any(|source| source.contains(&text));
        assert!(
            found,
            "no file of the example has this block of the guide:\n{block}"
        );
    }
}
