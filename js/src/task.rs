//! Steps of tasks as events.

use papir_client::core::{AfterStore, AfterWait, Step, StoreAction, StoreRequest};
use serde_json::json;

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

            route.send(request, resumption)
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
