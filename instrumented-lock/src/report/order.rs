//! The order of locks: mistakes for the table, and the graph as a drawing.

use crate::snapshot::{Finding, OrderEdge, Snapshot};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What is wrong, below the table.
pub(super) fn findings(out: &mut String, snapshot: &Snapshot) {
    let findings = snapshot.order().findings();
    if findings.is_empty() {
        return;
    }
    out.push_str("\nthe order of locks:\n");
    for finding in findings {
        let _ = writeln!(out, "{finding}");
    }
}

/// Which locks are taken while which others are held, in the language of
/// [Graphviz](https://graphviz.org/doc/info/lang.html): `dot -Tsvg`. An arrow leads from the lock that is held
/// to the one that is asked for, with how often that has been so at least; red where it is part of a finding.
///
/// ```
/// use instrumented_lock::{registry, report};
///
/// assert!(report::dot(&registry::snapshot()).starts_with("digraph"));
/// ```
pub fn dot(snapshot: &Snapshot) -> String {
    let order = snapshot.order();
    let ends = |edge: &OrderEdge| {
        (
            edge.held().lock().to_owned(),
            edge.wanted().lock().to_owned(),
        )
    };
    let of_findings = order.findings().iter().flat_map(Finding::edges);
    let wrong: BTreeSet<_> = of_findings.map(ends).collect();
    let mut arrows = BTreeMap::new();
    for edge in order.edges() {
        let (lines, count) = arrows.entry(ends(edge)).or_insert((Vec::new(), 0u64));
        lines.push(format!(
            "{} at {}, then {} at {}",
            edge.held().mode(),
            edge.held().location(),
            edge.wanted().mode(),
            edge.wanted().location()
        ));
        *count = count.saturating_add(edge.count());
    }
    let mut out = String::from("digraph \"order of locks\" {\n  node [shape=box]\n");
    for (ends, (lines, count)) in &arrows {
        let colour = if wrong.contains(ends) {
            ", color=red"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "  {} -> {} [label={}, tooltip={}{colour}]",
            quoted(&ends.0),
            quoted(&ends.1),
            quoted(&count.to_string()),
            quoted(&lines.join("\n")),
        );
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
