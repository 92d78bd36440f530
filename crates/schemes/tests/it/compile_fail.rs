//! Code that must not compile: opening two answers with one secret, cloning or printing one.

#[test]
fn secrets_are_used_once() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
