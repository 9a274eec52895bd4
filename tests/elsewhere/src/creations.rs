// Included by an absolute path, as the compiler is given the files of dependencies.

fn one_a_line() -> drop_in::Mutex<u8> {
    drop_in::Mutex::new(1)
}

#[rustfmt::skip]
fn two_a_line() -> (drop_in::Mutex<u8>, drop_in::Mutex<u8>) {
    (drop_in::Mutex::new(1), drop_in::Mutex::new(2))
}
