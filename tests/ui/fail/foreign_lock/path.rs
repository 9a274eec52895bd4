use instrumented_lock::instrumented;

#[instrumented]
struct Store {
    log: std::sync::Mutex<Vec<u8>>,
    shards: Vec<std::sync::RwLock<u8>>,
}

fn main() {}
