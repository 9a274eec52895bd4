//! OTLP in the hands of a receiver: that of `opentelemetry-proto` over gRPC, and one over HTTP.

#![allow(clippy::float_cmp, reason = "counts and nanoseconds are whole numbers")]

mod support;

use flate2::read::GzDecoder;
use instrumented_lock::{Distribution, Mutex, Snapshot, registry};
use instrumented_lock_export::otlp::opentelemetry_proto::tonic as proto;
use instrumented_lock_export::otlp::{Exporter, Protocol, Series, Settings, request};
use proptest::prelude::*;
use prost::Message as _;
use proto::collector::metrics::v1::metrics_service_server::{MetricsService, MetricsServiceServer};
use proto::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use proto::common::v1::any_value::Value;
use proto::metrics::v1::metric::Data;
use proto::metrics::v1::number_data_point;
use proto::metrics::v1::{ExponentialHistogramDataPoint, Metric, NumberDataPoint};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::{Builder, Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::codec::CompressionEncoding;
use tonic::{Request, Response, Status};

const LIMIT: Duration = Duration::from_secs(20);

type Message = ExportMetricsServiceRequest;

/// The server of `opentelemetry-proto`, until it is dropped.
struct Grpc(Option<Runtime>);

struct Service(Sender<Message>);

#[tonic::async_trait]
impl MetricsService for Service {
    async fn export(
        &self,
        request: Request<Message>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        if request.metadata().get("authorization").is_none() {
            return Err(Status::unauthenticated("who are you?"));
        }
        // The test may have heard enough.
        let _ = self.0.send(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

impl Grpc {
    fn new(address: SocketAddr, to: Sender<Message>) -> (Self, SocketAddr) {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind(address))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let service =
            MetricsServiceServer::new(Service(to)).accept_compressed(CompressionEncoding::Gzip);
        let server = tonic::transport::Server::builder().add_service(service);
        runtime.spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (Grpc(Some(runtime)), address)
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        self.0
            .take()
            .unwrap()
            .shutdown_timeout(Duration::from_secs(1));
    }
}

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn settings(variables: &[(&str, &str)]) -> Settings {
    Settings::from_variables(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    })
    .unwrap()
}

fn metrics(message: &Message) -> &[Metric] {
    &message.resource_metrics[0].scope_metrics[0].metrics
}

fn metric<'a>(message: &'a Message, name: &str) -> Option<&'a Metric> {
    let name = format!("instrumented_lock.{name}");
    metrics(message).iter().find(|metric| metric.name == name)
}

fn has(attributes: &[proto::common::v1::KeyValue], name: &str, value: &str) -> bool {
    let is_it = |pair: &proto::common::v1::KeyValue| {
        let of = pair.value.as_ref().and_then(|value| value.value.as_ref());
        pair.key == name && matches!(of, Some(Value::StringValue(text)) if text == value)
    };
    attributes.iter().any(is_it)
}

fn histogram<'a>(
    message: &'a Message,
    name: &str,
    lock: &str,
    mode: &str,
) -> Option<&'a ExponentialHistogramDataPoint> {
    let Some(Data::ExponentialHistogram(data)) = &metric(message, name)?.data else {
        panic!("{name} is no exponential histogram");
    };
    assert_eq!(data.aggregation_temporality, 2, "cumulative");
    let mut points = data.data_points.iter();
    points
        .find(|point| has(&point.attributes, "lock", lock) && has(&point.attributes, "mode", mode))
}

fn numbers<'a>(message: &'a Message, name: &str, lock: &str) -> Vec<&'a NumberDataPoint> {
    let points = match metric(message, name).and_then(|metric| metric.data.as_ref()) {
        Some(Data::Sum(sum)) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
            &sum.data_points
        }
        Some(Data::Gauge(gauge)) => &gauge.data_points,
        None => return Vec::new(),
        other => panic!("{name}: {other:?}"),
    };
    let of_lock = points
        .iter()
        .filter(|point| has(&point.attributes, "lock", lock));
    of_lock.collect()
}

