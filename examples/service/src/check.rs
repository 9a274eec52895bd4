//! Whether the report says what has happened.

use crate::load::Counted;
use crate::state::PLANTED;
use instrumented_lock::{LockKind, LockSnapshot, ModeSnapshot, Snapshot};

/// Checks all, and ends the program where something is not so.
pub fn all(snapshot: &Snapshot, counted: &Counted) {
    counts(snapshot, counted);
    families(snapshot);
    bottlenecks(snapshot);
    identities(snapshot);
    println!("the report agrees with the load, and names what was planted");
}

fn lock<'a>(snapshot: &'a Snapshot, name: &str) -> &'a LockSnapshot {
    snapshot.lock(name).unwrap_or_else(|| panic!("no {name}"))
}

/// The locks of the service itself are taken once for each request.
fn counts(snapshot: &Snapshot, counted: &Counted) {
    let ledger = lock(snapshot, "shop::Shop::ledger");
    assert_eq!(ledger.kind(), LockKind::Mutex);
    assert_eq!(
        ledger.write().acquisitions(),
        counted.orders + counted.totals
    );
    assert_eq!(counted.last_order, counted.orders, "no order is lost");
    let outbox = lock(snapshot, "shop::Shop::outbox");
    assert_eq!(outbox.kind(), LockKind::AsyncMutex);
    assert_eq!(outbox.write().acquisitions(), counted.notices);
    assert_eq!(counted.last_notice, counted.notices, "no notice is lost");
    let by_line = |name, line| -> u64 {
        let sites = lock(snapshot, name).call_sites().iter();
        sites
            .filter(|site| site.location().line() == line)
            .map(|site| site.acquisitions())
            .sum()
    };
    let [(ledger, order), (outbox, notice)] = PLANTED;
    assert_eq!(by_line(ledger, order), counted.orders);
    assert_eq!(by_line(outbox, notice), counted.notices);
}

/// Rows of all: std's interface, tokio's, and the `parking_lot` of two dependencies.
fn families(snapshot: &Snapshot) {
    let crates = snapshot.by_crate();
    for name in ["r2d2-", "moka-"] {
        let of_crate = crates.iter().find(|of_crate| {
            of_crate
                .name()
                .is_some_and(|folder| folder.starts_with(name))
        });
        let of_crate = of_crate.unwrap_or_else(|| panic!("nothing of {name} in {crates:?}"));
        assert!(
            of_crate.acquisitions() > 0 && of_crate.locks() > 0,
            "{of_crate}"
        );
    }
    // Each order takes a connection and gives it back.
    let r2d2 = snapshot
        .locks()
        .iter()
        .filter(|lock| lock.name().starts_with("r2d2-"));
    let taken: u64 = r2d2.map(|lock| lock.write().acquisitions()).sum();
    let orders = lock(snapshot, PLANTED[0].0).call_sites().iter();
    let orders: u64 = orders
        .filter(|site| site.location().line() == PLANTED[0].1)
        .map(|site| site.acquisitions())
        .sum();
    assert!(taken >= 2 * orders, "{taken} of r2d2's for {orders} orders");
    let named = snapshot
        .locks()
        .iter()
        .all(|lock| !lock.name().starts_with('/'));
    assert!(named, "no name has a path of the machine");
}

/// Each planted line is the one that is blamed most for its lock, and is spoken of.
fn bottlenecks(snapshot: &Snapshot) {
    let advice = snapshot.advice();
    for (name, line) in PLANTED {
        let lock = lock(snapshot, name);
        assert!(lock.write().contended() > 0, "nobody waited for {name}");
        let blamed = lock.call_sites().iter().max_by_key(|site| site.blame());
        let blamed = blamed.map(|site| site.location().line());
        assert_eq!(blamed, Some(line), "who is blamed for {name}");
        let said = advice.iter().any(|advice| advice.lock() == name);
        assert!(said, "no advice about {name}");
    }
    // Of all locks, dependencies' included, one of these is waited for most.
    let most = snapshot
        .locks()
        .iter()
        .max_by_key(|lock| lock.write().waited());
    let most = most.map(|lock| lock.name());
    assert!(
        PLANTED.iter().any(|(name, _)| Some(*name) == most),
        "waited for most: {most:?}"
    );
}

fn identities(snapshot: &Snapshot) {
    for lock in snapshot.locks() {
        for mode in [lock.read(), lock.write(), lock.upgradable()] {
            let holding = ModeSnapshot::holding(mode).count();
            assert!(
                mode.acquisitions() + holding >= mode.hold().count(),
                "{}",
                lock.name()
            );
            assert_eq!(mode.blocked().count(), mode.contended(), "{}", lock.name());
        }
        assert_eq!(lock.unmatched(), 0, "{}", lock.name());
    }
}
