use instrumented_lock::instrumented;

#[instrumented]
unsafe extern "C" {}

fn main() {}