fn sum(message: &Message, name: &str, lock: &str) -> u128 {
    let value = |point: &&NumberDataPoint| match point.value {
        Some(number_data_point::Value::AsInt(n)) => u128::try_from(n).unwrap(),
        other => panic!("{other:?}"),
    };
    numbers(message, name, lock).iter().map(value).sum()
}

/// Bucket by bucket: what the receiver sees is what the snapshot has.
fn assert_same(point: &ExponentialHistogramDataPoint, distribution: &Distribution) {
    assert_eq!((point.scale, point.zero_threshold), (3, 0.0));
    assert_eq!(point.count, distribution.count());
    assert_eq!(point.sum, Some(distribution.sum().as_nanos() as f64));
    assert_eq!(point.min, distribution.min().map(|ns| ns.as_nanos() as f64));
    assert_eq!(point.max, distribution.max().map(|ns| ns.as_nanos() as f64));
    let positive = point.positive.as_ref().unwrap();
    let mut seen = vec![(0.0, point.zero_count)];
    // Bucket i ends with 2^((i + 1) / 8), by the definition of scale 3.
    for (i, n) in (positive.offset..).zip(&positive.bucket_counts) {
        seen.push((f64::from(i + 1) / 8.0, *n));
    }
    seen.retain(|(_, n)| *n > 0);
    let expected: Vec<_> = distribution.buckets().collect();
    assert_eq!(seen.len(), expected.len());
    for ((exponent, n), (upper, m)) in seen.into_iter().zip(expected) {
        assert_eq!(n, m);
        let is_same = match upper {
            0.0 => exponent == 0.0,
            _ if upper.is_infinite() => exponent > 63.0,
            _ => (exponent - upper.log2()).abs() < 1e-6,
        };
        assert!(is_same, "2^{exponent} is not {upper}");
    }
}

/// The next message, or the last of those that are there.
fn next(messages: &Receiver<Message>) -> Message {
    let first = messages.recv_timeout(LIMIT).expect("a message arrives");
    messages.try_iter().last().unwrap_or(first)
}

/// Takes messages until one says so many acquisitions.
fn until(messages: &Receiver<Message>, lock: &str, acquisitions: u128) -> Message {
    let start = Instant::now();
    loop {
        let message = next(messages);
        let seen = sum(&message, "acquisitions", lock);
        assert!(seen <= acquisitions, "{seen} is more than there were");
        if seen == acquisitions {
            return message;
        }
        assert!(start.elapsed() < LIMIT, "{seen}, not {acquisitions}");
    }
}

