//! Figures for people: three or four digits and a unit.

use std::time::Duration;

/// `812 ns`, `1.25 ms`, `3.1 h`: three significant digits, rounded.
pub fn time(duration: Duration) -> String {
    const UNITS: [(f64, &str); 6] = [
        (1.0, "ns"),
        (1e3, "µs"),
        (1e6, "ms"),
        (1e9, "s"),
        (60e9, "min"),
        (3600e9, "h"),
    ];
    let ns = duration.as_nanos() as f64;
    // A unit is left when its three digits would round up to the next one.
    let next = |i: usize| UNITS.get(i + 1).map_or(f64::INFINITY, |next| next.0);
    let unit = (0..UNITS.len())
        .find(|&i| ns < next(i) * 0.9995)
        .unwrap_or(UNITS.len() - 1);
    let (size, name) = UNITS[unit];
    format!("{} {name}", digits(ns / size))
}

/// Three significant digits without an exponent; whole numbers stay whole.
fn digits(n: f64) -> String {
    if n < 9.995 && n.fract() != 0.0 {
        format!("{n:.2}")
    } else if n < 99.95 && n.fract() != 0.0 {
        format!("{n:.1}")
    } else {
        format!("{n:.0}")
    }
}

/// `1,204`; from ten million on `12.0 M`, `1.25 G`.
pub fn count(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [
        (1_000_000, "M"),
        (1_000_000_000, "G"),
        (1_000_000_000_000, "T"),
    ];
    if n < 10_000_000 {
        let digits = n.to_string();
        let groups = digits
            .as_bytes()
            .rchunks(3)
            .rev()
            .map(String::from_utf8_lossy);
        return groups.collect::<Vec<_>>().join(",");
    }
    let (size, name) = UNITS
        .into_iter()
        .rev()
        .find(|unit| n >= unit.0)
        .unwrap_or(UNITS[0]);
    let scaled = n as f64 / size as f64;
    format!("{} {name}", digits(scaled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_three_digits_and_the_unit_people_use() {
        let cases = [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_234, "1.23 µs"),
            (999_400, "999 µs"),
            (999_600, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (59_000_000_000, "59 s"),
            (90_000_000_000, "1.50 min"),
            (57_600_000_000_000, "16 h"),
            (5_000_000_000_000_000, "1389 h"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(Duration::from_nanos(ns)), text, "{ns}");
        }
        assert_eq!(time(Duration::MAX), "5124095576030431 h");
    }

    #[test]
    fn count_groups_then_scales() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_204, "1,204"),
            (9_999_999, "9,999,999"),
            (12_000_000, "12 M"),
            (1_250_000_000, "1.25 G"),
            (u64::MAX, "18446744 T"),
        ];
        for (n, text) in cases {
            assert_eq!(count(n), text, "{n}");
        }
    }
}
