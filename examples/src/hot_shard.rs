//! A cache of 64 shards, so that threads do not wait for each other, and they do. By class and line the report only
//! says that shards are waited for. Which of them, and that it is a single one, is what its labels tell: ids are
//! handed out in blocks of 64, and most tenants use the first one of theirs.

use instrumented_lock::{Mutex, Snapshot, instrumented, registry};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

const SHARDS: usize = 64;

/// How a shard is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// The last bits of the id.
    LastBits,
    /// Bits on which all of the id has a say.
    Mixed,
}

impl Hash {
    fn shard(self, id: u64) -> usize {
        let mixed = match self {
            Hash::LastBits => id,
            Hash::Mixed => id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32,
        };
        usize::try_from(mixed % SHARDS as u64).unwrap_or(0)
    }
}

/// Sessions by id.
#[instrumented]
struct Cache {
    shards: Vec<Mutex<BTreeMap<u64, u64>>>,
    hash: Hash,
}

impl Cache {
    fn new(hash: Hash) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::new(BTreeMap::new()));
        let cache = Cache {
            shards: shards.collect(),
            hash,
        };
        for (n, shard) in cache.shards.iter().enumerate() {
            shard.set_label(format!("shard {n}"));
        }
        cache
    }

    /// Notes that a session is in use, and forgets some that have not been for long.
    fn touch(&self, id: u64, now: u64) {
        let mut sessions = self.shards[self.hash.shard(id)].lock();
        sessions.insert(id, now);
        let old = sessions.iter().filter(|(_, seen)| **seen + 2_000 < now);
        let old: Vec<u64> = old.map(|(id, _)| *id).collect();
        for id in old {
            sessions.remove(&id);
        }
    }
}

/// Serves four threads for so long, and reports.
pub fn run(hash: Hash, time: Duration) -> Snapshot {
    let cache = Cache::new(hash);
    let before = registry::snapshot();
    let end = Instant::now() + time;
    thread::scope(|scope| {
        for seed in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut now = 0;
                while Instant::now() < end {
                    let tenant = 64 * random.u64(..1_000);
                    let user = if random.u32(..10) == 0 {
                        random.u64(..64)
                    } else {
                        0
                    };
                    cache.touch(tenant + user, now);
                    now += 1;
                }
            });
        }
    });
    registry::snapshot().since(&before)
}

/// Asserts that the report names the one shard that is waited for, and returns what it says.
///
/// # Panics
///
/// Where it does not.
pub fn assert_found(snapshot: &Snapshot) -> String {
    if cfg!(not(feature = "stats")) {
        return String::new();
    }
    let lock = snapshot.lock("Cache::shards").expect("it is used");
    assert_eq!(lock.waited_for()[0].label(), Some("shard 0"), "{snapshot}");
    let advice = snapshot.advice();
    let said = advice.iter().find(|it| it.finding().starts_with("1 of 64"));
    said.unwrap_or_else(|| panic!("{snapshot}{advice:#?}"))
        .to_string()
}

/// Asserts that no shard is waited for more than all others.
///
/// # Panics
///
/// Where one is.
pub fn assert_not_found(snapshot: &Snapshot) {
    let advice = snapshot.advice();
    assert!(
        !advice.iter().any(|it| it.finding().starts_with("1 of 64")),
        "{snapshot}"
    );
}
