//! The incidents, in a small size: the report names the cause in the slow shape, and the fixed shape
//! does not have it. No test is about how long anything takes.

use instrumented_lock::{LockSnapshot, Snapshot, budget, registry};
use instrumented_lock_examples::config_parse::{self, Configuration, Replication};
use instrumented_lock_examples::hsm_coordinator::{self, Coordinator, Indexed, Scanning, State};
use instrumented_lock_examples::incident::{Incident, Options, Shape, Until, drive};
use instrumented_lock_examples::ord_map_cache::{self, Cache, OrdMap, SlowCache};
use instrumented_lock_examples::ozone_lock_metrics::{self, Summary, contended};
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

/// Lock classes belong to the process, and who counts their acquisitions is alone with them.
static ALONE: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// The class that was waited for most, among those of an example.
fn first<'a>(report: &'a Snapshot, example: &str) -> &'a LockSnapshot {
    let blocked = |lock: &&LockSnapshot| -> Duration {
        lock.modes().map(|(_, mode)| mode.blocked().sum()).sum()
    };
    let ours = report
        .locks()
        .iter()
        .filter(|lock| lock.name().starts_with(example));
    ours.max_by_key(blocked).unwrap()
}

#[test]
fn config_parse_slow_exceeds_the_budget_that_fixed_keeps() {
    let _alone = ALONE.lock();
    let conf = Configuration::new();
    let [slow, fixed] = Shape::BOTH.map(|shape| config_parse::budget(shape, &conf));
    assert_eq!(slow.acquisitions("Configuration::props"), 2);
    assert_eq!(fixed.acquisitions("Configuration::props"), 1);
    assert_eq!((slow.total(), fixed.total()), (2, 1));
    // At two lines of the function that looks up too early.
    let lines = slow.lines();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(
            line.location().file().ends_with("config_parse.rs"),
            "{line}"
        );
    }
    assert_eq!(*slow.value(), Some(Replication::Ratis(3)));
    assert_eq!(slow.value(), fixed.value());
    budget::assert_at_most!(1, "Configuration::props", || config_parse::parse(
        Some("3"),
        &conf
    ));
    // The fallback costs an acquisition where it is needed, and only there.
    for parse in [config_parse::parse, config_parse::parse_eagerly] {
        let used = budget::measure(|| parse(None, &conf));
        assert_eq!(
            (used.total(), *used.value()),
            (2, Some(Replication::Ratis(3)))
        );
        assert_eq!(parse(Some("many"), &conf), None);
    }
}

#[test]
fn config_parse_under_load_has_the_lines_of_the_budget_equally_often() {
    const CALLS: u64 = 500;
    let _alone = ALONE.lock();
    let conf = Configuration::new();
    for (shape, lines) in [(Shape::Slow, 2), (Shape::Fixed, 1)] {
        let (driven, report) = config_parse::load(shape, 4, Until::Operations(CALLS));
        assert_eq!(driven.operations, 4 * CALLS);
        assert_eq!(first(&report, "config_parse::").name(), config_parse::LOCK);
        let sites = report.lock(config_parse::LOCK).unwrap().call_sites();
        assert_eq!(sites.len(), lines, "{sites:?}");
        let used = config_parse::budget(shape, &conf);
        for line in used.lines() {
            let site = sites.iter().find(|site| site.location() == line.location());
            assert_eq!(site.unwrap().acquisitions(), 4 * CALLS, "{sites:?}");
        }
    }
}

#[test]
fn ord_map_cache_builds_under_its_lock_in_the_slow_shape_only() {
    let _alone = ALONE.lock();
    for shape in Shape::BOTH {
        let cache = Cache::new(shape, move |field| {
            let name = Cache::lock_of(shape);
            let is_held =
                (registry::snapshot().in_flight().iter()).any(|entry| entry.lock() == name);
            assert_eq!(is_held, shape == Shape::Slow);
            OrdMap::build(field)
        });
        assert_eq!(cache.get(7).field(), 7);
        assert_eq!(cache.get(8).field(), 8);
        assert_eq!(cache.get(7).field(), 7);
        assert_eq!(cache.len_and_built(), (2, 2));
    }
}

#[test]
fn ord_map_cache_slow_is_first_and_blamed_at_the_line_that_builds() {
    let _alone = ALONE.lock();
    let cache = Cache::new(Shape::Slow, |field| {
        // Whoever comes meanwhile waits.
        thread::sleep(Duration::from_millis(2));
        OrdMap::build(field)
    });
    let loaded = ord_map_cache::load(&cache, 4, Until::Operations(40));
    let lock = first(&loaded.report, "ord_map_cache::");
    assert_eq!(lock.name(), Cache::lock_of(Shape::Slow));
    assert!(lock.write().contended() > 0, "{lock:?}");
    let blamed = lock
        .call_sites()
        .iter()
        .max_by_key(|site| site.blame())
        .unwrap();
    assert_eq!(blamed.location().line(), SlowCache::LINE);
    assert!(blamed.location().file().ends_with("ord_map_cache.rs"));
    assert!(blamed.blame() > Duration::ZERO, "{blamed:?} {lock:?}");
}

