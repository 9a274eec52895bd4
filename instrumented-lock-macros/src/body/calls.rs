//! Calls: what they do with guards, and the closures that run in them.

use super::bind::Origin;
use super::chain::{self, Constructor, Transformed};
use super::finding::{Reading, Site};
use super::lock::{self, bare, names_of};
use super::methods::{self, Runs};
use super::place::Place;
use super::state::State;
use super::value::{Kind, Value};
use super::walker::Walker;
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall};

impl Walker<'_> {
    pub(super) fn kind(&self, expr: &Expr) -> Kind {
        methods::kind(expr, &|expr| {
            if let Some(found) = self.acquire(expr) {
                let is_result = self.settings.reading == Reading::Poisoning;
                return Some(if found.is_try || is_result {
                    Kind::Optional
                } else {
                    Kind::Data
                });
            }
            if self.is_guard(expr) {
                return Some(Kind::Data);
            }
            match self.state.known(&chain::local(expr)?)? {
                Value::Guard(_) => Some(Kind::Data),
                Value::Known(kind) => Some(*kind),
                _ => None,
            }
        })
    }

    pub(super) fn method_call(&mut self, call: &ExprMethodCall) -> Value {
        let name = call.method.to_string();
        let name = name.as_str();
        let kind = self.kind(&call.receiver);
        let is_iterator = kind == Kind::Iterator;
        let is_consumed = self.is_consumed && is_iterator;
        let collects = is_consumed && self.collects;
        self.is_consumed = is_iterator && (is_consumed || methods::consumes(name));
        self.collects = is_iterator && name == "collect";
        let receiver = self.receiver(call, name);
        self.is_consumed = false;
        self.may_be_poisoning |= matches!(receiver, Value::Guard(_))
            && (methods::unwraps(name) || methods::passes(name));
        let on_itself = matches!(&receiver, Value::Lock(place) if place.is_whole());

        let mut arguments = Vec::new();
        let mut given = Value::Other;
        for argument in &call.args {
            if let Expr::Closure(closure) = bare(argument)
                && match methods::runs(name, kind, closure.inputs.len()) {
                    Runs::AtOnce => true,
                    Runs::Lazily => is_consumed,
                    Runs::Later => has_a_value(&receiver),
                }
            {
                let input = if has_a_value(&receiver) && methods::gives_the_value(name) {
                    self.unwrapped(&receiver).unwrap_or(Value::Other)
                } else if is_iterator {
                    self.element_of(&call.receiver)
                } else {
                    Value::Other
                };
                given = self.at_once(closure, input);
                if collects && given.has_guards() {
                    // The first one is in the collection when the second one is taken.
                    let input = self.element_of(&call.receiver);
                    let second = self.at_once(closure, input);
                    self.consume(&second);
                }
                arguments.push(given.clone());
            } else {
                self.is_consumed = methods::consumes_arguments(name);
                arguments.push(self.eval(argument));
                self.is_consumed = false;
            }
        }
        self.is_consumed = is_consumed;

        if on_itself {
            self.across_call(call, name);
        }
        let value = match &receiver {
            Value::Lock(place) if place.is_whole() => self.returned(call, name, place),
            Value::Wrapped(_) | Value::Maybe(_) if name == "unwrap_or_else" => {
                self.or_else(&receiver, &given, call.args.first())
            }
            Value::Wrapped(_) | Value::Maybe(_) if methods::unwraps(name) => {
                let inner = self.unwrapped(&receiver);
                let arguments = if call.args.is_empty() { "" } else { ".." };
                for guard in self.state.guards_in(&receiver) {
                    guard.call = format!("{}.{name}({arguments})", guard.call);
                }
                inner
            }
            Value::Wrapped(_) | Value::Maybe(_) if methods::passes(name) => Some(receiver.clone()),
            Value::Bag(_) if is_storing(name) => {
                self.store(&call.receiver, &mut arguments);
                None
            }
            Value::Bag(_) | Value::Wrapped(_) | Value::Maybe(_) if !is_looking(name) => {
                match chain::local(&call.receiver) {
                    // What it says of the variable, or does with it, is not known.
                    Some(name) => self.moved(&name),
                    None if !name.starts_with("is_") && !name.starts_with("as_") => {
                        self.consume(&receiver);
                    }
                    None => {}
                }
                None
            }
            _ => None,
        };
        for argument in &arguments {
            if value.as_ref() != Some(argument) {
                self.consume(argument);
            }
        }
        value.unwrap_or(Value::Other)
    }

    /// An element of what is iterated: one lock, another one each time.
    pub(super) fn element_of(&self, iterable: &Expr) -> Value {
        let list = match bare(iterable) {
            Expr::Reference(list) => &list.expr,
            Expr::MethodCall(call)
                if call.args.is_empty()
                    && matches!(call.method.to_string().as_str(), "iter" | "iter_mut") =>
            {
                &call.receiver
            }
            _ => return Value::Other,
        };
        match lock::path(list, &self.state) {
            Some(place) if !place.is_whole() => Value::Lock(place.element(None)),
            _ => Value::Other,
        }
    }

    /// A method that takes what it is called on out of a variable, or one that does not.
    fn receiver(&mut self, call: &ExprMethodCall, name: &str) -> Value {
        if let Some(place) = lock::path(&call.receiver, &self.state) {
            self.eval(&call.receiver);
            return Value::Lock(place);
        }
        if let Some(variable) = chain::local(&call.receiver)
            && (methods::unwraps(name) || methods::passes(name))
            && matches!(
                self.state.known(&variable),
                Some(Value::Wrapped(_) | Value::Maybe(_))
            )
        {
            return self.variable(&variable);
        }
        self.place(&call.receiver)
    }

    /// The guard that a method of `self` returns.
    fn returned(&mut self, call: &ExprMethodCall, name: &str, place: &Place) -> Option<Value> {
        let returned = self.settings.returning.get(name)?.clone();
        let mode = returned.mode?;
        if returned.reading != Reading::Plain && returned.reading != self.settings.reading {
            self.may_be_poisoning = true;
            return None;
        }
        if place.text != "self" || !call.args.is_empty() {
            return None;
        }
        self.has_locked = true;
        let at = Site::of_call(call);
        let shown = format!("self.{name}()");
        if returned.is_maybe {
            let guard = self.hold(&returned.place, mode, at, shown);
            return Some(self.maybe(guard));
        }
        if !self.may_take(&returned.place, mode, at) {
            return None;
        }
        Some(self.hold(&returned.place, mode, at, shown))
    }

    /// `self.a.try_lock().unwrap_or_else(|| self.a.lock())`.
    fn or_else(
        &mut self,
        receiver: &Value,
        given: &Value,
        closure: Option<&Expr>,
    ) -> Option<Value> {
        let closure = closure?;
        let has_guard = given.has_guards();
        let is_poison = self.settings.reading == Reading::Poisoning
            || names_of(closure)
                .next()
                .is_some_and(|name| name == "into_inner");
        if !has_guard && (is_poison || self.state.is_dead || diverges(closure)) {
            return self.unwrapped(receiver);
        }
        let inner = self.unwrapped(receiver)?;
        let (Value::Guard(one), Value::Guard(two)) = (&inner, given) else {
            self.consume(&inner);
            return None;
        };
        let place = |id: u32, state: &State| state.guard(id).map(|guard| guard.place.clone());
        if place(*one, &self.state) == place(*two, &self.state) {
            self.state.forget(*two);
            return Some(inner);
        }
        self.consume(&inner);
        None
    }

    /// What is put into a list is there as long as the list.
    fn store(&mut self, list: &Expr, arguments: &mut Vec<Value>) {
        let Some(name) = chain::local(list) else {
            return;
        };
        let stored = Value::Parts(std::mem::take(arguments));
        if let Some(Value::Bag(known)) = self.state.known(&name).cloned() {
            let ids = known.into_iter().chain(stored.ids()).collect();
            self.state.grow(&name, &stored, Value::Bag(ids));
        }
    }

    pub(super) fn call(&mut self, call: &ExprCall) -> Value {
        if let Some((guard, body)) = chain::unlocked(call)
            && let Some(Value::Guard(id)) = self.state.known(&guard).cloned()
        {
            self.unlocked(id, body);
            return Value::Other;
        }
        if let Some(transformed) = chain::transformed(call) {
            return self.transformed(call, &transformed);
        }
        if chain::is_new_list(call) {
            self.values(&call.args);
            return Value::Bag(Vec::new());
        }
        match bare(&call.func) {
            Expr::Closure(closure) if call.args.is_empty() => {
                return self.at_once(closure, Value::Other);
            }
            Expr::Path(_) => {}
            function => {
                self.place(function);
            }
        }
        if let Some(name) = chain::local(&call.func)
            && let Some(Value::Closure(closure, names)) = self.state.known(&name).cloned()
        {
            self.values(&call.args);
            return self.called(&closure, names);
        }
        if chain::forgets(&call.func)
            && let [argument] = Vec::from_iter(&call.args)[..]
        {
            // What nobody drops is locked for good.
            let value = self.eval(argument);
            self.state.keep(&value, 0);
            return Value::Other;
        }
        let runs =
            chain::runs_at_once(&call.func) || self.is_consumed && chain::iterates(&call.func);
        let mut arguments = Vec::new();
        for argument in &call.args {
            arguments.push(match bare(argument) {
                Expr::Closure(closure) if runs => self.at_once(closure, Value::Other),
                _ => self.eval(argument),
            });
        }
        let constructor = chain::constructor(&call.func);
        if constructor == Some(Constructor::Wrapping) && arguments.len() == 1 {
            return arguments.remove(0).wrapped();
        }
        if constructor.is_some() {
            return Value::Parts(arguments).in_a_bag();
        }
        // Through a reference a guard may be replaced, or an `Option` emptied.
        let exchanges = names_of(&call.func)
            .next()
            .is_some_and(|name| matches!(name.as_str(), "swap" | "replace" | "take"));
        for argument in &call.args {
            if let Expr::Reference(reference) = bare(argument)
                && reference.mutability.is_some()
                && let Some(name) = chain::local(&reference.expr)
                && let Some(known) = self.state.known(&name)
                && (exchanges || !matches!(known, Value::Guard(_) | Value::Lock(_)))
            {
                self.moved(&name);
            }
        }
        for argument in &arguments {
            self.consume(argument);
        }
        Value::Other
    }

    fn transformed(&mut self, call: &ExprCall, transformed: &Transformed) -> Value {
        let mut values = Vec::new();
        for argument in &call.args {
            values.push(match bare(argument) {
                Expr::Closure(closure) => self.at_once(closure, Value::Other),
                _ => self.eval(argument),
            });
        }
        let Some(guard @ Value::Guard(_)) = values.first().cloned() else {
            for value in &values {
                self.consume(value);
            }
            return Value::Other;
        };
        match transformed {
            Transformed::Guard(mode) => {
                for held in self.state.guards_in(&guard) {
                    held.mode = mode.unwrap_or(held.mode);
                }
                guard
            }
            Transformed::Either => guard.in_a_bag(),
        }
    }

    /// The body runs at once, without the guard.
    fn unlocked(&mut self, id: u32, body: &Expr) {
        let guard = self.state.take(id);
        self.scoped(|walker| walker.value(body));
        self.state.is_dead = false;
        self.state.guards.extend(guard);
    }

    /// A closure that runs where it stands, not at all, or several times; `input` is what it gets.
    pub(super) fn at_once(&mut self, closure: &ExprClosure, input: Value) -> Value {
        if closure.asyncness.is_some() {
            return self.eval(&Expr::Closure(closure.clone()));
        }
        let before = self.state.clone();
        let moved = self.moved.len();
        let loops = std::mem::take(&mut self.loops);
        let is_consumed = std::mem::take(&mut self.is_consumed);
        let value = self.scoped_value(|walker| {
            match closure.inputs.first() {
                Some(pat) if closure.inputs.len() == 1 && input != Value::Other => {
                    walker.bind(pat, input, Origin::Match);
                }
                _ => {
                    for input in &closure.inputs {
                        walker.bind_input(input);
                    }
                }
            }
            walker.eval(&closure.body)
        });
        self.loops = loops;
        self.is_consumed = is_consumed;
        // Certain is what it gives, if it gives anything.
        let given: Vec<_> = self
            .state
            .guards_in(&value)
            .map(|guard| guard.clone())
            .collect();
        if self.state.is_dead {
            self.state = before;
        } else {
            self.state.join(before);
        }
        for guard in given {
            self.state
                .make_certain(&Value::Guard(guard.id), guard.is_certain);
        }
        // It may return early: what it drops on any way may be gone.
        for id in self.moved.split_off(moved) {
            self.state.forget(id);
        }
        if closure.capture.is_some() {
            self.moved_in(&quote::ToTokens::to_token_stream(closure));
        }
        value
    }

    /// A closure that a variable is, with the names that it saw.
    fn called(&mut self, closure: &ExprClosure, names: usize) -> Value {
        if closure.capture.is_some() || closure.asyncness.is_some() {
            return Value::Other;
        }
        let hidden = self.state.hide_names(names);
        let value = self.at_once(closure, Value::Other);
        self.state.show_names(hidden);
        value
    }
}

fn has_a_value(receiver: &Value) -> bool {
    matches!(receiver, Value::Wrapped(_) | Value::Maybe(_)) && receiver.has_guards()
}

/// The closure panics, leaves the function or the program.
fn diverges(closure: &Expr) -> bool {
    match bare(closure) {
        Expr::Closure(closure) => match bare(&closure.body) {
            Expr::Macro(invocation) => super::macros::diverges(&invocation.mac),
            Expr::MethodCall(call) => call.method == "into_inner",
            _ => false,
        },
        _ => false,
    }
}

/// It puts its arguments into the list.
fn is_storing(name: &str) -> bool {
    matches!(name, "push" | "push_back" | "push_front" | "insert")
}

/// It changes nothing.
fn is_looking(name: &str) -> bool {
    matches!(
        name,
        "len" | "is_empty" | "iter" | "first" | "last" | "get" | "capacity" | "reserve"
    )
}
