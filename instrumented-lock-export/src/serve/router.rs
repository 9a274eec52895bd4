//! The answers, as a router for axum.

use crate::prometheus::{Format, Series, native};
use crate::{folded, html, pprof, prometheus};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use instrumented_lock::{Snapshot, registry, report, timeline};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The longest interval that a request may wait for.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

/// How often the page loads itself again, in seconds.
const REFRESH: u32 = 5;

const INDEX: &str = "\
/metrics                            for Prometheus
/locks                              a page that refreshes itself
/locks.json                         the snapshot
/locks/table                        the table, as text
/locks/lock_stat                    in the format of /proc/lock_stat
/debug/pprof/mutex?seconds=10       a profile of what was waited for
/debug/pprof/block?seconds=10       a profile of where it was waited
/debug/pprof/operations?seconds=10  a profile of what was waited by operation
/debug/pprof/instances?seconds=10   a profile of which lock of a class was waited for
/debug/folded/mutex?seconds=10      the same as folded stacks
/debug/folded/block?seconds=10
/debug/folded/operations?seconds=10
/debug/folded/instances?seconds=10
/debug/timeline?seconds=1           waits and holds as a trace for ui.perfetto.dev
`?seconds=N`, up to 60, is of the next N seconds, and goes with all but /metrics.
";

/// The endpoint as a router, to be merged into, or nested in, that of a program.
///
/// It answers `GET` and `HEAD`. Snapshots and what is made of them run on tokio's threads for blocking work.
/// Who may see it is for the program to say: names of locks and lines of source are in every answer.
///
/// ```no_run
/// let app: axum::Router = axum::Router::new().merge(instrumented_lock_export::serve::router());
/// ```
pub fn router() -> Router {
    let pprof = |what: fn(&Snapshot) -> Vec<u8>, name: &'static str| {
        get(move |uri: Uri| async move {
            let answer = of_interval(&uri, what).await?;
            let file = format!("attachment; filename=\"{name}.pb.gz\"");
            let headers = [
                (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
                (header::CONTENT_DISPOSITION, file),
            ];
            Ok::<_, Failure>((headers, answer))
        })
    };
    let text = |what: fn(&Snapshot) -> String, kind: &'static str| {
        get(move |uri: Uri| async move {
            let answer = of_interval(&uri, what).await?;
            Ok::<_, Failure>(([(header::CONTENT_TYPE, kind)], answer))
        })
    };
    let plain = "text/plain; charset=utf-8";
    Router::new()
        .route("/", get(([(header::CONTENT_TYPE, plain)], INDEX)))
        .route("/metrics", get(metrics))
        .route("/locks", text(page, "text/html; charset=utf-8"))
        .route("/locks.json", text(report::json, "application/json"))
        .route("/locks/table", text(report::table, plain))
        .route("/locks/lock_stat", text(report::lock_stat, plain))
        .route("/debug/pprof/mutex", pprof(pprof::mutex, "mutex"))
        .route("/debug/pprof/block", pprof(pprof::block, "block"))
        .route(
            "/debug/pprof/operations",
            pprof(pprof::operations, "operations"),
        )
        .route(
            "/debug/pprof/instances",
            pprof(pprof::instances, "instances"),
        )
        .route("/debug/timeline", get(trace))
        .route("/debug/folded/mutex", text(folded::blame, plain))
        .route("/debug/folded/block", text(folded::waits, plain))
        .route("/debug/folded/operations", text(folded::operations, plain))
        .route("/debug/folded/instances", text(folded::instances, plain))
        .with_state(Arc::default())
}

fn page(snapshot: &Snapshot) -> String {
    html::page_with(
        snapshot,
        &html::Options {
            refresh: REFRESH,
            ..html::Options::default()
        },
    )
}

/// Which lines have been labels so far; `None` before the first scrape.
type Told = Arc<Mutex<Option<Series>>>;

async fn metrics(State(told): State<Told>, headers: HeaderMap) -> Result<Response, Failure> {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let accept = accept.unwrap_or_default();
    let is_native = native::is_preferred(accept);
    let format = Format::accepted(accept);
    let body = blocking(move || {
        let snapshot = registry::snapshot();
        // A panic in between has left them whole.
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let series = told.get_or_insert_with(|| Series::of(&snapshot, Series::DEFAULT));
        series.add(&snapshot);
        let series = series.clone();
        drop(told);
        if is_native {
            native::protobuf(&snapshot, &series)
        } else {
            prometheus::text(&snapshot, &series, format).into_bytes()
        }
    })
    .await?;
    let kind = if is_native {
        native::CONTENT_TYPE
    } else {
        format.content_type()
    };
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

/// How long a timeline is where the query does not say it.
const TIMELINE: Duration = Duration::from_secs(1);

/// A timeline of the next `seconds` that the query names.
async fn trace(uri: Uri) -> Result<impl IntoResponse, Failure> {
    let length = interval(uri.query().unwrap_or_default())?.unwrap_or(TIMELINE);
    let recording = blocking(timeline::start).await?;
    let recording =
        recording.map_err(|refused| Failure(StatusCode::CONFLICT, format!("{refused}\n")))?;
    tokio::time::sleep(length).await;
    let trace = blocking(move || recording.stop().to_trace()).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"locks.trace.json\"",
        ),
    ];
    Ok((headers, trace))
}

/// What is made of the run so far, or of the next `seconds` that the query names.
async fn of_interval<T, F>(uri: &Uri, what: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce(&Snapshot) -> T + Send + 'static,
{
    let Some(length) = interval(uri.query().unwrap_or_default())? else {
        return blocking(move || what(&registry::snapshot())).await;
    };
    let earlier = blocking(registry::snapshot).await?;
    tokio::time::sleep(length).await;
    blocking(move || what(&registry::snapshot().since(&earlier))).await
}

fn interval(query: &str) -> Result<Option<Duration>, Failure> {
    let seconds = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("seconds="));
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    let length = seconds.parse().ok().and_then(|seconds: f64| {
        let length = Duration::try_from_secs_f64(seconds).ok()?;
        (length <= LONGEST).then_some(length)
    });
    let length = length.ok_or_else(|| {
        let most = LONGEST.as_secs();
        Failure(
            StatusCode::BAD_REQUEST,
            format!("`seconds` is a number from 0 to {most}\n"),
        )
    })?;
    Ok((!length.is_zero()).then_some(length))
}

async fn blocking<T: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(make)
        .await
        .map_err(|error| Failure(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")))
}

/// An answer that is none.
struct Failure(StatusCode, String);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Body::from(self.1)).into_response()
    }
}
