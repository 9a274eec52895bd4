use instrumented_lock::instrumented;

#[instrumented]
macro_rules! nothing {
    () => {};
}

nothing! {}

fn main() {}
