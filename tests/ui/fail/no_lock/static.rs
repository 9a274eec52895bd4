use instrumented_lock::instrumented;

#[instrumented]
static COUNT: u64 = 0;

fn main() {}
