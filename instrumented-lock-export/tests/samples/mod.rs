//! Prometheus' formats of text, as a reader of them sees them.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::collections::{BTreeMap, HashMap, HashSet};

/// A sample as a reader sees it.
#[derive(Debug)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Sample {
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

/// Reads the format by its specification; panics where it is not kept.
pub fn parse(text: &str) -> Vec<Sample> {
    let (mut samples, mut families) = (Vec::new(), HashMap::new());
    let mut described = HashSet::new();
    for line in text.split_terminator('\n') {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            match words.next().unwrap() {
                "HELP" => assert!(described.insert(words.next().unwrap().to_owned()), "{line}"),
                "TYPE" => {
                    let (name, kind) = (words.next().unwrap(), words.next().unwrap());
                    assert!(families.insert(name.to_owned(), kind.to_owned()).is_none());
                }
                "UNIT" => assert_eq!(words.nth(1), Some("seconds")),
                "EOF" => assert_eq!(text.split_terminator('\n').next_back(), Some("# EOF")),
                other => panic!("{other}"),
            }
            continue;
        }
        let at = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(at);
        let mut labels = BTreeMap::new();
        if let Some(inside) = rest.strip_prefix('{') {
            rest = inside;
            while !rest.starts_with('}') {
                let (label, value) = rest.split_once("=\"").unwrap();
                assert!(label.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
                let mut unescaped = String::new();
                let mut chars = value.char_indices();
                rest = loop {
                    match chars.next().expect("the value ends") {
                        (i, '"') => break &value[i + 1..],
                        (_, '\\') => unescaped.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            c @ ('\\' | '"') => c,
                            c => panic!("\\{c}"),
                        }),
                        (_, c) => unescaped.push(c),
                    }
                };
                assert!(labels.insert(label.to_owned(), unescaped).is_none());
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
            rest = &rest[1..];
        }
        let value = rest.strip_prefix(' ').unwrap().parse().unwrap();
        let name = name.to_owned();
        samples.push(Sample {
            name,
            labels,
            value,
        });
    }
    for sample in &samples {
        let suffixes = ["_bucket", "_sum", "_count", "_total", ""];
        let of_family = suffixes.iter().find_map(|suffix| {
            let family = sample.name.strip_suffix(suffix)?;
            families.get(family)
        });
        let kind = of_family.unwrap_or_else(|| panic!("{} has no family", sample.name));
        assert_eq!(kind == "counter", sample.name.ends_with("_total"));
        assert!(sample.value >= 0.0);
    }
    let mut all = HashSet::new();
    for Sample { name, labels, .. } in &samples {
        assert!(
            all.insert((name, labels)),
            "{name} {labels:?} is there twice"
        );
    }
    samples
}
