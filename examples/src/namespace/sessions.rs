//! The sessions: which clients were heard from lately.

use std::collections::HashMap;

/// How long a client may be silent, and how often silent ones are looked for, in requests of all
/// clients: a clock read a request would be longer than the rest of the work here.
const LEASE: u64 = 4096;

/// Every request renews its client's lease, so every request comes through here.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    requests: u64,
    leases: HashMap<u32, Lease>,
}

#[derive(Debug, Default)]
struct Lease {
    until: u64,
    requests: u64,
}

impl Sessions {
    /// The client has been heard from. Now and then this walks through all clients: the one long
    /// hold among many short ones.
    pub(super) fn renew(&mut self, client: u32) {
        self.requests += 1;
        let lease = self.leases.entry(client).or_default();
        lease.until = self.requests + LEASE;
        lease.requests += 1;
        if self.requests.is_multiple_of(LEASE) {
            let now = self.requests;
            self.leases.retain(|_, lease| lease.until > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_client_is_forgotten_a_lively_one_is_not() {
        let mut sessions = Sessions::default();
        sessions.renew(1);
        for _ in 0..2 * LEASE {
            sessions.renew(2);
        }
        assert!(!sessions.leases.contains_key(&1));
        assert_eq!(sessions.leases[&2].requests, 2 * LEASE);
    }
}
