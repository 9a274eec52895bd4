//! What `#[instrumented]` accepts and refuses, one rule a file. `TRYBUILD=overwrite` writes the
//! expected messages anew; read the difference.

#[test]
fn attribute_each_rule_compiles_or_is_refused_as_expected() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.pass("ui/pass/*/*.rs");
    cases.compile_fail("ui/fail/*.rs");
    cases.compile_fail("ui/fail/*/*.rs");
}
