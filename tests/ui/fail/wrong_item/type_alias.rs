use instrumented_lock::instrumented;

#[instrumented]
type Table = instrumented_lock::Mutex<u8>;

fn main() {}
