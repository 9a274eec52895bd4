//! The endpoint, as clients see it: well-behaved, slow and hostile ones.

use flate2::read::GzDecoder;
use instrumented_lock::{Mutex, Snapshot, instrumented};
use instrumented_lock_export::serve::{Server, serve};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);

#[instrumented]
static LEDGER: Mutex<u32> = Mutex::new(0);

fn server() -> Server {
    *LEDGER.lock() += 1;
    serve("127.0.0.1:0").unwrap()
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.set_write_timeout(Some(LIMIT)).unwrap();
    stream
}

/// The head and the body of the answer to these bytes; empty where there is none.
fn ask(server: &Server, request: &str) -> (String, Vec<u8>) {
    let mut stream = connect(server);
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let body = end.map_or(Vec::new(), |end| answer.split_off(end + 4));
    (String::from_utf8_lossy(&answer).to_lowercase(), body)
}

fn get(server: &Server, path: &str) -> (String, Vec<u8>) {
    ask(
        server,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    )
}

fn text(server: &Server, path: &str) -> String {
    let (head, body) = get(server, path);
    assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
    assert!(head.contains("cache-control: no-store"), "{head}");
    String::from_utf8_lossy(&body).into_owned()
}

#[test]
fn every_path_has_its_format() {
    let server = server();
    for (path, kind, part) in [
        ("/", "text/plain", "/metrics"),
        (
            "/metrics",
            "text/plain; version=0.0.4",
            "instrumented_lock_hold_seconds_bucket{lock=\"serve::LEDGER\"",
        ),
        ("/locks", "text/html", "http-equiv=refresh content=5>"),
        ("/locks.json", "application/json", "\"serve::LEDGER\""),
        ("/locks/table", "text/plain", "serve::LEDGER"),
        ("/locks/lock_stat", "text/plain", "lock_stat version 0.4"),
        ("/debug/folded/block", "text/plain", ""),
        ("/debug/folded/operations", "text/plain", ""),
        ("/debug/folded/instances", "text/plain", ""),
    ] {
        let (head, body) = get(&server, path);
        assert!(head.starts_with("http/1.1 200 "), "{path}: {head}");
        assert!(
            head.contains(&format!("content-type: {kind}")),
            "{path}: {head}"
        );
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains(part), "{path}: {body}");
    }
    let snapshot: Snapshot = serde_json::from_str(&text(&server, "/locks.json")).unwrap();
    assert!(snapshot.lock("LEDGER").unwrap().write().acquisitions() >= 1);
    let accept = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\
                  Accept: application/openmetrics-text;version=1.0.0\r\n\r\n";
    let (head, body) = ask(&server, accept);
    assert!(
        head.contains("content-type: application/openmetrics-text"),
        "{head}"
    );
    assert!(body.ends_with(b"# EOF\n"));
    let accept = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\
                  Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                  encoding=delimited,text/plain;q=0.5\r\n\r\n";
    let (head, body) = ask(&server, accept);
    let kind = "content-type: application/vnd.google.protobuf; proto=io.prometheus.client.metricfamily; encoding=delimited\r\n";
    assert!(head.contains(kind), "{head}");
    // The length of the first message, its field 1 and the length of that.
    let name = b"\x0a\x1einstrumented_lock_wait_seconds\x12";
    let at = body.windows(name.len()).position(|part| part == name);
    assert!(matches!(at, Some(1..=5)), "{body:?}");
}

#[test]
fn profiles_are_of_the_seconds_that_are_asked_for() {
    let server = server();
    let start = Instant::now();
    let (head, body) = get(&server, "/debug/pprof/mutex?seconds=0.3");
    assert!(head.starts_with("http/1.1 200 "), "{head}");
    assert!(start.elapsed() >= Duration::from_millis(300));
    let mut profile = Vec::new();
    GzDecoder::new(&*body).read_to_end(&mut profile).unwrap();
    assert!(!profile.is_empty());
    let json = text(&server, "/locks.json?seconds=0.2");
    let interval: Snapshot = serde_json::from_str(&json).unwrap();
    let elapsed = interval.elapsed();
    assert!(
        elapsed >= Duration::from_millis(200) && elapsed < LIMIT,
        "{elapsed:?}"
    );
    for wrong in ["61", "-1", "x", "", "nan", "inf", "1e99"] {
        let (head, _) = get(&server, &format!("/debug/pprof/block?seconds={wrong}"));
        assert!(head.starts_with("http/1.1 400 "), "{wrong}: {head}");
    }
}

