//! A bank that would hang about once a week, and what is said about it in a second.
//!
//! Tellers move money: they lock the accounts, then the journal. Once a day an auditor reads the journal, and
//! looks accounts up while it does. Each is right by itself. Only when an audit begins within the microsecond
//! in which a teller has the accounts and not yet the journal do both wait for ever.
//!
//! ```sh
//! cargo run --example lock_order
//! cargo run --example lock_order -- --fixed
//! ```

use instrumented_lock::order::{self, Reaction};
use instrumented_lock::{Mutex, RwLock, instrumented, registry, report};
use std::process::ExitCode;
use std::thread;

#[instrumented]
#[derive(Default)]
struct Bank {
    accounts: RwLock<Vec<i64>>,
    journal: Mutex<Vec<Transfer>>,
}

#[derive(Clone, Copy)]
struct Transfer {
    from: usize,
    to: usize,
    amount: i64,
}

fn main() -> ExitCode {
    let is_fixed = std::env::args().any(|arg| arg == "--fixed");
    order::follow(Reaction::Collect);
    let bank = Bank::default();
    bank.accounts.write().extend([100; 8]);

    on_thread("teller", || {
        for n in 0..1000 {
            bank.transfer(Transfer {
                from: n % 8,
                to: (n + 3) % 8,
                amount: 1,
            });
        }
    });
    // An hour later: no two threads have run at the same time.
    let sum = on_thread("auditor", || {
        if is_fixed {
            bank.audit()
        } else {
            bank.audit_and_look_up()
        }
    });
    println!("audited: {sum}\n");

    let findings = order::findings();
    for finding in &findings {
        println!("{finding}\n");
    }
    println!("{}", report::dot(&registry::snapshot()));
    if findings.is_empty() {
        println!("nothing is wrong with the order of locks");
        return ExitCode::SUCCESS;
    }
    ExitCode::from(u8::from(is_fixed))
}

impl Bank {
    fn transfer(&self, transfer: Transfer) {
        let mut accounts = self.accounts.write();
        accounts[transfer.from] -= transfer.amount;
        accounts[transfer.to] += transfer.amount;
        self.journal.lock().push(transfer);
    }

    /// The mistake: the accounts are looked up with the journal locked.
    fn audit_and_look_up(&self) -> i64 {
        let journal = self.journal.lock();
        let amounts = journal.iter().map(|transfer| {
            let account = self.accounts.read()[transfer.from];
            account.signum() * transfer.amount
        });
        amounts.sum()
    }

    /// The journal is copied, and let go.
    fn audit(&self) -> i64 {
        let journal = self.journal.lock().clone();
        let amounts = journal.iter().map(|transfer| {
            let account = self.accounts.read()[transfer.from];
            account.signum() * transfer.amount
        });
        amounts.sum()
    }
}

fn on_thread<T: Send>(name: &str, f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn_scoped(scope, f).expect("a thread can be made");
        thread.join().expect("it does not panic")
    })
}
