//! Fields that are no locks and have methods of their names; locks that may be taken again.

use instrumented_lock::{Mutex, RecursiveRwLock, ReentrantMutex, instrumented};
use std::cell::Cell;

/// A register of a device.
#[derive(Default)]
struct Register(Cell<u8>);

impl Register {
    fn read(&self) -> u8 {
        self.0.get()
    }

    fn write(&self) -> &Cell<u8> {
        &self.0
    }
}

#[derive(Default)]
struct File;

impl File {
    fn lock(&self) -> Result<(), ()> {
        Ok(())
    }

    fn try_lock(&self) -> Result<(), ()> {
        Ok(())
    }

    fn read<T: Default>(&self) -> Result<T, ()> {
        Ok(T::default())
    }
}

#[derive(Default)]
struct Client;

impl Client {
    fn read(self) -> Vec<u8> {
        Vec::new()
    }
}

trait Port {
    fn read(&self) -> u8 {
        0
    }
}

impl Port for () {}

#[instrumented]
#[derive(Default)]
pub(crate) struct Device {
    status: Register,
    control: Register,
    journal: File,
    client: Client,
    port: (),
    lock: Mutex<u8>,
    registers: [Register; 2],
    others: Vec<Device>,
    rows: Vec<[Register; 2]>,
}

#[instrumented]
impl Device {
    fn added(&self) -> u8 {
        self.status.read() + self.status.read()
    }

    fn in_a_scrutinee(&self) {
        match self.status.read().count_ones() {
            0 => self.reset(),
            _ => self.control.write().set(1),
        }
        if let true = self.control.read() > 1 {
            self.reset();
        }
    }

    fn reset(&self) {
        let control = self.control.write();
        control.set(self.control.read());
        self.control.write().set(0);
    }

    fn dropped(&self) {
        let _ = self.journal.lock();
        let _ = self.journal.try_lock();
        self.status.read();
    }

    fn inferred(&self) -> Result<(u8, u16), ()> {
        let first = self.journal.read()?;
        Ok((first, self.journal.read()?))
    }

    fn by_value(self) -> usize {
        let bytes = self.client.read();
        bytes.len()
    }

    fn of_a_trait(&self) -> u8 {
        use Port as _;
        self.port.read() + self.port.read()
    }

    fn elements(&self, at: usize) -> u8 {
        let register = &self.registers[at];
        register.read() | register.read() | self.registers[0].read() & self.registers[0].read()
    }

    fn parts_of_elements(&self, others: &[Self]) -> u8 {
        let mut sum = 0;
        for other in &self.others {
            sum += other.status.read() + other.status.read() + (*other).control.read();
            let _ = other.journal.lock();
        }
        self.others
            .iter()
            .for_each(|other| assert!(other.status.read() + other.status.read() < 9));
        let rows = &self.rows;
        for row in rows {
            sum += row[0].read() + row[0].read();
        }
        sum + others[0].status.read() + others[0].status.read()
    }

    async fn awaited(&self) {
        let status = self.status.read();
        std::future::ready(status).await;
        let control = self.control.write();
        std::future::ready(()).await;
        control.set(*self.lock.lock());
    }

    #[cfg(any())]
    fn not_there(&self) -> u8 {
        *self.missing.lock() + *self.missing.lock()
    }

    fn partly_there(&self) -> u8 {
        #[cfg(any())]
        let _ = self.missing.lock();
        #[cfg(any())]
        return *self.missing.lock() + *self.missing.lock();
        0
    }

    unsafe fn of_pointers(regs: *const Device, this: &Self) -> u8 {
        // SAFETY: the caller's.
        unsafe { (*regs).status.read() + (*regs).status.read() + this.status.read() }
    }
}

/// Gives what it has at the moment; nothing is held.
struct Snapshots;

impl Snapshots {
    fn read(&self) -> Vec<u8> {
        vec![1]
    }

    fn lock(&self) -> Result<u8, ()> {
        Ok(1)
    }
}

static CONFIG: Snapshots = Snapshots;
static mut PORT: Snapshots = Snapshots;

#[instrumented]
fn of_statics() -> usize {
    let _ = CONFIG.lock();
    match CONFIG.read().len() {
        0 => drop(CONFIG.read()),
        len => drop(vec![len]),
    }
    CONFIG.read().len() + CONFIG.read().len()
}