#[test]
fn a_timeline_is_of_the_seconds_that_are_asked_for_and_there_is_one_at_a_time() {
    let server = server();
    thread::scope(|scope| {
        let first = scope.spawn(|| text(&server, "/debug/timeline?seconds=1.5"));
        thread::sleep(Duration::from_millis(500));
        let (head, body) = get(&server, "/debug/timeline?seconds=0.1");
        assert!(head.starts_with("http/1.1 409 "), "{head}");
        assert!(body.ends_with(b"there is one at a time\n"));
        for _ in 0..10 {
            *LEDGER.lock() += 1;
        }
        let trace: serde_json::Value = serde_json::from_str(&first.join().unwrap()).unwrap();
        assert!(trace["otherData"]["length_ns"].as_u64().unwrap() >= 1_500_000_000);
        let events = trace["traceEvents"].as_array().unwrap();
        let holds = events
            .iter()
            .filter(|event| event["name"] == "serve::LEDGER");
        assert!(holds.count() >= 10);
    });
    // Who asks and goes away does not keep others from it.
    let mut stream = connect(&server);
    let request = "GET /debug/timeline?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(300));
    drop(stream);
    let start = Instant::now();
    while !get(&server, "/debug/timeline?seconds=0.01")
        .0
        .starts_with("http/1.1 200 ")
    {
        assert!(start.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(20));
    }
    let (head, _) = get(&server, "/debug/timeline?seconds=61");
    assert!(head.starts_with("http/1.1 400 "), "{head}");
}

#[test]
fn nothing_but_get_and_nothing_else_is_there() {
    let server = server();
    for method in ["POST", "PUT", "DELETE"] {
        let (head, _) = ask(
            &server,
            &format!("{method} /locks HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        );
        assert!(head.starts_with("http/1.1 405 "), "{method}: {head}");
    }
    let (head, body) = ask(&server, "HEAD /locks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(
        head.starts_with("http/1.1 200 ") && body.is_empty(),
        "{head}"
    );
    assert!(get(&server, "/etc/passwd").0.starts_with("http/1.1 404 "));
    for host in ["example.org", "attacker.example:6070"] {
        let (head, _) = ask(
            &server,
            &format!("GET /locks.json HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        );
        assert!(head.starts_with("http/1.1 403 "), "{host}: {head}");
    }
}

#[test]
fn other_machines_are_not_served_unasked() {
    let error = serve("0.0.0.0:0").unwrap_err();
    assert!(error.to_string().contains("beyond_loopback"), "{error}");
}

#[test]
fn who_sends_nonsense_or_too_much_is_turned_away() {
    let server = server();
    let long = format!(
        "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(100_000)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
        "X: y\r\n".repeat(10_000)
    );
    for request in ["\0\0\0\0\r\n\r\n", "nonsense\r\n\r\n", &long, &many] {
        let (head, _) = ask(&server, request);
        assert!(!head.contains(" 200 "), "{head}");
    }
    assert!(text(&server, "/locks/table").contains("LEDGER"));
}

#[test]
fn who_is_slow_or_many_costs_a_socket_and_is_closed() {
    let server = server();
    let mut slow: Vec<_> = (0..40).map(|_| connect(&server)).collect();
    for stream in &mut slow {
        let _ = stream.write_all(b"GET /locks");
    }
    // Sixteen are waited for, and the others have been closed already.
    let start = Instant::now();
    let is_closed = |stream: &mut TcpStream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        match stream.read(&mut [0; 1000]) {
            Ok(n) => n == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    };
    thread::sleep(Duration::from_millis(300));
    let open = slow
        .iter_mut()
        .filter_map(|stream| (!is_closed(stream)).then_some(()))
        .count();
    assert!((1..=16).contains(&open), "{open}");
    while !slow.iter_mut().all(is_closed) {
        assert!(start.elapsed() < LIMIT, "they are still open");
        thread::sleep(Duration::from_millis(100));
    }
    assert!(text(&server, "/locks/table").contains("LEDGER"));
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    let server = server();
    let address = server.address();
    let waiting = connect(&server);
    drop(server);
    drop(waiting);
    assert!(TcpStream::connect(address).is_err());
}
