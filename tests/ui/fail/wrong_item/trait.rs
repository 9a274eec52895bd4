use instrumented_lock::instrumented;

#[instrumented]
trait Locking {
    fn lock(&self);
}

fn main() {}