#[test]
fn ord_map_cache_builds_each_map_once_however_many_ask() {
    let _alone = ALONE.lock();
    for shape in Shape::BOTH {
        let cache = Cache::new(shape, |field| {
            thread::sleep(Duration::from_millis(1));
            OrdMap::build(field)
        });
        // All threads ask for the same fields at the same time.
        drive(8, Until::Operations(5), |_, n| {
            let field = u32::try_from(n).unwrap();
            assert_eq!(cache.get(field).field(), field);
        });
        assert_eq!(cache.len_and_built(), (5, 5), "{shape}");
        let loaded = ord_map_cache::load(&cache, 4, Until::Operations(20));
        let (len, built) = loaded.len_and_built;
        assert!(len >= 16);
        assert_eq!(len, built, "{shape}");
    }
}

#[test]
fn hsm_coordinator_slow_is_first_and_its_holds_grow_with_the_list() {
    let _alone = ALONE.lock();
    let typical = |shape, length| {
        let loaded = hsm_coordinator::load(shape, length, 4, Until::Operations(400));
        let figures = hsm_coordinator::figures(&loaded.interval, shape);
        assert!(figures.acquisitions() >= 4 * 400 * 3);
        let ranking = hsm_coordinator::ranking(&loaded.interval);
        let rank = |name: &str| ranking.find(name).unwrap_or(usize::MAX);
        if shape == Shape::Slow && length > 1000 {
            let lock = first(&loaded.interval, "hsm_coordinator::");
            assert_eq!(lock.name(), hsm_coordinator::lock_of(shape));
            assert!(figures.contended() > 0, "{figures:?}");
            assert!(
                rank("Scanning::requests") < rank("Server::totals"),
                "{ranking}"
            );
        }
        // Of every line's holds some are as long, but not what the scheduler does to a few.
        figures.hold().quantile(0.9).unwrap().as_secs_f64()
    };
    // Twenty times as long; the bounds are far from both twenty and one.
    let grows = |shape| typical(shape, 4000) / typical(shape, 200);
    let (slow, fixed) = (grows(Shape::Slow), grows(Shape::Fixed));
    assert!(slow > 5.0, "slow: {slow}");
    assert!(fixed < 5.0, "fixed: {fixed}");
}

#[test]
fn hsm_coordinators_do_the_same() {
    let _alone = ALONE.lock();
    let shapes: [&dyn Coordinator; 2] = [&Scanning::default(), &Indexed::default()];
    for coordinator in shapes {
        for file in 0..300 {
            assert!(coordinator.add(file));
            assert!(!coordinator.add(file / 2));
        }
        let started: Vec<_> = (0..200).filter_map(|_| coordinator.start()).collect();
        assert_eq!(started, (1..=200).collect::<Vec<_>>());
        for &id in &started {
            coordinator.finish(id);
        }
        let states = |state| {
            coordinator
                .list()
                .iter()
                .filter(|one| one.state == state)
                .count()
        };
        assert_eq!((states(State::Done), states(State::Waiting)), (200, 100));
        let files: HashSet<_> = coordinator.list().iter().map(|one| one.file).collect();
        assert_eq!(files.len(), 300);
        let rounds: Vec<_> = (0..3).map(|_| coordinator.housekeep()).collect();
        assert_eq!(rounds.iter().sum::<usize>(), 200);
        assert_eq!(coordinator.list().len(), 100);
        assert!(coordinator.add(0), "its last request is gone");
    }
    // Housekeeping of one is a round, and a listing is several holds.
    let indexed = Indexed::default();
    assert!((0..300).all(|file| indexed.add(file)));
    let used = budget::measure(|| indexed.list());
    assert_eq!((used.value().len(), used.total()), (300, 4));
}

