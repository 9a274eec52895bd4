//! Recording can be turned off and on while the program runs. One test, since the switch is the
//! whole process's.

use instrumented_lock::{Mutex, instrumented, registry};
use instrumented_lock_tests::figures;

#[test]
fn a_hold_is_recorded_whole_or_counted_as_unmatched() {
    #[instrumented]
    static SWITCHED: Mutex<u32> = Mutex::new(0);
    let late = instrumented_lock::drop_in::Mutex::new(0);

    assert!(registry::is_enabled());
    let begun_on = SWITCHED.lock();
    registry::set_enabled(false);
    assert!(!registry::snapshot().is_enabled());
    drop(begun_on);
    let lock = figures("SWITCHED");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 1),
        "begun, so finished"
    );

    drop(SWITCHED.lock());
    assert!(SWITCHED.try_lock().is_some());
    *late.lock() += 1;
    let begun_off = SWITCHED.lock();
    registry::set_enabled(true);
    drop(begun_off);
    let lock = figures("SWITCHED");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 1),
        "off is off"
    );
    assert_eq!(lock.unmatched(), 1);

    *late.lock() += 1;
    let snapshot = registry::snapshot();
    let late = snapshot
        .locks()
        .iter()
        .find(|lock| lock.name().contains("switch.rs"))
        .unwrap();
    assert_eq!(
        late.write().acquisitions(),
        1,
        "a class that enrols while off starts when on"
    );
    drop(SWITCHED.lock());
    assert_eq!(figures("SWITCHED").write().acquisitions(), 2);
}
