use instrumented_lock::instrumented;

#[instrumented]
union Bits {
    #[lock]
    number: u8,
}

fn main() {}
