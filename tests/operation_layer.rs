//! Spans of `tracing` as operations.

use instrumented_lock::operation::layer::OperationLayer;
use instrumented_lock::{Mutex, OperationLock, instrumented, operation, registry};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;
use tracing::instrument::WithSubscriber as _;
use tracing::{Instrument as _, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

#[instrumented(prefix = "layer")]
#[derive(Default)]
struct Store {
    spans: Mutex<u32>,
    tasks: Mutex<u32>,
}

fn subscriber() -> impl tracing::Subscriber + Send + Sync {
    tracing_subscriber::registry().with(OperationLayer::new().named_by("route"))
}

fn had(operation: &str, lock: &str) -> (u64, u64) {
    let snapshot = registry::snapshot();
    let found = snapshot.operation(operation);
    found.map_or((0, 0), |found| {
        let lock = found.lock(lock);
        (found.opened(), lock.map_or(0, OperationLock::acquisitions))
    })
}

#[test]
fn spans_are_operations_by_name_or_field_and_nest_with_others() {
    let store = Store::default();
    let lock = || drop(store.spans.lock());
    tracing::subscriber::with_default(subscriber(), || {
        let _base = operation("layer: base");
        lock();
        let request = info_span!("layer: request");
        request.in_scope(|| {
            lock();
            info_span!("layer: request", route = "layer: GET").in_scope(lock);
            let _own = operation("layer: own");
            lock();
        });
        request.in_scope(lock);
        lock();
        // Left in another order than entered.
        let (a, b) = (info_span!("layer: a"), info_span!("layer: b"));
        let a = a.entered();
        let b = b.entered();
        drop(a);
        lock();
        drop(b);
        lock();
    });
    lock();
    assert_eq!(had("layer: base", "Store::spans"), (1, 3));
    assert_eq!(had("layer: request", "Store::spans"), (1, 2));
    assert_eq!(had("layer: GET", "Store::spans"), (1, 1));
    assert_eq!(had("layer: own", "Store::spans"), (1, 1));
    assert_eq!(had("layer: a", "Store::spans"), (1, 0));
    assert_eq!(had("layer: b", "Store::spans"), (1, 1));
}

/// Pending once.
struct Yields(bool);

impl Future for Yields {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[test]
fn a_span_goes_with_its_future_across_await_and_threads() {
    static STORE: std::sync::LazyLock<Store> = std::sync::LazyLock::new(Store::default);
    async fn handle() {
        for _ in 0..5 {
            drop(STORE.tasks.lock());
            Yields(false).await;
            drop(STORE.tasks.lock());
        }
    }
    let make = |name: &str| {
        let span = info_span!("layer: task", route = name);
        Box::pin(handle().instrument(span).with_current_subscriber())
    };
    let (mut a, mut b) =
        tracing::subscriber::with_default(subscriber(), || (make("layer: A"), make("layer: B")));
    // In turn, each poll on another thread.
    let mut done = [false; 2];
    for _ in 0..6 {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut context = Context::from_waker(Waker::noop());
                if !done[0] {
                    done[0] = pin!(&mut a).poll(&mut context).is_ready();
                }
                drop(STORE.tasks.lock());
                if !done[1] {
                    done[1] = pin!(&mut b).poll(&mut context).is_ready();
                }
                drop(STORE.tasks.lock());
            });
        });
    }
    assert_eq!(done, [true; 2]);
    assert_eq!(had("layer: A", "Store::tasks"), (1, 10));
    assert_eq!(had("layer: B", "Store::tasks"), (1, 10));
    let snapshot = registry::snapshot();
    assert_eq!(
        snapshot
            .lock("Store::tasks")
            .unwrap()
            .write()
            .acquisitions(),
        32
    );
}
