//! SOLR-16515: a cache of expensive values behind one exclusive lock that is held while a missing
//! value is built.
//!
//! [`SlowCache`] looks up and builds under one mutex, so whoever wants a value that is there waits
//! for somebody else's that is not. [`FixedCache`] looks up concurrently and builds outside its
//! lock; each value is still built once.

use crate::incident::{
    Driven, Incident, Options, Shape, Until, advice_on, drive, grouped, table_of,
};
use instrumented_lock::{LockSnapshot, Mutex, RwLock, Snapshot, instrumented, registry};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// The example.
pub const INCIDENT: Incident = Incident {
    name: "ord_map_cache",
    about: "A cache that builds missing values under its lock (SOLR-16515).",
    threads: "48",
    seconds: "how long each shape runs; default: 4",
    run,
};

/// For every segment of an index, which of its terms is which of the whole index: what faceting and
/// sorting by a field need, and what is expensive.
#[derive(Debug)]
pub struct OrdMap {
    field: u32,
    ordinals: Vec<u32>,
}

/// Terms of a field. Sorting so many takes most of a millisecond.
const TERMS: usize = 32_768;

/// Of so many terms one is kept: the maps of a run are to fit the memory.
const STEP: usize = 64;

impl OrdMap {
    /// Merges the terms of a field.
    #[must_use]
    pub fn build(field: u32) -> Self {
        let mut random = fastrand::Rng::with_seed(u64::from(field));
        let mut terms: Vec<_> = (0..TERMS).map(|_| random.u64(..)).collect();
        terms.sort_unstable();
        OrdMap {
            field,
            ordinals: terms
                .iter()
                .step_by(STEP)
                .map(|term| (term >> 32) as u32)
                .collect(),
        }
    }

    /// The field that it is of.
    pub fn field(&self) -> u32 {
        self.field
    }

    /// What a request does with it: a few look-ups.
    fn facet(&self, random: &mut fastrand::Rng) -> u32 {
        let looked_up = (0..64).filter_map(|_| random.choice(&self.ordinals));
        looked_up.fold(0, |sum, ordinal| sum.wrapping_add(*ordinal))
    }
}

/// Builds the map of a field, and counts.
pub struct Builder {
    build: Box<dyn Fn(u32) -> OrdMap + Send + Sync>,
    built: AtomicU64,
}

impl Builder {
    fn build(&self, field: u32) -> Arc<OrdMap> {
        self.built.fetch_add(1, Ordering::Relaxed);
        Arc::new((self.build)(field))
    }
}

/// The slow shape.
#[instrumented(prefix = "ord_map_cache")]
pub struct SlowCache {
    maps: Mutex<HashMap<u32, Arc<OrdMap>>>,
    #[lock(skip)]
    builder: Builder,
}

impl SlowCache {
    /// Where [`get`](Self::get) takes the lock.
    pub const LINE: u32 = line!() + 4;

    /// The map of a field.
    pub fn get(&self, field: u32) -> Arc<OrdMap> {
        let mut maps = self.maps.lock();
        let map = maps
            .entry(field)
            .or_insert_with(|| self.builder.build(field));
        Arc::clone(map)
    }
}

/// The fixed shape.
#[instrumented(prefix = "ord_map_cache")]
pub struct FixedCache {
    /// By the remainder of the field: one class, many locks.
    maps: [RwLock<HashMap<u32, Arc<Slot>>>; SHARDS],
    #[lock(skip)]
    builder: Builder,
}

/// A thread that loses its processor while it inserts keeps only so large a part of the others
/// waiting.
const SHARDS: usize = 64;

/// The place of a map. Who finds it empty builds; who comes meanwhile waits for this map alone.
type Slot = OnceLock<Arc<OrdMap>>;

impl FixedCache {
    /// The map of a field.
    pub fn get(&self, field: u32) -> Arc<OrdMap> {
        let slot = self.slot(field);
        Arc::clone(slot.get_or_init(|| self.builder.build(field)))
    }

    fn slot(&self, field: u32) -> Arc<Slot> {
        let maps = &self.maps[field as usize % SHARDS];
        if let Some(slot) = maps.read().get(&field) {
            return Arc::clone(slot);
        }
        Arc::clone(maps.write().entry(field).or_default())
    }
}

/// One shape or the other.
pub enum Cache {
    /// Builds under its lock.
    Slow(SlowCache),
    /// Builds outside.
    Fixed(Box<FixedCache>),
}

impl Cache {
    /// An empty cache whose maps `build` makes.
    pub fn new(shape: Shape, build: impl Fn(u32) -> OrdMap + Send + Sync + 'static) -> Self {
        let builder = Builder {
            build: Box::new(build),
            built: AtomicU64::new(0),
        };
        match shape {
            Shape::Slow => Cache::Slow(SlowCache {
                maps: Mutex::default(),
                builder,
            }),
            Shape::Fixed => Cache::Fixed(Box::new(FixedCache {
                maps: std::array::from_fn(|_| RwLock::default()),
                builder,
            })),
        }
    }

    /// The map of a field.
    pub fn get(&self, field: u32) -> Arc<OrdMap> {
        match self {
            Cache::Slow(cache) => cache.get(field),
            Cache::Fixed(cache) => cache.get(field),
        }
    }