#[test]
fn a_receiver_sees_what_the_snapshot_has_also_after_it_was_away() {
    const NAME: &str = "otlp::journal";
    let lock = Mutex::named(NAME, 0);
    let work = |n: u32| {
        for i in 0..n {
            *lock.lock() += 1;
            if i.is_multiple_of(10) {
                let _guard = lock.lock();
                thread::sleep(Duration::from_micros(u64::from(i)));
            }
        }
        u128::from(n + n.div_ceil(10))
    };
    let (to, messages) = channel();
    let (receiver, address) = Grpc::new(anywhere(), to);
    let mut settings = settings(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "50"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=storage"),
        ("OTEL_SERVICE_NAME", "shop"),
    ]);
    assert_eq!(settings.protocol, Protocol::Grpc);
    settings.timeout = Duration::from_secs(5);
    let before = SystemTime::now();
    let mut done = work(100);
    let exporter = Exporter::start(settings.clone()).unwrap();
    let first = until(&messages, NAME, done);
    let attributes = &first.resource_metrics[0]
        .resource
        .as_ref()
        .unwrap()
        .attributes;
    for (name, value) in [("service.name", "shop"), ("team", "storage")] {
        assert!(has(attributes, name, value), "{attributes:?}");
    }
    let wait_for = |is_so: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < LIMIT);
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(&|| exporter.status().taken > 0);

    // It goes away, and work goes on.
    drop(receiver);
    done += work(200);
    wait_for(&|| exporter.status().failed > 0);
    let problem = exporter.status().problem;
    assert!(
        problem
            .as_deref()
            .is_some_and(|why| why.starts_with("http://127.0.0.1:")),
        "{problem:?}"
    );
    while messages.try_recv().is_ok() {}

    // Another one is there in its place, and has it all, since the same moment.
    let (to, messages) = channel();
    let (_receiver, _) = Grpc::new(address, to);
    let again = until(&messages, NAME, done);
    done += work(50);
    let status = exporter.shut_down();
    assert_eq!((status.problem, status.rejected), (None, 0));
    let last = messages
        .try_iter()
        .last()
        .expect("the last message is sent by the end");
    assert_eq!(sum(&last, "acquisitions", NAME), done);

    let snapshot = registry::snapshot();
    let figures = snapshot.lock(NAME).unwrap();
    for (name, distribution) in [
        ("hold", figures.write().hold()),
        ("wait", figures.write().wait()),
    ] {
        let points =
            [&first, &again, &last].map(|message| histogram(message, name, NAME, "write").unwrap());
        assert_same(points[2], distribution);
        let counts = points.map(|point| point.count);
        assert!(counts.is_sorted_by(|a, b| a < b), "{counts:?}");
        let starts = points.map(|point| point.start_time_unix_nano);
        assert_eq!(starts, [starts[0]; 3]);
        let at = UNIX_EPOCH + Duration::from_nanos(starts[0]);
        assert!(at <= SystemTime::now() && at >= before - Duration::from_secs(3600));
        assert!(points.is_sorted_by_key(|point| point.time_unix_nano));
        assert_eq!(metric(&last, name).unwrap().unit, "ns");
    }
    assert_eq!(sum(&last, "live_locks", NAME), 1);
}

/// Answers each request with the next of these heads, and hands on what it has read.
fn http(answers: Vec<(&'static str, Vec<u8>)>) -> (SocketAddr, Receiver<(String, Message)>) {
    let listener = TcpListener::bind(anywhere()).unwrap();
    let address = listener.local_addr().unwrap();
    let (to, requests) = channel();
    thread::spawn(move || {
        for (head, body) in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut stream = BufReader::new(stream);
            let mut asked = String::new();
            while !asked.ends_with("\r\n\r\n") {
                assert!(stream.read_line(&mut asked).unwrap() > 0);
            }
            let lower = asked.to_lowercase();
            let length = lower.split("content-length: ").nth(1).unwrap();
            let mut bytes = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
            stream.read_exact(&mut bytes).unwrap();
            if lower.contains("content-encoding: gzip") {
                let mut plain = Vec::new();
                GzDecoder::new(&*bytes).read_to_end(&mut plain).unwrap();
                bytes = plain;
            }
            let message = Message::decode(&*bytes).unwrap();
            let length = body.len();
            let stream = stream.get_mut();
            write!(
                stream,
                "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
            )
            .unwrap();
            stream.write_all(&body).unwrap();
            if to.send((lower, message)).is_err() {
                return;
            }
        }
    });
    (address, requests)
}

#[test]
fn over_http_a_refused_message_is_followed_by_one_that_has_it_all() {
    const NAME: &str = "otlp::index";
    let lock = Mutex::named(NAME, 0);
    for _ in 0..7 {
        *lock.lock() += 1;
    }
    let partly = ExportMetricsServiceResponse {
        partial_success: Some(ExportMetricsPartialSuccess {
            rejected_data_points: 3,
            error_message: "too old".to_owned(),
        }),
    };
    let (address, requests) = http(vec![
        ("503 Service Unavailable", Vec::new()),
        ("400 Bad Request", b"no".to_vec()),
        ("200 OK", partly.encode_to_vec()),
        ("200 OK", Vec::new()),
    ]);
    for has_gzip in ["none", "gzip"] {
        let settings = settings(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}/")),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b"),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", has_gzip),
            ("OTEL_METRIC_EXPORT_INTERVAL", "3600000"),
        ]);
        // Two of them, each of which sends once, at its end.
        let statuses = [(); 2].map(|()| Exporter::start(settings.clone()).unwrap().shut_down());
        let received = [(); 2].map(|()| requests.recv_timeout(LIMIT).unwrap());
        for (head, message) in &received {
            assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
            assert!(
                head.contains("\r\ncontent-type: application/x-protobuf\r\n"),
                "{head}"
            );
            assert!(head.contains("\r\nx-key: a b\r\n"), "{head}");
            assert_eq!(head.contains("gzip\r\n"), has_gzip == "gzip", "{head}");
            assert_eq!(sum(message, "acquisitions", NAME), 7);
        }
        let [one, two] = statuses;
        if has_gzip == "none" {
            assert_eq!([one.failed, two.failed], [1, 1]);
            assert!(one.problem.unwrap().ends_with("/v1/metrics answers 503"));
        } else {
            assert_eq!([one.taken, two.taken], [1, 1]);
            assert_eq!((one.rejected, two.problem), (3, None));
            assert!(one.problem.unwrap().contains("too old"));
        }
    }
}

