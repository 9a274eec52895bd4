//! Which processor this is: what a pair costs beyond its clock reads depends on that.

use instrumented_lock_benches::measure::processors;
use std::fmt::{self, Display};
use std::fs;

/// As far as the system tells. In a virtual machine the name can be anybody's; vendor, family and
/// model are the processor's own.
pub(crate) struct Processor {
    name: String,
    vendor: String,
    family: Option<u32>,
    model: Option<u32>,
}

impl Processor {
    pub(crate) fn of_this_machine() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let mut lines = info.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(field, _)| field.trim() == name);
            found.map(|(_, value)| value.trim().to_owned())
        };
        let number = |name| field(name)?.parse().ok();
        Processor {
            name: field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            vendor: field("vendor_id").unwrap_or_else(|| "vendor unknown".to_owned()),
            family: number("cpu family"),
            model: number("model"),
        }
    }

    /// What a pair with everything recorded may cost, in pairs of the floor, and the processors that
    /// this is so for.
    pub(crate) fn everything_to_floor(&self) -> (f64, &'static str) {
        match (self.vendor.as_str(), self.family, self.model) {
            // From model 48 on, family 23 is Zen 2.
            ("AuthenticAMD", Some(23), Some(0..48)) => (1.55, "Zen 1"),
            ("AuthenticAMD", Some(25), _) => (1.40, "Zen 3"),
            ("GenuineIntel", ..) => (1.15, "Xeon"),
            _ => (1.40, "another processor"),
        }
    }
}

/// The line above all tables.
impl Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.name, self.vendor)?;
        if let (Some(family), Some(model)) = (self.family, self.model) {
            write!(f, " family {family} model {model}")?;
        }
        let (processors, system) = (processors(), std::env::consts::OS);
        write!(f, "), {processors} processors, {system}")
    }
}
