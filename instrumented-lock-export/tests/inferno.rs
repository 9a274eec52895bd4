//! Folded stacks in the hands of `inferno`, which draws flame graphs.

mod support;

use inferno::flamegraph::{Options, from_lines};
use instrumented_lock_export::folded::{blame, waits};
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{known, snapshots};

/// The graph, and what each of its frames says: name and nanoseconds, of frames of one name together.
fn draw(stacks: &str) -> (String, BTreeMap<String, u64>) {
    let mut options = Options::default();
    "ns".clone_into(&mut options.count_name);
    // Otherwise narrow ones are left out.
    options.min_width = 0.0;
    let mut svg = Vec::new();
    from_lines(&mut options, stacks.lines(), &mut svg).expect("inferno draws it");
    let svg = String::from_utf8(svg).unwrap();
    let mut frames = BTreeMap::new();
    for title in svg.split("<title>").skip(1) {
        let title = title.split("</title>").next().unwrap();
        // `name (1,234 ns, 5.67%)`
        let Some((name, figures)) = title.rsplit_once(" (") else {
            continue;
        };
        let ns = figures.split(" ns").next().unwrap().replace(',', "");
        *frames.entry(name.to_owned()).or_default() += ns.parse::<u64>().unwrap();
    }
    (svg, frames)
}

#[test]
fn every_lock_and_line_is_a_frame_as_wide_as_its_waiting() {
    let (svg, frames) = draw(&waits(&known()));
    assert!(svg.contains("<svg"), "{svg}");
    for (frame, ms) in [
        ("app::store::Store::index", 170.0),
        ("app/src/store.rs:42:9 (read)", 70.0),
        ("app/src/store.rs:42:9 (write)", 100.0),
        ("app::journal::Journal::lines", 12.0),
    ] {
        let found = frames[frame] as f64 / 1e6;
        assert!(
            (found - ms).abs() < 1e-9,
            "{frame}: {found} ms of {frames:#?}"
        );
    }
    let (_, frames) = draw(&blame(&known()));
    let holders = frames["app::store::Store::index"];
    let waiters = frames["app/src/store.rs:42:9 waits"];
    assert!(waiters > 0 && waiters <= holders, "{frames:#?}");
}

#[test]
fn a_name_that_begins_as_a_comment_is_drawn_too() {
    let modes = [(); 3].map(|()| support::mode(&[1], &[], 0));
    let lock = support::lock("# a", "Mutex", &modes, &[("b.rs".to_owned(), 60)]);
    let (_, frames) = draw(&waits(&support::snapshot(vec![lock])));
    assert_eq!((frames["\\# a"], frames["b.rs:1:9 (write)"]), (60, 60));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_waiting_of_any_snapshot_is_drawn(snapshot in snapshots()) {
        // The name of the frame below all others.
        prop_assume!(snapshot.lock("all").is_none());
        for stacks in [waits(&snapshot), blame(&snapshot)] {
            let sum = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
            let total: u64 = stacks.lines().map(sum).sum();
            if total > 0 {
                let (_, frames) = draw(&stacks);
                prop_assert_eq!(frames["all"], total);
            }
        }
    }
}
