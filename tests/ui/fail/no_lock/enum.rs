use instrumented_lock::instrumented;

#[instrumented]
enum State {
    Idle,
    Running(u8),
}

fn main() {}
