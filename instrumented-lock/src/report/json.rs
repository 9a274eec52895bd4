//! JSON, in the form that [`Snapshot`] documents, without the feature `serde`: what a program writes that
//! nobody has prepared for it.

use crate::snapshot::{
    Blame, CallSite, Distribution, Finding, Frame, InFlight, InFlightState, InFlightTotals,
    InstanceSnapshot, Load, Location, LockSnapshot, ModeSnapshot, OperationLock, OperationSnapshot,
    Order, OrderEdge, OrderEnd, SleepSnapshot, Snapshot, StackSnapshot,
};
use std::fmt::{Display, Write as _};

/// The snapshot as JSON, on one line: what `serde_json` makes of it with the feature `serde`, and needs that
/// feature to be [read back](Snapshot#json).
pub fn json(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    Object::of(&mut out, |object| snapshot.write(object));
    out
}

/// An object that is being written.
struct Object<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl Object<'_> {
    fn of(out: &mut String, write: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        write(&mut Object {
            out,
            is_empty: true,
        });
        out.push('}');
    }

    fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        let _ = write!(self.out, "\"{key}\":");
        self.out
    }

    /// A number, or what else stands there as it is shown.
    fn plain(&mut self, key: &str, value: impl Display) {
        let _ = write!(self.key(key), "{value}");
    }

    fn optional(&mut self, key: &str, value: Option<u64>) {
        match value {
            Some(value) => self.plain(key, value),
            None => self.plain(key, "null"),
        }
    }

    fn text(&mut self, key: &str, text: &str) {
        quote(self.key(key), text);
    }

    fn object(&mut self, key: &str, value: &impl Fields) {
        Object::of(self.key(key), |object| value.write(object));
    }

    fn list<T>(&mut self, key: &str, values: &[T], write: impl Fn(&mut String, &T)) {
        let out = self.key(key);
        out.push('[');
        for (i, value) in values.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write(out, value);
        }
        out.push(']');
    }

    fn objects(&mut self, key: &str, values: &[impl Fields]) {
        self.list(key, values, |out, value| {
            Object::of(out, |object| value.write(object));
        });
    }
}

/// As a string of JSON.
pub(crate) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// What is an object in JSON.
trait Fields {
    fn write(&self, object: &mut Object<'_>);
}

impl Fields for Snapshot {
    fn write(&self, object: &mut Object<'_>) {
        let elapsed = u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX);
        object.plain("elapsed_ns", elapsed);
        if let Some(begun) = self.begun_ns {
            object.plain("begun_ns", begun);
        }
        object.plain("enabled", self.is_enabled());
        object.list("diagnostics", self.diagnostics(), |out, said| {
            quote(out, said);
        });
        object.objects("locks", self.locks());
        object.objects("in_flight", self.in_flight());
        if !self.order().is_empty() {
            object.object("order", self.order());
        }
        if !self.operations().is_empty() {
            object.objects("operations", self.operations());
        }
        if self.stacks_dropped() > 0 {
            object.plain("stacks_dropped", self.stacks_dropped());
        }
        if self.load() != Load::default() {
            object.object("load", &self.load());
        }
    }
}

impl Fields for OperationSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        object.text("name", &self.name);
        object.plain("opened", self.opened);
        object.objects("locks", &self.locks);
    }
}

impl Fields for OperationLock {
    fn write(&self, object: &mut Object<'_>) {
        object.text("lock", &self.lock);
        object.plain("acquisitions", self.acquisitions);
        object.plain("hold_total_ns", self.hold_total_ns);
        object.plain("hold_max_ns", self.hold_max_ns);
        object.plain("contended", self.contended);
        object.plain("gave_up", self.gave_up);
        object.plain("waited_ns", self.waited_ns);
        object.plain("waited_max_ns", self.waited_max_ns);
        object.plain("blame_ns", self.blame_ns);
    }
}

impl Fields for Order {
    fn write(&self, object: &mut Object<'_>) {
        object.objects("edges", self.edges());
        object.objects("findings", self.findings());
        object.plain("unlisted", self.unlisted());
    }
}

impl Fields for OrderEdge {
    fn write(&self, object: &mut Object<'_>) {
        object.object("held", self.held());
        object.object("wanted", self.wanted());
        if self.is_downwards() {
            object.plain("downwards", true);
        }
        optional_text(object, "thread", self.thread());
        object.plain("count", self.count());
    }
}

impl Fields for OrderEnd {
    fn write(&self, object: &mut Object<'_>) {
        object.text("lock", self.lock());
        object.text("mode", &self.mode().to_string());
        object.object("location", self.location());
    }
}

impl Fields for Finding {
    fn write(&self, object: &mut Object<'_>) {
        object.text("kind", &self.kind().to_string());
        object.objects("edges", self.edges());
    }
}

fn optional_text(object: &mut Object<'_>, key: &str, text: Option<&str>) {
    match text {
        Some(text) => object.text(key, text),
        None => object.plain(key, "null"),
    }
}

