use instrumented_lock::instrumented;

#[instrumented]
use instrumented_lock::Mutex;

type _Used = Mutex<u8>;

fn main() {}
