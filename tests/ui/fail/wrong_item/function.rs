use instrumented_lock::instrumented;

#[instrumented]
pub fn function() {}

fn main() {}
