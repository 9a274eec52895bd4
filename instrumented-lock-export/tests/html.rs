//! The page: a golden file, what holds for any snapshot as a browser reads it, and its size.

mod support;

use instrumented_lock_export::html::{Options, page, page_with};
use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Instant;
use support::{assert_golden, known, many, snapshots};

#[test]
fn the_page_is_as_recorded() {
    assert_golden("page.html", &page(&known()));
}

#[test]
fn operations_and_locks_of_a_class_have_their_rows() {
    let written = page(&known());
    let rows: Vec<_> = written
        .split("<tr>")
        .map(|row| unescaped(&read(row).text))
        .collect();
    for row in [
        "shard 17470 ms35 ms17.5 ms",
        "0x7f000020, dropped230 ms15 ms7.50 ms",
        "(others)11 µs500 ns250 ns",
        "GET /keysall36180 ms80 ms26.7 ms8.89 ms11.4 ms",
        "PUT /keys <all>app::store::Store::index2120 ms20 ms6.67 ms2.22 ms2.86 ms",
    ] {
        assert!(
            rows.iter().any(|one| one.starts_with(row)),
            "{row}: {rows:#?}"
        );
    }
    // A class with one lock only has no table of them.
    let modes = [(); 3].map(|()| support::mode(&[1], &[1], 0));
    let mut lock = support::lock("a", "Mutex", &modes, &[]);
    lock["waited_for"] = vec![support::instance(None, 1, 1, 1)].into();
    let of_one = page(&support::snapshot(vec![lock.clone()]));
    assert!(!of_one.contains("Locks of this class"));
    lock["instances"] = 2.into();
    let of_two = page(&support::snapshot(vec![lock]));
    assert!(of_two.contains("Locks of this class"));
}

/// What stands in the tags and between them.
struct Page<'a> {
    tags: Vec<&'a str>,
    text: String,
}

fn read(page: &str) -> Page<'_> {
    let (mut tags, mut text) = (Vec::new(), String::new());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        // A `>` inside quotes does not end a tag; we never write one there.
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        tags.push(tag);
        rest = &rest[end + 1..];
        for raw in ["script", "style"] {
            if tag == raw {
                let end = rest.find(&format!("</{raw}>")).unwrap();
                rest = &rest[end..];
            }
        }
    }
    text.push_str(rest);
    Page { tags, text }
}

fn unescaped(text: &str) -> String {
    let mut out = text.to_owned();
    for (entity, c) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        out = out.replace(entity, c);
    }
    out
}

/// Elements whose end may be left out.
const OPEN: [&str; 12] = [
    "!doctype", "meta", "link", "input", "p", "th", "td", "tr", "thead", "tbody", "li", "path",
];

fn check(page: &str) -> Page<'_> {
    let page = read(page);
    let mut open = HashMap::<&str, i32>::new();
    for tag in &page.tags {
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        *open.entry(name).or_default() += if tag.starts_with('/') { -1 } else { 1 };
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'),
            "<{tag}>"
        );
        for asks in ["src=", "http:", "https:", "url("] {
            assert!(name == "details" || !tag.contains(asks), "<{tag}>");
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
    }
    for (name, n) in &open {
        assert!(*n == 0 || *n > 0 && OPEN.contains(name), "{n} × <{name}>");
    }
    assert_eq!(
        page.tags
            .iter()
            .filter(|tag| tag.starts_with("script"))
            .count(),
        1
    );
    page
}

proptest! {
    #[test]
    fn any_text_is_text_and_everything_is_there(snapshot in snapshots(), size in 0..30_000usize) {
        let mut options = Options::default();
        options.size = size;
        options.title = "<a \"&".to_owned();
        let written = page_with(&snapshot, &options);
        let page = check(&written);
        let text = unescaped(&page.text);
        prop_assert!(text.contains("<a \"&"));
        for lock in snapshot.locks() {
            let is_used = lock.modes().any(|(_, mode)| mode.acquisitions() > 0);
            let shown = lock.name().replace(|c: char| c.is_control() && !"\n\r\t".contains(c), "\u{fffd}");
            prop_assert!(!is_used || text.contains(&shown), "{:?}", lock.name());
        }
        let (_, operations) = text.split_once("Operations").unwrap_or_default();
        for operation in snapshot.operations() {
            let shown = operation.name().replace(|c: char| c.is_control() && !"\n\r\t".contains(c), "\u{fffd}");
            prop_assert!(operations.contains(&shown), "{:?}", operation.name());
        }
    }
}

#[test]
fn the_policy_forbids_requests_and_the_scripts_make_none() {
    let page = page(&known());
    assert!(page.contains("default-src 'none'"));
    for asks in [
        "fetch(",
        "XMLHttp",
        "import",
        "WebSocket",
        "http:",
        "https:",
        "@font",
    ] {
        assert!(!page.contains(asks), "{asks}");
    }
}

#[test]
fn the_page_loads_itself_again_where_that_is_asked_for() {
    let mut options = Options::default();
    assert!(!page_with(&known(), &options).contains("http-equiv=refresh"));
    options.refresh = 5;
    assert!(page_with(&known(), &options).contains("http-equiv=refresh content=5>"));
}

#[test]
fn a_thousand_locks_are_a_page_of_two_megabytes_at_most() {
    let snapshot = many(1000);
    let start = Instant::now();
    let written = page(&snapshot);
    println!("{} bytes in {:?}", written.len(), start.elapsed());
    assert!(written.len() <= 2_000_000, "{} bytes", written.len());
    let page = check(&written);
    let rows = page
        .tags
        .iter()
        .filter(|tag| tag.starts_with("th scope=row"))
        .count();
    assert!(rows >= 1000, "every lock has its row: {rows}");
    let details = page
        .tags
        .iter()
        .filter(|tag| tag.starts_with("details "))
        .count();
    assert!(
        details >= 250 && page.text.contains("are left out"),
        "{details}"
    );
}

#[test]
fn a_snapshot_without_locks_says_so() {
    let page = page(&support::snapshot(Vec::new()));
    assert!(check(&page).text.contains("No lock has been used."));
}
