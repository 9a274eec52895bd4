//! Spans as operations, with the feature `tracing-layer`.

use super::{Operation, set_current};
use crate::stats;
use std::cell::RefCell;
use std::fmt;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer of `tracing_subscriber` that makes spans [operations](mod@crate::operation): while a span is entered, what
/// its thread acquires belongs to the operation of that name.
///
/// A future that is instrumented with a span enters it whenever it is polled, so an operation goes with it across
/// `.await` and from thread to thread. [Opened](crate::OperationSnapshot::opened) counts how often a span was
/// made, not how often it was entered.
///
/// Every span is one, the innermost counts. To choose, add a filter of `tracing_subscriber`:
///
/// ```
/// use instrumented_lock::operation::layer::OperationLayer;
/// use instrumented_lock::{Mutex, instrumented, registry};
/// use tracing_subscriber::filter::{LevelFilter, Targets};
/// use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
///
/// #[instrumented]
/// static SESSIONS: Mutex<u32> = Mutex::new(0);
///
/// let own = Targets::new().with_target(module_path!(), LevelFilter::INFO);
/// let operations = OperationLayer::new().named_by("route").with_filter(own);
/// tracing::subscriber::with_default(tracing_subscriber::registry().with(operations), || {
///     tracing::info_span!("request", route = "GET /sessions").in_scope(|| *SESSIONS.lock() += 1);
/// });
///
/// # if cfg!(feature = "stats") {
/// let snapshot = registry::snapshot();
/// let get = snapshot.operation("GET /sessions").unwrap();
/// assert_eq!(get.opened(), 1);
/// assert_eq!(get.lock("SESSIONS").unwrap().acquisitions(), 1);
/// # }
/// ```
///
/// # Cost
///
/// Some ten nanoseconds to enter and leave a span, beside what `tracing_subscriber` takes; a new span looks its
/// name up, under a lock of this library's own. What a span that has no name of an operation yet, the 128th and
/// all later ones, is `(other)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperationLayer {
    field: Option<&'static str>,
}

impl OperationLayer {
    /// Spans are operations by their names.
    pub fn new() -> Self {
        OperationLayer::default()
    }

    /// Those that are made with a field of this name are operations by its value, as a name of requests in
    /// general, such as the route. Not one that differs from request to request: 127 names are told apart.
    #[must_use = "the layer is returned"]
    pub fn named_by(self, field: &'static str) -> Self {
        OperationLayer { field: Some(field) }
    }
}

/// What a span of this library's layer has.
#[derive(Clone, Copy)]
struct OfSpan(Operation);

thread_local! {
    /// The spans that the thread is in, and the number of the operation before each.
    static ENTERED: RefCell<Vec<(Id, u8)>> = const { RefCell::new(Vec::new()) };
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OperationLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let value = self.field.and_then(|name| value_of(attributes, name));
        let operation = match &value {
            Some(value) => Operation::named(value),
            None => Operation::of(span.name()),
        };
        operation.count();
        span.extensions_mut().replace(OfSpan(operation));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let of_span = span.extensions().get::<OfSpan>().copied();
        let Some(OfSpan(operation)) = of_span.filter(|OfSpan(operation)| operation.number != 0)
        else {
            return;
        };
        let before = stats::this_thread().scope().operation();
        // A thread that is being torn down belongs to none.
        let entered = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            entered.push((id.clone(), before));
        });
        if entered.is_ok() {
            set_current(operation.number);
        }
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let now = ENTERED.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let place = entered.iter().rposition(|(of, _)| of == id)?;
            let (_, before) = entered.remove(place);
            match entered.get_mut(place) {
                // Left before one that was entered later: that goes on.
                Some((_, before_next)) => {
                    *before_next = before;
                    None
                }
                None => Some(before),
            }
        });
        if let Ok(Some(before)) = now {
            set_current(before);
        }
    }
}

/// What stands in this field of a new span.
fn value_of(attributes: &Attributes<'_>, name: &'static str) -> Option<String> {
    struct Value {
        name: &'static str,
        found: Option<String>,
    }

    impl Visit for Value {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == self.name {
                self.found = Some(value.to_owned());
            }
        }

        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            if field.name() == self.name {
                self.found = Some(format!("{value:?}"));
            }
        }
    }

    let mut value = Value { name, found: None };
    attributes.record(&mut value);
    value.found
}
