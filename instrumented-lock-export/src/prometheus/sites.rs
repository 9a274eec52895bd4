//! [`Sites`]: which lines of the program are labels.

use instrumented_lock::{CallSite, Location, LockSnapshot, Snapshot};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

/// The lines of the program that are told apart: those that cost most.
///
/// Keep it from one scrape to the next and [`add`](Self::add) to it: a line that is told apart once stays so.
/// Otherwise the counter of `site="other"` goes down whenever a line rises among those that cost most, which
/// Prometheus takes for a restart.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    most: usize,
    /// By the lock's name, file, line and column.
    chosen: HashSet<(String, Location)>,
}

impl Sites {
    /// How many are told apart where nobody says otherwise: 100.
    pub const DEFAULT: usize = 100;

    /// At most `most` lines, those that cost most in the snapshot.
    pub fn of(snapshot: &Snapshot, most: usize) -> Self {
        let mut sites = Sites {
            most,
            chosen: HashSet::new(),
        };
        sites.add(snapshot);
        sites
    }

    /// Tells further lines of a later snapshot apart as long as there is room, those that cost most first.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let room = self.most.saturating_sub(self.chosen.len());
        if room == 0 {
            return;
        }
        let of_lock = |lock: &LockSnapshot| {
            let lines = lock.call_sites().iter().filter(|site| is_told(site));
            let costs = lines.map(|site| (cost(site), key(lock, site)));
            costs.collect::<Vec<_>>()
        };
        let mut new: Vec<_> = snapshot.locks().iter().flat_map(of_lock).collect();
        new.retain(|(_, key)| !self.chosen.contains(key));
        new.sort_by(|a, b| (Reverse(a.0), &a.1).cmp(&(Reverse(b.0), &b.1)));
        for (_, key) in new {
            if self.chosen.len() >= self.most {
                break;
            }
            self.chosen.insert(key);
        }
    }

    /// The label of a line; `None` where it is one of the others.
    pub(super) fn label(&self, lock: &LockSnapshot, site: &CallSite) -> Option<String> {
        self.chosen
            .contains(&key(lock, site))
            .then(|| site.location().to_string())
    }
}

fn key(lock: &LockSnapshot, site: &CallSite) -> (String, Location) {
    (lock.name().to_owned(), site.location().clone())
}

/// What waiting a line has had and caused.
fn cost(site: &CallSite) -> Duration {
    site.blocked_total() + site.blame()
}

fn is_told(site: &CallSite) -> bool {
    !site.is_other() && !cost(site).is_zero()
}
