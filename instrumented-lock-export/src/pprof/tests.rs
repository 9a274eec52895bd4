//! Profiles as a reader of the format sees them.

use super::proto::{Label, Profile, Sample};
use super::{block, instances, mutex, operations};
use crate::support;
use flate2::read::GzDecoder;
use instrumented_lock::{CallSite, LockSnapshot, Mode, OperationSnapshot, Snapshot};
use proptest::prelude::*;
use prost::Message as _;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::time::Duration;

fn decode(profile: &[u8]) -> Profile {
    let mut bytes = Vec::new();
    GzDecoder::new(profile).read_to_end(&mut bytes).unwrap();
    Profile::decode(&*bytes).unwrap()
}

/// Text for people, of all that is in it.
fn show(profile: &Profile) -> String {
    let text = |i: i64| &profile.string_table[usize::try_from(i).unwrap()];
    let mut out = String::new();
    for of in &profile.sample_type {
        let _ = writeln!(out, "{}/{}", text(of.r#type), text(of.unit));
    }
    for sample in &profile.sample {
        let _ = writeln!(out, "{:?}", sample.value);
        for id in &sample.location_id {
            let location = &profile.location[usize::try_from(id - 1).unwrap()];
            let line = location.line[0];
            let function = &profile.function[usize::try_from(line.function_id - 1).unwrap()];
            let (name, file) = (text(function.name), text(function.filename));
            let _ = writeln!(out, "    {name}  {file}:{}", line.line);
        }
        for Label { key, str } in &sample.label {
            let _ = writeln!(out, "    {} = {}", text(*key), text(*str));
        }
    }
    out
}

#[test]
fn profiles_are_as_recorded() {
    let known = support::known();
    support::assert_golden("block.txt", &show(&decode(&block(&known))));
    support::assert_golden("mutex.txt", &show(&decode(&mutex(&known))));
    support::assert_golden("operations.txt", &show(&decode(&operations(&known))));
    support::assert_golden("instances.txt", &show(&decode(&instances(&known))));
}

/// What `pprof` itself checks before it shows a profile.
fn check(profile: &Profile) {
    assert_eq!(profile.string_table[0], "");
    let unique: HashSet<_> = profile.string_table.iter().collect();
    assert_eq!(unique.len(), profile.string_table.len());
    let functions: HashSet<_> = profile
        .function
        .iter()
        .map(|function| function.id)
        .collect();
    let locations: HashSet<_> = profile
        .location
        .iter()
        .map(|location| location.id)
        .collect();
    assert!(!functions.contains(&0) && functions.len() == profile.function.len());
    assert!(!locations.contains(&0) && locations.len() == profile.location.len());
    let is_text = |i: i64| usize::try_from(i).is_ok_and(|i| i < profile.string_table.len());
    for location in &profile.location {
        assert!(
            location
                .line
                .iter()
                .all(|line| functions.contains(&line.function_id))
        );
    }
    for function in &profile.function {
        assert!(is_text(function.name) && is_text(function.filename));
    }
    for sample in &profile.sample {
        assert_eq!(sample.value.len(), profile.sample_type.len());
        assert!(sample.value.iter().all(|value| *value >= 0));
        assert!(sample.location_id.iter().all(|id| locations.contains(id)));
        assert!(
            sample
                .label
                .iter()
                .all(|label| is_text(label.key) && is_text(label.str))
        );
    }
}

fn total(profile: &Profile, value: usize) -> i64 {
    let of = |sample: &Sample| sample.value[value];
    profile.sample.iter().map(of).sum()
}

proptest! {
    #[test]
    fn all_waiting_is_in_the_profiles(snapshot in support::snapshots()) {
        let sites = || snapshot.locks().iter().flat_map(LockSnapshot::call_sites);
        let waits = decode(&block(&snapshot));
        check(&waits);
        let contended: u64 = sites().map(CallSite::contended).sum();
        prop_assert_eq!(total(&waits, 0), i64::try_from(contended).unwrap());
        let waited: u128 = sites().map(|site| site.blocked_total().as_nanos()).sum();
        prop_assert_eq!(i128::from(total(&waits, 1)), i128::try_from(waited).unwrap());
        let blame = decode(&mutex(&snapshot));
        check(&blame);
        let blamed: u128 = sites().map(|site| site.blame().as_nanos()).sum();
        let free: u128 = snapshot.locks().iter().map(|lock| lock.hand_over().as_nanos()).sum();
        prop_assert_eq!(i128::from(total(&blame, 1)), i128::try_from(blamed + free).unwrap());
        let by_operation = decode(&operations(&snapshot));
        check(&by_operation);
        let of_lock = |lock: &LockSnapshot| {
            let modes = [Mode::Write, Mode::Read, Mode::Upgradable].map(|mode| lock.mode(mode).waited());
            let all: u128 = modes.iter().map(Duration::as_nanos).sum();
            let told_apart = snapshot.operations().iter().flat_map(OperationSnapshot::locks);
            let told_apart = told_apart.filter(|of| of.lock() == lock.name());
            all.max(told_apart.map(|of| of.waited().as_nanos()).sum())
        };
        let waited: u128 = snapshot.locks().iter().map(of_lock).sum();
        prop_assert_eq!(i128::from(total(&by_operation, 1)), i128::try_from(waited).unwrap());
        let by_instance = decode(&instances(&snapshot));
        check(&by_instance);
        let rows = snapshot.locks().iter().flat_map(LockSnapshot::waited_for);
        let blame: u128 = rows.map(|row| row.blame().as_nanos()).sum();
        prop_assert_eq!(i128::from(total(&by_instance, 2)), i128::try_from(blame).unwrap());
    }
}

#[test]
fn nothing_is_a_profile_too() {
    let nothing: Snapshot = support::snapshot(Vec::new());
    let profile = decode(&block(&nothing));
    check(&profile);
    assert!(profile.sample.is_empty() && profile.duration_nanos == 1_000_000_000);
}
