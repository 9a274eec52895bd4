use instrumented_lock::instrumented;

struct Table;
type Shared = std::sync::Arc<Table>;

#[instrumented]
struct Store {
    count: u64,
    shared: Shared,
    table: Table,
}

fn main() {}
