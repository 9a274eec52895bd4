use instrumented_lock::instrumented;

struct Store;

impl Store {
    #[instrumented]
    fn method(&self) {}
}

fn main() {}
