use instrumented_lock::instrumented;

#[instrumented]
struct Store {
    count: u64,
}

#[instrumented]
struct Unit;

fn main() {}
