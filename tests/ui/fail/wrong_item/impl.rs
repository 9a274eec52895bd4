use instrumented_lock::instrumented;

struct Store;

#[instrumented]
impl Store {}

fn main() {}
