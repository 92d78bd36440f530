//! What must not compile: a secret that opens two answers, or is copied, or printed.

#[test]
fn secrets_are_used_once() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
