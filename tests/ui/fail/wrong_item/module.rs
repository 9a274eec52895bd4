use instrumented_lock::instrumented;

#[instrumented]
mod inner {}

fn main() {}
