//! An HTTP endpoint: metrics, the page, JSON and profiles.
//!
//! | path | |
//! |---|---|
//! | `/metrics` | [`prometheus`](crate::prometheus), in the format that is asked for; native histograms where they are |
//! | `/locks` | the [page](crate::html), refreshing itself |
//! | `/locks.json` | the snapshot as JSON |
//! | `/locks/table`, `/locks/lock_stat` | the library's reports |
//! | `/debug/pprof/mutex`, `/debug/pprof/block` | [profiles](crate::pprof) |
//! | `/debug/folded/mutex`, `/debug/folded/block` | [folded stacks](crate::folded) |
//! | `/debug/timeline` | a [timeline](instrumented_lock::timeline) as a trace: of one second unless the query says otherwise; 409 while another one is recorded |
//!
//! All but `/metrics` take `?seconds=N`, up to 60: then they are of the next N seconds.
//!
//! ```no_run
//! let server = instrumented_lock_export::serve::serve("127.0.0.1:6070")?;
//! println!("http://{}/locks", server.address());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program that has an axum server merges the [`router`] into its own.
//!
//! # Limits
//!
//! [`serve`] answers `GET` and `HEAD` on loopback addresses, one request a connection, 16 connections at a
//! time; what comes beyond that is closed at once. A request's head has five seconds and 16 KiB, its body is
//! not read, and after 75 seconds a connection is closed whatever it does. All of it runs on one thread, and
//! at most two more while answers are made. A browser is answered only under `localhost` or a number, so that
//! a page of somebody else's cannot read it by giving this machine a name.

mod router;

pub use router::router;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime;
use tokio::sync::{Semaphore, oneshot};

/// Connections at a time.
const CONNECTIONS: usize = 16;

/// How long a request's head may take to come, and how large it may be.
const HEAD: Duration = Duration::from_secs(5);
const HEAD_SIZE: usize = 16 * 1024;

/// How long an answer may take to be made and read, beyond the longest that one may be about.
const ANSWER: Duration = Duration::from_secs(10);

/// After an error that is nobody's connection's, as when there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Who is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Also who comes from other machines. Names of locks and lines of source are in every answer.
    pub beyond_loopback: bool,
}

/// An endpoint that runs until this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Where it listens; of a port 0 the one that was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets it run as long as the process.
    pub fn detach(mut self) {
        if let Some(stop) = self.stop.take() {
            // Never sent, and never dropped.
            std::mem::forget(stop);
        }
        self.thread = None;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Dropping the sender is the signal.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends at once: nobody is waited for.
            let _ = thread.join();
        }
    }
}

/// Serves on a thread of its own, on a loopback address.
///
/// # Errors
///
/// Where the address cannot be listened at, or is not loopback.
pub fn serve(address: impl ToSocketAddrs) -> io::Result<Server> {
    serve_with(address, Options::default())
}

/// Serves on a thread of its own, with options.
///
/// # Errors
///
/// Where the address cannot be listened at, or is not loopback and not [allowed](Options::beyond_loopback) to
/// be something else.
pub fn serve_with(address: impl ToSocketAddrs, options: Options) -> io::Result<Server> {
    let addresses: Vec<_> = address.to_socket_addrs()?.collect();
    let is_beyond = |address: &SocketAddr| !address.ip().is_loopback();
    if !options.beyond_loopback
        && let Some(beyond) = addresses.iter().find(|at| is_beyond(at))
    {
        let message = format!("{beyond} is not loopback; see `Options::beyond_loopback`");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let listener = TcpListener::bind(&*addresses)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(2)
        .build()?;
    let mut router = router();
    if !options.beyond_loopback {
        router = router.layer(middleware::from_fn(only_local_names));
    }
    let router = router.layer(middleware::map_response(with_headers));
    let (stop, stopped) = oneshot::channel();
    let builder = thread::Builder::new().name("lock-endpoint".to_owned());
    let thread = builder.spawn(move || {
        runtime.block_on(async {
            tokio::spawn(accept(listener, router));
            // An error is that the sender has been dropped, which is the signal.
            let _ = stopped.await;
        });
        runtime.shutdown_background();
    })?;
    Ok(Server {
        address,
        stop: Some(stop),
        thread: Some(thread),
    })
}

async fn accept(listener: TcpListener, router: Router) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Who comes while all are taken is closed, not kept.
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(HEAD_SIZE)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // Whatever has gone wrong with it is the client's.
            let _ = tokio::time::timeout(HEAD + router::LONGEST + ANSWER, connection).await;
            drop(permit);
        });
    }
}

/// A page of somebody else's, in a browser on this machine, has us under a name of its own.
async fn only_local_names(request: axum::extract::Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    if is_local(host) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "not under this name\n").into_response()
    }
}

/// Whether a `Host` is this machine by its number, or `localhost`; with or without a port.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    let number = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || number.parse::<IpAddr>().is_ok()
}

async fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn names_of_this_machine_are_known() {
        for local in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:6070",
            "[::1]:6070",
            "[::1]",
        ] {
            assert!(is_local(local), "{local}");
        }
        for other in [
            "",
            "example.org",
            "localhost.example.org:80",
            "127.0.0.1.example.org",
        ] {
            assert!(!is_local(other), "{other}");
        }
    }
}
