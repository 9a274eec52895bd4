//! [`Settings`]: where to, how often, whose; by default from the environment, in OpenTelemetry's words.

use crate::prometheus::Series;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Protobuf in `POST` requests: `http/protobuf`.
    Http,
    /// `grpc`.
    Grpc,
}

/// What an [`Exporter`](super::start) does.
///
/// | variable | | where there is none |
/// |---|---|---|
/// | `OTEL_SDK_DISABLED` | `true`: nothing is sent | `false` |
/// | `OTEL_METRICS_EXPORTER` | `none`: nothing is sent | `otlp` |
/// | `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` | the address as it is | the next one |
/// | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector; over HTTP `/v1/metrics` is added | `http://localhost:4318`, of gRPC `http://localhost:4317` |
/// | `OTEL_EXPORTER_OTLP_PROTOCOL` | `http/protobuf` or `grpc` | the first of the two that is compiled in |
/// | `OTEL_EXPORTER_OTLP_HEADERS` | `name=value,name=value`, values percent-encoded | none |
/// | `OTEL_EXPORTER_OTLP_COMPRESSION` | `gzip` or `none` | `none` |
/// | `OTEL_EXPORTER_OTLP_TIMEOUT` | milliseconds for a message | 10000 |
/// | `OTEL_METRIC_EXPORT_INTERVAL` | milliseconds from one message to the next | 60000 |
/// | `OTEL_SERVICE_NAME` | `service.name` | that of the next one, or `unknown_service:` and the program |
/// | `OTEL_RESOURCE_ATTRIBUTES` | `name=value,name=value`, values percent-encoded | none |
///
/// Of `PROTOCOL`, `HEADERS`, `COMPRESSION` and `TIMEOUT` there are forms with `OTLP_METRICS_` too, which come
/// first. A variable that is empty is as none. `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE` is not
/// heeded: what is sent is cumulative. Certificates are those that come with the feature `otlp-tls`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Whether anything is sent at all.
    pub is_enabled: bool,
    /// Over what.
    pub protocol: Protocol,
    /// Where to; over HTTP with the path.
    pub endpoint: String,
    /// What goes with every message, as for authorization. Not shown by `Debug`.
    pub headers: Vec<(String, String)>,
    /// How long a message may take.
    pub timeout: Duration,
    /// From one message to the next.
    pub interval: Duration,
    /// Whether messages are compressed.
    pub has_gzip: bool,
    /// Whose figures they are. `service.instance.id` is added where it is not there: the number of the process
    /// and when that asked for it.
    pub resource: Vec<(String, String)>,
    /// How many lines, operations and locks of a class are told apart, see [`Series`](super::Series).
    pub series: usize,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Settings")
            .field("is_enabled", &self.is_enabled)
            .field("protocol", &self.protocol)
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .field("interval", &self.interval)
            .field("has_gzip", &self.has_gzip)
            .field("resource", &self.resource)
            .field("series", &self.series)
            .finish()
    }
}

/// A variable that says nothing that is understood: a sentence with its name and what it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// The first protocol that is compiled in.
const PROTOCOL: Protocol = if cfg!(feature = "otlp-http") || !cfg!(feature = "otlp-grpc") {
    Protocol::Http
} else {
    Protocol::Grpc
};

impl Settings {
    /// Those of the process' environment.
    ///
    /// # Errors
    ///
    /// Where a variable says nothing that is understood.
    pub fn from_environment() -> Result<Self, Invalid> {
        Self::from_variables(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into())
        })
    }

    /// Those of variables that come from elsewhere; `None` is a variable that is not there.
    ///
    /// # Errors
    ///
    /// Where a variable says nothing that is understood.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, Invalid> {
        let get = |name: &str| {
            let value = get(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        // That for metrics first, and which of the two it is.
        let of_otlp = |what: &str| {
            let names = ["METRICS_", ""].map(|of| format!("OTEL_EXPORTER_OTLP_{of}{what}"));
            names
                .into_iter()
                .find_map(|name| get(&name).map(|value| (name, value)))
        };
        let protocol = match of_otlp("PROTOCOL") {
            None => PROTOCOL,
            Some((_, value)) if value == "grpc" => Protocol::Grpc,
            Some((_, value)) if value == "http/protobuf" => Protocol::Http,
            Some((name, value)) => return Err(wrong(&name, &value, "`http/protobuf` or `grpc`")),
        };
        let has_gzip = match of_otlp("COMPRESSION") {
            None => false,
            Some((_, value)) if value == "none" => false,
            Some((_, value)) if value == "gzip" => true,
            Some((name, value)) => return Err(wrong(&name, &value, "`gzip` or `none`")),
        };
        let headers = match of_otlp("HEADERS") {
            None => Vec::new(),
            Some((name, value)) => {
                pairs(&value).ok_or_else(|| {
                    // What is in it is nobody's business.
                    Invalid(format!("{name} is not of the form `name=value,name=value`"))
                })?
            }
        };
        let timeout = of_otlp("TIMEOUT");
        let timeout = timeout.map_or(Ok(10_000), |(name, value)| milliseconds(&name, &value))?;
        let interval = "OTEL_METRIC_EXPORT_INTERVAL";
        let interval = get(interval).map_or(Ok(60_000), |value| milliseconds(interval, &value))?;
        let is_off = get("OTEL_SDK_DISABLED")
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || get("OTEL_METRICS_EXPORTER").is_some_and(|value| value == "none");
        Ok(Settings {
            is_enabled: !is_off,
            protocol,
            endpoint: endpoint(&get, protocol)?,
            headers,
            timeout: Duration::from_millis(timeout),
            interval: Duration::from_millis(interval),
            has_gzip,
            resource: resource(&get)?,
            series: Series::DEFAULT,
        })
    }
}

