//! Steps of tasks as events, and requests that cost tokens.

#[cfg(feature = "tokens")]
use papir_client::Result;
use papir_client::core::{AfterStore, AfterWait, Request, Step, StoreAction, StoreRequest};
#[cfg(feature = "tokens")]
use papir_client::core::{Failure, PaidRequest, Response};
use serde_json::json;
#[cfg(feature = "tokens")]
use zeroize::Zeroizing;

use crate::event::{Body, Event, Head, Reply};
use crate::exchange::Resumption;
use crate::paused::{Paused, waiting};
use crate::route::Route;
use crate::store;

/// The use of a task's output.
pub(crate) type Finish<T> = Box<dyn FnOnce(T) -> Box<Event>>;

/// The end of a task: the way of its requests, and the use of its output.
pub(crate) struct Ending<T> {
    pub(crate) route: Route,
    pub(crate) finish: Finish<T>,
}

struct Waiting<T>(AfterWait<'static, T>, Ending<T>);
struct Storing<T>(StoreAction, AfterStore<'static, T>, Ending<T>);

/// Turns a step into an event, and the output of a finished task into that of its ending.
pub(crate) fn event<T: 'static>(step: Step<'static, T>, ending: Ending<T>) -> Box<Event> {
    match step {
        Step::Done(output) => (ending.finish)(output),
        Step::Wait(duration, then) => {
            let head = json!({ "kind": "wait", "milliseconds": duration.as_millis() as u64 });
            waiting(
                Head::from(&head),
                Body::None,
                Box::new(Waiting(then, ending)),
            )
        }
        Step::Send(request, then) => {
            let route = ending.route.clone();
            let resumption: Resumption =
                Box::new(move |outcome| event(then.resume(outcome), ending));

            send(&route, request, resumption)
        }
        Step::Store(StoreRequest { slot, action }, then) => match store::message(&slot, &action) {
            Some((head, body)) => waiting(
                Head::from(&head),
                body,
                Box::new(Storing(action, then, ending)),
            ),
            None => event(then.resume(Err(store::refused())), ending),
        },
    }
}

/// Sends a request, with a token of the issuer if the service demands one.
fn send(route: &Route, request: Request, then: Resumption) -> Box<Event> {
    #[cfg(feature = "tokens")]
    if let Some(tokens) = route.tokens() {
        let exchange = PaidExchange {
            paid: tokens.begin(&request),
            issuer: Route::of_issuer(tokens),
            route: route.clone(),
            then,
        };
        return exchange.start();
    }
    route.send_unpaid(request, then)
}

/// A request to a service that may demand tokens, with the use of its response.
#[cfg(feature = "tokens")]
struct PaidExchange {
    paid: PaidRequest,
    /// The way to the issuer.
    issuer: Route,
    /// The way of the request.
    route: Route,
    then: Resumption,
}

#[cfg(feature = "tokens")]
impl PaidExchange {
    /// Sends the next attempt, and takes a token for it first if it needs one.
    fn start(self) -> Box<Event> {
        let Some(task) = self.paid.token() else {
            return self.attempt(None);
        };
        let ending: Ending<Result<Zeroizing<String>>> = Ending {
            route: self.issuer.clone(),
            finish: Box::new(move |token| self.taken(token)),
        };
        event(task.start(), ending)
    }

    fn taken(mut self, token: Result<Zeroizing<String>>) -> Box<Event> {
        match self.paid.taken(token) {
            Ok(token) => self.attempt(token),
            Err(failure) => (self.then)(Err(failure)),
        }
    }

    fn attempt(mut self, token: Option<Zeroizing<String>>) -> Box<Event> {
        let request = self.paid.attempt(token);
        let route = self.route.clone();
        route.send(request, Box::new(move |outcome| self.received(outcome)))
    }

    fn received(mut self, outcome: Result<Response, Failure>) -> Box<Event> {
        let response = match outcome {
            Ok(response) => response,
            Err(failure) => return (self.then)(Err(failure)),
        };
        match self.paid.is_answered(&response) {
            Ok(true) => (self.then)(Ok(response)),
            Ok(false) => self.start(),
            Err(failure) => (self.then)(Err(failure)),
        }
    }
}

impl<T: 'static> Paused for Waiting<T> {
    fn resume(self: Box<Self>, _reply: Reply) -> Box<Event> {
        let Self(then, ending) = *self;
        event(then.resume(), ending)
    }
}

impl<T: 'static> Paused for Storing<T> {
    fn resume(self: Box<Self>, reply: Reply) -> Box<Event> {
        let Self(action, then, ending) = *self;
        event(then.resume(store::stored(&action, reply)), ending)
    }
}