impl Fields for LockSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        object.text("name", self.name());
        // By the name of the variant, which is not what people are shown.
        object.text("kind", &format!("{:?}", self.kind()));
        object.object("declared_at", self.declared_at());
        object.plain("instances", self.instances);
        if self.gone > 0 {
            object.plain("gone", self.gone);
        }
        object.plain("unmatched", self.unmatched);
        object.plain("clock_anomalies", self.clock_anomalies);
        object.object("write", &self.write);
        object.object("read", &self.read);
        object.object("upgradable", &self.upgradable);
        object.plain("nested", self.nested);
        object.object("sleep", &self.sleep);
        object.objects("call_sites", &self.call_sites);
        object.objects("blame", &self.blame);
        if !self.waited_for.is_empty() {
            object.objects("waited_for", &self.waited_for);
        }
        if !self.stacks.is_empty() {
            object.objects("stacks", &self.stacks);
        }
        object.plain("hand_over_ns", self.hand_over_ns);
        object.plain("unblamed", self.unblamed);
    }
}

impl Fields for ModeSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        object.plain("acquisitions", self.acquisitions);
        object.plain("try_failures", self.try_failures);
        object.plain("timeouts", self.timeouts);
        object.plain("releases", self.releases);
        object.plain("bounces", self.bounces);
        object.plain("contended_bounces", self.contended_bounces);
        unless_none(object, "holding", &self.holding);
        unless_none(object, "waiting", &self.waiting);
        if let Some(waited) = self.waited_ns {
            object.plain("waited_ns", waited);
        }
        if self.waited_before_ns > 0 {
            object.plain("waited_before_ns", self.waited_before_ns);
        }
        object.object("hold", &self.hold);
        object.object("blocked", &self.blocked);
        object.object("wait", &self.wait);
    }
}

fn unless_none(object: &mut Object<'_>, key: &str, in_flight: &InFlightTotals) {
    if *in_flight != InFlightTotals::default() {
        object.object(key, in_flight);
    }
}

impl Fields for InFlightTotals {
    fn write(&self, object: &mut Object<'_>) {
        object.plain("count", self.count);
        object.plain("timed", self.timed);
        object.plain("total_ns", self.total_ns);
        object.plain("longest_ns", self.longest_ns);
    }
}

impl Fields for SleepSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        object.plain("waits", self.waits);
        object.plain("timeouts", self.timeouts);
        unless_none(object, "asleep", &self.asleep);
        object.object("time", &self.time);
    }
}

impl Fields for Distribution {
    fn write(&self, object: &mut Object<'_>) {
        object.plain("count", self.count);
        object.plain("sum_ns", self.sum_ns);
        object.text("sum_of_squares_ns2", &self.sum_of_squares_ns2.to_string());
        object.optional("min_ns", self.min_ns);
        object.optional("max_ns", self.max_ns);
        object.list("buckets", &self.buckets, |out, (bucket, count)| {
            let _ = write!(out, "[{bucket},{count}]");
        });
    }
}

impl Fields for CallSite {
    fn write(&self, object: &mut Object<'_>) {
        object.object("location", &self.location);
        object.text("mode", &self.mode.to_string());
        object.plain("acquisitions", self.acquisitions);
        object.plain("releases", self.releases);
        object.plain("contended", self.contended);
        object.plain("blocked_total_ns", self.blocked_total_ns);
        object.plain("blocked_max_ns", self.blocked_max_ns);
        object.plain("hold_total_ns", self.hold_total_ns);
        object.plain("hold_max_ns", self.hold_max_ns);
        object.plain("blame_ns", self.blame_ns);
    }
}

impl Fields for InstanceSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        optional_text(object, "label", self.label());
        object.plain("address", self.address);
        object.plain("number", self.number);
        object.plain("is_gone", self.is_gone);
        object.plain("contended", self.contended);
        object.plain("blocked_ns", self.blocked_ns);
        object.plain("blocked_max_ns", self.blocked_max_ns);
        object.plain("blame_ns", self.blame_ns);
    }
}

impl Fields for Load {
    fn write(&self, object: &mut Object<'_>) {
        object.plain("threads_ns", self.threads_ns);
        object.plain("processor_ns", self.processor_ns);
        object.plain("processors", self.processors);
    }
}

impl Fields for StackSnapshot {
    fn write(&self, object: &mut Object<'_>) {
        object.text("role", &self.role.to_string());
        object.text("mode", &self.mode.to_string());
        object.plain("count", self.count);
        object.plain("total_ns", self.total_ns);
        object.objects("frames", &self.frames);
    }
}

impl Fields for Frame {
    fn write(&self, object: &mut Object<'_>) {
        object.text("function", &self.function);
        optional_text(object, "file", self.file());
        object.optional("line", self.line.map(u64::from));
    }
}

impl Fields for Blame {
    fn write(&self, object: &mut Object<'_>) {
        object.object("waiter", &self.waiter);
        object.object("holder", &self.holder);
        object.plain("waits", self.waits);
        object.plain("total_ns", self.total_ns);
    }
}

impl Fields for InFlight {
    fn write(&self, object: &mut Object<'_>) {
        object.text("lock", &self.lock);
        object.text("mode", &self.mode.to_string());
        let state = match self.state {
            InFlightState::Waiting => "waiting",
            InFlightState::Holding => "holding",
        };
        object.text("state", state);
        object.object("location", &self.location);
        optional_text(object, "thread", self.thread());
        object.optional("age_ns", self.age_ns);
    }
}

impl Fields for Location {
    fn write(&self, object: &mut Object<'_>) {
        object.text("file", self.file());
        object.plain("line", self.line());
        object.plain("column", self.column());
        if self.is_through_pointer() {
            object.plain("called_through_pointer", true);
        }
    }
}
