use instrumented_lock::instrumented;

#[instrumented]
const LOCK: instrumented_lock::Mutex<u8> = instrumented_lock::Mutex::new(0);

fn main() {}
