use instrumented_lock::instrumented;

type Table = Vec<u8>;

#[instrumented]
struct Store {
    #[lock]
    tables: Vec<Table>,
}

#[instrumented]
static TABLE: Table = Vec::new();

fn main() {}