#[test]
fn ozone_lock_metrics_slow_waits_for_the_metrics_more_than_for_the_lock_they_measure() {
    const OPERATIONS: u64 = 5_000;
    let _alone = ALONE.lock();
    let before = registry::snapshot();
    let waited = |names: &str| {
        let report = registry::snapshot().since(&before);
        let named = report
            .locks()
            .iter()
            .filter(|lock| lock.name().contains(names));
        named.map(contended).sum::<u64>()
    };
    let metrics = || waited("ozone_lock_metrics::SlowMetrics::");
    // Threads that the machine never runs at the same time hardly ever meet.
    for _ in 0..100 {
        let loaded = ozone_lock_metrics::load(Shape::Slow, 4, Until::Operations(OPERATIONS));
        // A thread writes once, every other operation reads; each has a wait and a hold.
        assert_eq!(
            loaded.recorded,
            [4 * OPERATIONS - 1, 4 * OPERATIONS - 1, 1, 1]
        );
        if metrics() >= 50 {
            break;
        }
    }
    let (metrics, table) = (metrics(), waited(ozone_lock_metrics::TABLE));
    assert!(metrics > table, "metrics {metrics}, table {table}");
}

#[test]
fn ozone_lock_metrics_fixed_has_the_same_times_and_no_lock_but_the_managers() {
    const OPERATIONS: u64 = 5_000;
    let _alone = ALONE.lock();
    let loaded = ozone_lock_metrics::load(Shape::Fixed, 4, Until::Operations(OPERATIONS));
    assert_eq!(
        loaded.recorded,
        [4 * OPERATIONS - 1, 4 * OPERATIONS - 1, 1, 1]
    );
    let used = loaded.report.locks().iter().filter(|lock| {
        let is_used = lock.modes().any(|(_, mode)| mode.acquisitions() > 0);
        is_used && lock.name().starts_with(ozone_lock_metrics::PREFIX)
    });
    let used: Vec<_> = used.map(LockSnapshot::name).collect();
    assert_eq!(used, [ozone_lock_metrics::TABLE]);
}

#[test]
fn ozone_lock_metrics_ours_loses_nothing_that_the_others_keep() {
    let _alone = ALONE.lock();
    let (exact, all) = ozone_lock_metrics::same_samples(8, 1000);
    let near = |a: f64, b: f64, within: f64| (a - b).abs() <= within * b;
    for summary in all {
        let Summary {
            count,
            mean,
            min,
            max,
            std_dev,
            ..
        } = summary;
        assert_eq!(count, exact.count);
        assert!(
            near(mean, exact.mean, 1e-9) && near(min, exact.min, 0.0),
            "{summary:?} {exact:?}"
        );
        assert!(near(max, exact.max, 0.0), "{summary:?} {exact:?}");
        let is_right = |deviation| near(deviation, exact.std_dev.unwrap(), 1e-6);
        assert!(std_dev.is_none_or(is_right), "{summary:?} {exact:?}");
    }
    let [synchronized, striped, ours] = all;
    let kept = |summary: Summary| (summary.std_dev.is_some(), summary.p99.is_some());
    assert_eq!(kept(synchronized), (true, false));
    assert_eq!(kept(striped), (false, false));
    assert_eq!(kept(ours), (true, true));
    assert!(
        near(ours.p99.unwrap(), exact.p99.unwrap(), 0.044),
        "{ours:?} {exact:?}"
    );
    let [(reads, wrong_striped), (reads_ours, wrong_ours)] =
        ozone_lock_metrics::contradictions(Duration::from_millis(50));
    assert!(reads > 0 && reads_ours > 0 && wrong_striped <= reads);
    assert_eq!(wrong_ours, 0);
}

#[test]
fn ozone_lock_metrics_tables_are_of_all_three() {
    let _alone = ALONE.lock();
    for times in [
        ozone_lock_metrics::burst(3, 3),
        ozone_lock_metrics::steady(3, 3, Duration::from_millis(30)),
    ] {
        assert!(
            times.iter().all(|time| time.is_finite() && *time > 0.0),
            "{times:?}"
        );
    }
}

#[test]
fn the_programs_print_what_was_expected_and_what_was_found() {
    let _alone = ALONE.lock();
    let cases: [(&Incident, &[&str]); 4] = [
        (
            &config_parse::INCIDENT,
            &["HDDS-17636", "5,349", "slow: 2 ×", "fixed: 1 ×"],
        ),
        (
            &ord_map_cache::INCIDENT,
            &["SOLR-16515", "16 hours", "SlowCache::maps", "blamed"],
        ),
        (
            &hsm_coordinator::INCIDENT,
            &["LU-7988", "27,134", "lock_stat version", "Scanning"],
        ),
        (&ozone_lock_metrics::INCIDENT, &["HDDS-9377", "451×"]),
    ];
    for (incident, expected) in cases {
        let options = Options {
            threads: Some(2),
            seconds: Some(Duration::from_millis(30)),
            ..Options::default()
        };
        let mut out = Vec::new();
        (incident.run)(&options, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for text in expected {
            assert!(out.contains(text), "{}: no {text} in\n{out}", incident.name);
        }
    }
}
