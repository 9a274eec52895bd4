//! A shop whose code takes its lock in one place only: a helper that everybody calls. So the report has one line that
//! waits and one line that holds, and both are the helper's. Who calls it with what takes long, three functions up, is
//! what stacks tell: the export of the whole catalogue, which somebody scheduled for the middle of the day.

use instrumented_lock::{
    Frame, Mutex, Snapshot, StackRole, StackSnapshot, Stacks, instrumented, registry,
};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

/// What is for sale, and for how much.
#[instrumented]
#[derive(Default)]
struct Catalogue {
    prices: Mutex<BTreeMap<u32, u64>>,
}

impl Catalogue {
    /// The helper: whatever is done with the prices is done in here.
    #[inline(never)]
    fn with_prices<T>(&self, f: impl FnOnce(&mut BTreeMap<u32, u64>) -> T) -> T {
        f(&mut self.prices.lock())
    }
}

/// What a customer does.
mod customer {
    use super::Catalogue;

    #[inline(never)]
    pub(super) fn buy(catalogue: &Catalogue, thing: u32) -> u64 {
        price(catalogue, thing) + 5
    }

    #[inline(never)]
    fn price(catalogue: &Catalogue, thing: u32) -> u64 {
        catalogue.with_prices(|prices| prices.get(&thing).copied().unwrap_or_default())
    }
}

/// What is done once a day.
mod export {
    use super::Catalogue;
    use std::thread;
    use std::time::Duration;

    #[inline(never)]
    pub(super) fn all(catalogue: &Catalogue) -> String {
        page(catalogue, 0) + &page(catalogue, 1)
    }

    #[inline(never)]
    fn page(catalogue: &Catalogue, page: u32) -> String {
        lines(catalogue, page).join("\n")
    }

    #[inline(never)]
    fn lines(catalogue: &Catalogue, page: u32) -> Vec<String> {
        catalogue.with_prices(|prices| {
            let of_page = prices.iter().filter(|(thing, _)| *thing % 2 == page);
            let lines = of_page.map(|(thing, price)| format!("{thing};{price}"));
            // To a disk that is not fast.
            thread::sleep(Duration::from_millis(2));
            lines.collect()
        })
    }
}

/// Serves three customers for so long, while the export runs, and reports.
pub fn run(time: Duration) -> Snapshot {
    let catalogue = Catalogue::default();
    catalogue.with_prices(|prices| prices.extend((0..1_000).map(|thing| (thing, 100))));
    registry::set_stacks(Stacks::ALL);
    let before = registry::snapshot();
    let end = Instant::now() + time;
    thread::scope(|scope| {
        let catalogue = &catalogue;
        for customer in 0..3 {
            scope.spawn(move || {
                let mut sum = 0;
                for thing in (0..1_000).cycle().skip(customer) {
                    if Instant::now() > end {
                        break;
                    }
                    sum += customer::buy(catalogue, thing);
                    thread::sleep(Duration::from_micros(100));
                }
                sum
            });
        }
        scope.spawn(move || {
            while Instant::now() < end {
                std::hint::black_box(export::all(catalogue));
                thread::sleep(Duration::from_millis(1));
            }
        });
    });
    let snapshot = registry::snapshot();
    registry::set_stacks(Stacks::OFF);
    snapshot.since(&before)
}

/// Asserts that the report names the export as what is waited for, and a customer as who waits, and returns the
/// stack of the former.
///
/// # Panics
///
/// Where it does not.
pub fn assert_found(snapshot: &Snapshot) -> String {
    if cfg!(not(feature = "stats")) {
        return String::new();
    }
    let lock = snapshot.lock("Catalogue::prices").expect("it is used");
    let first = |role| lock.stacks().iter().find(|stack| stack.role() == role);
    let called_by = |stack: &StackSnapshot, names: &[&str]| {
        let mut frames = stack.frames().iter();
        // Without full debug information a function's name is only its last part.
        let is_named =
            |frame: &Frame, name: &str| frame.function().rsplit("::").next() == Some(name);
        let is_in = |name: &&str| frames.any(|frame| is_named(frame, name));
        names.iter().all(is_in)
    };
    let holder = first(StackRole::Holder).unwrap_or_else(|| panic!("{snapshot}"));
    let calls = ["lines", "page", "all"];
    assert!(called_by(holder, &calls), "{snapshot}");
    let waiter = first(StackRole::Waiter).unwrap_or_else(|| panic!("{snapshot}"));
    assert!(called_by(waiter, &["price", "buy"]), "{snapshot}");
    let frames = holder.frames().iter().map(|frame| format!("    {frame}\n"));
    format!(
        "{:?} of waiting are due to\n{}",
        holder.total(),
        frames.collect::<String>()
    )
}
