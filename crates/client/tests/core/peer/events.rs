//! Steps of a task, as the service sees them.

use papir_client::core::{Method, Request};

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Sent(Call),
    Waited(u64),
    Stored(&'static str),
}

impl Event {
    /// The seconds of a wait.
    pub fn waited(&self) -> Option<u64> {
        if let Self::Waited(seconds) = self {
            Some(*seconds)
        } else {
            None
        }
    }
}

/// A request as the service receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Call {
    pub(super) fn of(request: &Request) -> Self {
        let headers = request
            .headers
            .iter()
            .map(|one| (one.name.to_owned(), one.value.to_string()));
        Self {
            method: request.method,
            path: request.path.clone(),
            headers: headers.collect(),
            body: request.body.as_deref().cloned().unwrap_or_default(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(one, _)| one == name)
            .map(|(_, value)| value.as_str())
    }

    /// The path below that of the databases, without parameters.
    pub fn route(&self) -> &str {
        let path = self
            .path
            .split_once('?')
            .map_or(self.path.as_str(), |(path, _)| path);
        path.strip_prefix("/v1/databases").unwrap()
    }
}

/// Returns the events in short: `POST /query`, `wait 7`, `lock`, with the ids of clients as
/// numbers.
pub fn short(events: &[Event]) -> Vec<String> {
    let descriptions = events.iter().map(|event| match event {
        Event::Sent(call) => {
            let route = call
                .route()
                .replace("/table", "")
                .replace(&"0".repeat(31), "");
            format!("{} {route}", call.method.name())
        }
        Event::Waited(seconds) => format!("wait {seconds}"),
        Event::Stored(name) => (*name).to_owned(),
    });
    descriptions.collect()
}

/// Returns the query requests among the events.
pub fn queries(events: &[Event]) -> Vec<Call> {
    let calls = events.iter().filter_map(|event| match event {
        Event::Sent(call) if call.path.ends_with("/query") => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}