fn wrong(name: &str, value: &str, expected: &str) -> Invalid {
    Invalid(format!("{name} is `{value}`; it may be {expected}"))
}

fn milliseconds(name: &str, value: &str) -> Result<u64, Invalid> {
    let parsed = value.parse().ok().filter(|n| (1..=86_400_000).contains(n));
    parsed.ok_or_else(|| wrong(name, value, "a number of milliseconds from 1 to 86400000"))
}

fn endpoint(get: &impl Fn(&str) -> Option<String>, protocol: Protocol) -> Result<String, Invalid> {
    let (name, of_all) = (
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    );
    let (name, address, is_whole) = match (get(name), get(of_all)) {
        (Some(address), _) => (name, address, true),
        (None, Some(address)) => (of_all, address, false),
        (None, None) if protocol == Protocol::Http => {
            (of_all, "http://localhost:4318".to_owned(), false)
        }
        (None, None) => (of_all, "http://localhost:4317".to_owned(), false),
    };
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| address.strip_prefix(scheme));
    if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
        return Err(wrong(
            name,
            &address,
            "`http://HOST:PORT` or the same with https://",
        ));
    }
    if protocol == Protocol::Grpc || is_whole {
        return Ok(address);
    }
    Ok(format!("{}/v1/metrics", address.trim_end_matches('/')))
}

fn resource(get: &impl Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, Invalid> {
    let name = "OTEL_RESOURCE_ATTRIBUTES";
    let mut resource = match get(name) {
        None => Vec::new(),
        Some(value) => {
            pairs(&value).ok_or_else(|| wrong(name, &value, "`name=value,name=value`"))?
        }
    };
    let has =
        |resource: &[(String, String)], name: &str| resource.iter().any(|(key, _)| key == name);
    if let Some(service) = get("OTEL_SERVICE_NAME") {
        resource.retain(|(key, _)| key != "service.name");
        resource.push(("service.name".to_owned(), service));
    }
    if !has(&resource, "service.name") {
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(|path| path.file_name());
        let name = program.map_or_else(
            || "unknown_service".to_owned(),
            |name| format!("unknown_service:{}", name.to_string_lossy()),
        );
        resource.push(("service.name".to_owned(), name));
    }
    if !has(&resource, "service.instance.id") {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let id = format!(
            "{}-{}",
            std::process::id(),
            now.unwrap_or_default().as_nanos()
        );
        resource.push(("service.instance.id".to_owned(), id));
    }
    Ok(resource)
}

/// `name=value,name=value`; values may be percent-encoded.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let decoded = |text: &str| {
            let text = percent_decode_str(text.trim()).decode_utf8().ok()?;
            Some(text.into_owned())
        };
        let name = decoded(name).filter(|name| !name.is_empty())?;
        Some((name, decoded(value)?))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Settings, Invalid> {
        Settings::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn get<'a>(settings: &'a Settings, name: &str) -> &'a str {
        let found = settings.resource.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    #[test]
    fn an_empty_environment_is_a_collector_on_this_machine() {
        let settings = of(&[("OTEL_EXPORTER_OTLP_HEADERS", " ")]).unwrap();
        let endpoint = match settings.protocol {
            Protocol::Http => "http://localhost:4318/v1/metrics",
            Protocol::Grpc => "http://localhost:4317",
        };
        assert_eq!(settings.endpoint, endpoint);
        assert_eq!(settings.interval, Duration::from_secs(60));
        assert!(settings.is_enabled && settings.headers.is_empty() && !settings.has_gzip);
        assert!(get(&settings, "service.name").starts_with("unknown_service:"));
        let id = get(&settings, "service.instance.id");
        assert!(id.starts_with(&format!("{}-", std::process::id())), "{id}");
    }

    #[test]
    fn variables_are_read_as_open_telemetry_has_them() {
        let settings = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:1/base/"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"),
            (
                "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
                "authorization=Bearer%20x%2Cy, b = c",
            ),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "250"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "service.name=old,service.instance.id=7,deployment.environment.name=a%3Db",
            ),
            ("OTEL_SERVICE_NAME", "shop"),
        ])
        .unwrap();
        assert_eq!(settings.endpoint, "https://collector:1/base/v1/metrics");
        let headers: Vec<_> = settings.headers.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(headers, [("authorization", "Bearer x,y"), ("b", "c")]);
        assert_eq!(settings.timeout, Duration::from_millis(1500));
        assert_eq!(settings.interval, Duration::from_millis(250));
        assert!(settings.has_gzip);
        assert_eq!(get(&settings, "service.name"), "shop");
        assert_eq!(get(&settings, "service.instance.id"), "7");
        assert_eq!(get(&settings, "deployment.environment.name"), "a=b");
        assert!(!format!("{settings:?}").contains("Bearer"), "{settings:?}");
        let grpc = of(&[
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:2"),
            ("OTEL_SDK_DISABLED", "TRUE"),
        ])
        .unwrap();
        assert_eq!(
            (grpc.protocol, &*grpc.endpoint),
            (Protocol::Grpc, "http://collector:2")
        );
        assert!(!grpc.is_enabled);
        let whole = of(&[(
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "http://collector:3/x",
        )]);
        assert_eq!(whole.unwrap().endpoint, "http://collector:3/x");
    }

    #[test]
    fn what_is_not_understood_is_a_sentence_with_the_name_of_the_variable() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=%ff"),
        ] {
            let said = of(&[(name, value)]).unwrap_err().to_string();
            assert!(said.starts_with(name) && !said.contains("secret"), "{said}");
        }
    }
}
