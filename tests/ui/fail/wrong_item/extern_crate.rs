use instrumented_lock::instrumented;

#[instrumented]
extern crate std as standard;

fn main() {}