    /// How many maps there are, and how many have been built.
    pub fn len_and_built(&self) -> (u64, u64) {
        let (len, builder) = match self {
            Cache::Slow(cache) => (cache.maps.lock().len(), &cache.builder),
            Cache::Fixed(cache) => {
                let len = cache.maps.iter().map(|maps| maps.read().len());
                (len.sum(), &cache.builder)
            }
        };
        (len as u64, builder.built.load(Ordering::Relaxed))
    }

    /// The class of the lock of a shape's cache.
    pub fn lock_of(shape: Shape) -> &'static str {
        match shape {
            Shape::Slow => "ord_map_cache::SlowCache::maps",
            Shape::Fixed => "ord_map_cache::FixedCache::maps",
        }
    }
}

/// Fields that everybody asks for; they are in the cache before the load begins.
const POPULAR: u32 = 16;

/// All fields.
const FIELDS: u32 = 65_536;

/// One request in so many is for any field at all, mostly one that is not in the cache yet.
const ONE_IN: u64 = 8;

/// What a request spends elsewhere: on its way, on the disk. So there are more threads than
/// processors, as in a server.
const ELSEWHERE: Duration = Duration::from_millis(1);

/// What came of a load.
#[derive(Debug)]
pub struct Loaded {
    /// The requests.
    pub driven: Driven,
    /// Maps in the cache, and maps that were built.
    pub len_and_built: (u64, u64),
    /// Processor time that the process has used meanwhile, where the system says so.
    pub cpu: Option<Duration>,
    /// On the meantime.
    pub report: Snapshot,
}

/// Requests from many threads.
pub fn load(cache: &Cache, threads: usize, until: Until) -> Loaded {
    for field in 0..POPULAR {
        cache.get(field);
    }
    let (before, cpu_before) = (registry::snapshot(), cpu_time());
    let driven = drive(threads, until, |number, n| {
        thread::sleep(ELSEWHERE);
        let mut random = fastrand::Rng::with_seed((number as u64) << 32 | n);
        let fields = if random.u64(..ONE_IN) == 0 {
            FIELDS
        } else {
            POPULAR
        };
        black_box(cache.get(random.u32(..fields)).facet(&mut random));
    });
    let report = registry::snapshot().since(&before);
    let used = |before: Duration| cpu_time().map(|now| now.saturating_sub(before));
    Loaded {
        driven,
        len_and_built: cache.len_and_built(),
        cpu: cpu_before.and_then(used),
        report,
    }
}

/// The processor time of this process so far: fields 14 and 15 of Linux' `/proc/self/stat`, in
/// hundredths of a second.
fn cpu_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, field 2, may contain anything but ends with the last parenthesis.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Duration::from_millis((user + system) * 10))
}

fn run(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let threads = options.threads.unwrap_or(48);
    let until = Until::Elapsed(options.seconds.unwrap_or(Duration::from_secs(4)));
    let processors = thread::available_parallelism().map_or(1, usize::from);
    writeln!(
        out,
        "ord_map_cache: missing values are built under the cache's lock (SOLR-16515)\n\n\
         Expected, as reported: request threads pile up 16 hours of lock wait in one minute, which \
         is 960\nthreads that wait at any time, while the processors are 25 % busy; 80 % once \
         values are built outside\nthe lock, and the wait is gone.\n\n\
         Measured: {threads} request threads on {processors} processors, one request in {ONE_IN} \
         for any of {} fields\n",
        grouped(u64::from(FIELDS)),
    )?;
    writeln!(
        out,
        "  {:<6}{:>14}{:>10}{:>10}{:>13}{:>9}{:>16}{:>6}",
        "", "requests/s", "maps", "built", "lock wait", "in", "waiting threads", "CPU"
    )?;
    let mut reports = Vec::new();
    for &shape in &options.shapes {
        let cache = Cache::new(shape, OrdMap::build);
        let loaded = load(&cache, threads, until);
        let elapsed = loaded.driven.elapsed;
        let wait = wait_for(&loaded.report, Cache::lock_of(shape));
        let (len, built) = loaded.len_and_built;
        let cpu = loaded.cpu.map_or_else(String::new, |cpu| {
            let all = elapsed.as_secs_f64() * processors as f64;
            format!("{:.0} %", 100.0 * cpu.as_secs_f64() / all)
        });
        writeln!(
            out,
            "  {shape:<6}{:>14.0}{:>10}{:>10}{:>13}{:>9}{:>16.1}{cpu:>6}",
            loaded.driven.rate(),
            grouped(len),
            grouped(built),
            format!("{wait:.2?}"),
            format!("{elapsed:.1?}"),
            wait.as_secs_f64() / elapsed.as_secs_f64(),
        )?;
        reports.push((shape, loaded.report));
    }
    for (shape, report) in &reports {
        let lock = Cache::lock_of(*shape);
        writeln!(out, "\nThe report, {shape}:\n{}", table_of(report, lock))?;
        for advice in advice_on(report, lock) {
            writeln!(out, "{advice}")?;
        }
    }
    writeln!(
        out,
        "\nThe cause: one line waits, and the same line is blamed, for holds as long as it takes \
         to build a map.\nLook-ups that find their map wait for maps that they do not want. In the \
         fixed shape no hold is that\nlong, since none contains the building, and look-ups do not \
         exclude each other."
    )
}

/// What threads have waited for a lock, in all.
pub fn wait_for(report: &Snapshot, lock: &str) -> Duration {
    let modes = report.lock(lock).into_iter().flat_map(LockSnapshot::modes);
    modes.map(|(_, mode)| mode.blocked().sum()).sum()
}
