//! What `#[instrumented]` refuses, one rule a folder. `TRYBUILD=overwrite` writes the expected messages
//! anew; read the difference.
//!
//! Without a case that passes, one call of the compiler checks them all. What is accepted is in
//! `pass.rs`.

#[test]
fn attribute_each_rule_is_refused_as_expected() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/*.rs");
    cases.compile_fail("fail/*/*.rs");
}