#[instrumented]
fn of_inner_statics() -> usize {
    {
        static CONFIG: Mutex<u8> = Mutex::new(0);
        *CONFIG.lock() += 1;
        let config = CONFIG.lock();
        usize::from(*config)
    }
}

#[instrumented]
#[allow(static_mut_refs)]
unsafe fn of_mutable_statics() -> usize {
    // SAFETY: the caller's.
    unsafe { PORT.read().len() + PORT.read().len() }
}

enum State {
    Idle(Register),
    Running { register: Register },
}

union Either {
    register: std::mem::ManuallyDrop<Register>,
    number: u8,
}

struct Registers {
    either: Either,
    state: State,
}

use State::{Idle, Running};

#[instrumented]
impl State {
    const TABLE: Snapshots = Snapshots;

    fn of_variants(&self) -> u8 {
        match self {
            Idle(register) => register.read() + register.read(),
            Running { register } => register.read() + register.read(),
        }
    }

    fn of_one_variant(&self) -> u8 {
        let Idle(register) = self else {
            return 0;
        };
        register.read() + register.read()
    }

    fn of_a_constant(&self) -> usize {
        Self::TABLE.read().len() + Self::TABLE.read().len()
    }
}

trait Table {
    const TABLE: Snapshots = Snapshots;
}

impl Table for u8 {}

#[instrumented]
fn of_a_parameter<T: Table>() -> usize {
    T::TABLE.read().len() + T::TABLE.read().len()
}

#[instrumented]
impl Registers {
    fn of_a_union(&self) -> u8 {
        // SAFETY: a register is a byte.
        unsafe { self.either.register.read() + self.either.register.read() }
    }

    fn of_a_variant(&self) -> u8 {
        let Registers {
            state: Idle(register),
            ..
        } = self
        else {
            return 0;
        };
        register.read() + register.read()
    }
}

/// Nothing is annotated but the code.
struct Bare<T> {
    status: Register,
    tree: ReentrantMutex<T>,
    index: RecursiveRwLock<T>,
    port: T,
}

#[instrumented]
impl<T: Copy + Default> Bare<T> {
    fn twice(&self) -> (T, T) {
        let outer = self.tree.lock();
        (*outer, *self.tree.lock())
    }

    fn read_twice(&self) -> (T, T) {
        let outer = self.index.read();
        (*outer, *self.index.read())
    }

    fn registers(&self) -> u8 {
        let _ = self.status.read();
        self.status.read() + self.status.read()
    }

    fn with_bound(&self) -> u8
    where
        T: Port,
    {
        self.port.read() + self.port.read()
    }
}

impl<T: Copy> Bare<T> {
    #[instrumented]
    fn only_a_method(&self) -> (T, u8) {
        let outer = self.tree.lock();
        let _ = self.status.read();
        drop(self.tree.lock());
        (*outer, self.status.read() + self.status.read())
    }
}

#[instrumented]
impl Bare<u8> {
    fn of_one_type(&self) -> u8 {
        let outer = self.tree.lock();
        let index = self.index.read();
        *outer + *self.tree.lock() + *index + *self.index.read()
    }
}

pub(crate) fn main() {
    let device = Device::default();
    device.added();
    device.in_a_scrutinee();
    device.dropped();
    device.inferred().unwrap();
    device.of_a_trait();
    device.elements(1);
    device.parts_of_elements(&[Device::default()]);
    device.partly_there();
    drop(device.awaited());
    // SAFETY: the pointer is that of a reference.
    unsafe { Device::of_pointers(&raw const device, &device) };
    device.by_value();
    of_statics();
    of_inner_statics();
    // SAFETY: nobody else is here.
    unsafe { of_mutable_statics() };
    let state = Running {
        register: Register::default(),
    };
    state.of_variants();
    state.of_one_variant();
    state.of_a_constant();
    of_a_parameter::<u8>();
    let registers = Registers {
        either: Either { number: 1 },
        state: Idle(Register::default()),
    };
    registers.of_a_union();
    registers.of_a_variant();
    let bare = Bare {
        status: Register::default(),
        tree: ReentrantMutex::new(1),
        index: RecursiveRwLock::new(1),
        port: 1,
    };
    bare.twice();
    bare.read_twice();
    bare.registers();
    bare.only_a_method();
    bare.of_one_type();
    let _ = Bare::<()>::with_bound;
}