#[test]
fn what_is_off_sends_nothing_and_what_is_missing_is_said() {
    let off = settings(&[("OTEL_SDK_DISABLED", "true")]);
    let exporter = Exporter::start(off).unwrap();
    assert_eq!(exporter.shut_down().failed, 0);
    if !cfg!(feature = "otlp-tls") {
        let with_tls = settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost")]);
        let error = Exporter::start(with_tls).unwrap_err().to_string();
        assert!(error.contains("`otlp-tls`"), "{error}");
    }
}

fn message(snapshot: &Snapshot) -> Message {
    let series = Series::of(snapshot, 3);
    let message = request(snapshot, &series, &[], UNIX_EPOCH, SystemTime::now());
    // As a receiver has it.
    Message::decode(&*message.encode_to_vec()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_received_is_what_the_snapshot_says(snapshot in support::snapshots()) {
        let message = message(&snapshot);
        for lock in snapshot.locks() {
            let of_modes = |of: fn(&instrumented_lock::ModeSnapshot) -> u64| {
                lock.modes().map(|(_, mode)| u128::from(of(mode))).sum::<u128>()
            };
            let seen = |name: &str| sum(&message, name, lock.name());
            prop_assert_eq!(seen("acquisitions"), of_modes(instrumented_lock::ModeSnapshot::acquisitions));
            prop_assert_eq!(seen("contended"), of_modes(instrumented_lock::ModeSnapshot::contended));
            prop_assert_eq!(seen("try_failures"), of_modes(instrumented_lock::ModeSnapshot::try_failures));
            prop_assert_eq!(seen("timeouts"), of_modes(instrumented_lock::ModeSnapshot::timeouts));
            prop_assert_eq!(seen("waiting"), of_modes(|mode| mode.waiting().count()));
            for (mode, figures) in lock.modes() {
                for (name, distribution) in [("hold", figures.hold()), ("wait", figures.wait())] {
                    if let Some(point) = histogram(&message, name, lock.name(), &mode.to_string()) {
                        assert_same(point, distribution);
                    } else {
                        prop_assert_eq!(distribution.count(), 0);
                    }
                }
            }
            let is_used = !numbers(&message, "live_locks", lock.name()).is_empty();
            if is_used {
                let waited = lock.call_sites().iter().map(|site| site.blocked_total().as_nanos());
                prop_assert_eq!(seen("site_wait"), waited.sum::<u128>());
                let blamed = lock.call_sites().iter().map(|site| site.blame().as_nanos());
                prop_assert_eq!(seen("blame"), blamed.sum::<u128>());
                prop_assert_eq!(seen("hand_over"), lock.hand_over().as_nanos());
            }
        }
    }
}

#[test]
fn a_thousand_classes_are_a_message_of_some_megabytes() {
    let snapshot = support::many(1000);
    let start = Instant::now();
    let message = message(&snapshot);
    println!("{} bytes in {:?}", message.encoded_len(), start.elapsed());
    assert_eq!(
        sum(&message, "acquisitions", "storage::module_7::Store::index"),
        70
    );
    assert!(
        message.encoded_len() < 4_000_000,
        "{}",
        message.encoded_len()
    );
}
