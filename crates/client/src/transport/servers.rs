//! The servers of a connection's database.

use std::time::{Duration, Instant};

use papir_core::without_passwords;

use super::call::is_over;
use super::options::Options;
use super::retry_observer::{RetryObserver, RetryPause};
use crate::core::{Address, ServerSearch, Service, Settings, check_addresses, check_servers};
use crate::error::{Error, Result};

/// The servers of one database, with a transport of type `T` to each.
#[derive(Clone)]
pub(crate) struct Servers<T> {
    /// The servers in the order of their addresses; empty for a connection to a single one.
    all: Vec<ServerAt<T>>,
    /// The number of the server that is used.
    current: usize,
    /// The name of the database at all servers; `None` if neither options nor addresses name one.
    database: Option<String>,
    catch_up: Option<Duration>,
    observer: RetryObserver,
}

/// One of several servers.
#[derive(Clone)]
pub(crate) struct ServerAt<T> {
    pub(crate) service: Service,
    pub(crate) transport: T,
}

impl<T> Servers<T> {
    /// The servers of a connection that has only one, which it does not leave.
    pub(crate) fn single() -> Self {
        Self {
            all: Vec::new(),
            current: 0,
            database: None,
            catch_up: None,
            observer: RetryObserver::default(),
        }
    }

    /// The servers at these addresses, with transports that `connect` makes.
    ///
    /// Fails with the errors of [`check_servers`], of the addresses and of the options.
    pub(crate) fn new<U: AsRef<str>>(
        urls: &[U],
        options: &Options,
        connect: fn(&Address, &Options) -> Result<T>,
    ) -> Result<Self> {
        let services = urls.iter().map(|url| options.session_service(url.as_ref()));
        let services = services.collect::<Result<Vec<_>>>()?;

        let settings = check_servers(&addresses_of(&services), options.settings())?;
        Self::connected(services, settings.database, options, connect)
    }

    /// Like [`Servers::new`], for servers of a set, which need not be signed.
    pub(crate) fn of_set<U: AsRef<str>>(
        urls: &[U],
        options: &Options,
        connect: fn(&Address, &Options) -> Result<T>,
    ) -> Result<Self> {
        // No proof of an owner is read first, as a session does before it sends the token.
        let services = urls.iter().map(|url| options.service(url.as_ref()));
        let services = services.collect::<Result<Vec<_>>>()?;

        let settings = check_addresses(&addresses_of(&services), options.settings())?;
        Self::connected(services, settings.database, options, connect)
    }

    /// These services, each beside the others, with transports to them.
    fn connected(
        services: Vec<Service>,
        database: Option<String>,
        options: &Options,
        connect: fn(&Address, &Options) -> Result<T>,
    ) -> Result<Self> {
        let addresses = addresses_of(&services);
        let mut all = Vec::new();
        for (number, service) in services.into_iter().enumerate() {
            let transport = connect(service.address(), options)?;
            let mut others = addresses.clone();
            others.remove(number);
            all.push(ServerAt {
                service: service.beside(others),
                transport,
            });
        }

        Ok(Self {
            all,
            database,
            catch_up: options.checkpoint.catch_up,
            observer: options.retries.clone(),
            ..Self::single()
        })
    }

    /// The settings of a session with any of the servers.
    pub(crate) fn settings(&self, options: &Options) -> Settings {
        Settings {
            database: self.database.clone(),
            ..options.settings()
        }
    }

    /// Starts the search of one call for a server, with the one that is used.
    pub(crate) fn search(&self) -> ServerSearch {
        let services = self.all.iter().map(|one| one.service.clone()).collect();
        ServerSearch::start(services, self.current, self.catch_up)
    }

    /// The server that a search tries.
    pub(crate) fn tried_by(&self, search: &ServerSearch) -> &ServerAt<T> {
        &self.all[search.current()]
    }

    /// Uses the server of a search from now on.
    pub(crate) fn stay_with(&mut self, search: &ServerSearch) {
        self.current = search.current();
    }

    /// Lets a search go on to the next server after a failure of the current one, and reports that.
    /// Returns the pause before the next server. `end` is the end of the call.
    ///
    /// Fails with the given error if the time of the call is over, and with [`Error::NoServer`] if
    /// no server can be used.
    pub(crate) fn pass_over(
        &self,
        search: &mut ServerSearch,
        end: Option<Instant>,
        error: Error,
    ) -> Result<Duration> {
        if is_over(end) {
            return Err(error);
        }

        let url = search.address();
        let reason = error.to_string();
        let pause = search.pass_over(error)?;
        self.observer.report(&RetryPause {
            url: without_passwords(&url),
            reason: without_passwords(&reason),
            since: search.elapsed(),
            pause,
        });
        Ok(pause)
    }
}

/// The addresses of these services, in their order.
fn addresses_of(services: &[Service]) -> Vec<Address> {
    services.iter().map(|one| one.address().clone()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::core::Pin;

    fn servers(urls: &[&str], options: &Options) -> Result<Servers<()>> {
        Servers::new(urls, options, |_, _| Ok(()))
    }

    fn reason(urls: &[&str], options: &Options) -> String {
        servers(urls, options).err().unwrap().to_string()
    }

    #[test]
    fn lists_that_cannot_be_used_are_refused() {
        let options = Options::default();
        let many = ["http://h"; 17];
        let lists: [(&[&str], &str); 4] = [
            (&[], "0 addresses"),
            (&many, "17 addresses: expected 1 to 16"),
            (
                &["http://a", "http://b", "http://a/"],
                "http://a is given twice",
            ),
            (
                &["http://a/v1/databases/x", "http://b/v1/databases/y"],
                "`y`: expected `x`",
            ),
        ];
        for (urls, expected) in lists {
            let reason = reason(urls, &options);
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn the_database_that_one_address_names_is_that_of_all() {
        let options = Options::default();
        let urls = ["http://a", "http://b/v1/databases/x"];
        let named = servers(&urls, &options).unwrap().settings(&options);
        assert_eq!(named.database.as_deref(), Some("x"));

        let options = Options::of_database(Some("y"));
        let named = servers(&urls, &options).unwrap().settings(&options);
        assert_eq!(named.database.as_deref(), Some("y"));
    }

    #[test]
    fn a_client_that_would_believe_any_server_is_refused() {
        let urls = ["http://a", "http://b"];
        let believing = Options {
            pin: Pin::Nothing,
            ..Options::default()
        };
        let reason = reason(&urls, &believing);
        assert!(
            reason.contains("neither an owner's key nor a root"),
            "{reason}"
        );

        let rooted = Options {
            root: Some("5e".repeat(32).parse().unwrap()),
            ..believing.clone()
        };
        servers(&urls, &rooted).unwrap();
        servers(&urls, &Options::default()).unwrap();
    }

    #[test]
    fn servers_of_a_set_need_no_signature_but_a_sensible_list() {
        let options = Options {
            pin: Pin::Nothing,
            ..Options::default()
        };
        let distinct = ["http://a", "http://b"];
        let servers = Servers::of_set(&distinct, &options, |_, _| Ok(())).unwrap();
        assert_eq!(servers.all.len(), 2);
        for server in &servers.all {
            assert_eq!(server.service.others().len(), 1);
        }

        let twice = ["http://a", "http://a/"];
        let refused = Servers::of_set(&twice, &options, |_, _| Ok(()));
        assert_eq!(refused.err().unwrap().code(), "servers");
    }
}
