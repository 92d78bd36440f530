//! The services of a run, and what they depend on.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use papir_kernels::Backend;
use papir_testkit::GuardedChild;
use papir_testkit::postgres::{PASSWORD, Server};
use rustix::process::Signal;

use super::owner::Owner;
use super::shim::Shim;
use crate::replicas::Nginx;
use crate::support::{
    Folder, Service, agent, lasting_address, listening, program, send, succeeds, until,
};

/// Arguments of all services. Versions come every 20 seconds, and at most two old ones are answered.
const SERVED: [&str; 6] = ["--watch", "1", "--keep-old", "60s", "--tickets-ahead", "1"];
/// The proxy's times: a paused service is passed by after seconds, with the same bytes at the other
/// one. Bodies stay in memory, since they may have to be sent twice.
const PROXY: &str = "client_body_buffer_size 64m; proxy_buffering off;
    proxy_connect_timeout 2s; proxy_read_timeout 10s;
    proxy_next_upstream error timeout non_idempotent;";
/// Private tokens of a client in a day: more than a run spends.
const DAILY: &str = "100000000";

/// One of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind the proxy, with a registry in PostgreSQL.
    First,
    /// The same, with AVX2.
    Second,
    /// Without a proxy: tokens, a registry on a disk that misbehaves, and a clock that does.
    Alone,
}

impl Place {
    pub(super) const ALL: [Self; 3] = [Self::First, Self::Second, Self::Alone];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Alone => "alone",
        }
    }

    /// Returns whether start `number` of this service, from 0, forces AVX2: half of all starts do.
    fn is_avx2(self, number: usize) -> bool {
        match self {
            Self::First => false,
            Self::Second => true,
            Self::Alone => number % 2 == 1,
        }
    }
}

/// A service that starts and stops at one address.
pub(super) struct Member {
    pub(super) place: Place,
    pub(super) address: String,
    registry: String,
    files: Vec<String>,
    more: Vec<String>,
    environment: Vec<(&'static str, String)>,
    starts: AtomicUsize,
    running: Mutex<Option<Service>>,
}

impl Member {
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn running(&self) -> MutexGuard<'_, Option<Service>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process ID; `None` while it is stopped.
    pub(super) fn id(&self) -> Option<u32> {
        self.running().as_ref().map(Service::id)
    }

    pub(super) fn start(&self) {
        let number = self.starts.fetch_add(1, Ordering::SeqCst);
        let mut environment = self.environment.clone();
        // A CPU without AVX2 has the same backend everywhere.
        if self.place.is_avx2(number) && Backend::from_name("avx2").is_ok() {
            environment.push(("PAPIR_BACKEND", "avx2".to_owned()));
        }

        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        let service = self.serve(&environment, &files, &self.registry);
        *self.running() = Some(service);
    }

    /// Serves other files at this address, with the same tokens, while the service is stopped.
    pub(super) fn impersonate(&self, file: &str, registry: &str) -> Service {
        self.serve(&[], &[file], registry)
    }

    fn serve(
        &self,
        environment: &[(&'static str, String)],
        files: &[&str],
        registry: &str,
    ) -> Service {
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let mut arguments = vec!["--listen", &self.address, "--registry", registry];
        arguments.extend(SERVED);
        arguments.extend(self.more.iter().map(String::as_str));
        Service::start_in(&environment, files, &arguments)
    }

    /// Stops the service as a supervisor does.
    pub(super) fn stop(&self) {
        let mut service = self.running().take().expect("a running service");
        send(Signal::TERM, &service);
        assert_eq!(service.wait(), Some(0), "{:?}", self.place);
    }

    /// Kills the service, if it still runs.
    pub(super) fn kill(&self) {
        drop(self.running().take());
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(service) = &*self.running() {
            send(signal, service);
        }
    }

    /// Returns whether the process has ended by itself, and waits to be collected.
    pub(super) fn has_ended(&self) -> bool {
        let Some(id) = self.id() else {
            return false;
        };
        // The name of the program, in parentheses, stands before the state.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_none_or(|(_, fields)| fields.starts_with('Z'))
    }

    /// Waits until the service has loaded its databases, and its registry works.
    pub(super) fn until_ready(&self) {
        let url = format!("{}/readyz", self.url());
        until("a service is ready", || {
            assert!(!self.has_ended(), "{:?} has ended by itself", self.place);
            agent()
                .get(&url)
                .call()
                .is_ok_and(|response| response.status() == 200)
        });
    }
}

/// An issuer of private tokens; stopped when dropped.
pub(super) struct RunningIssuer {
    _child: GuardedChild,
    pub(super) url: String,
    /// The client's token for the issuer.
    pub(super) bearer: String,
}

impl RunningIssuer {
    fn start(folder: &Folder) -> Self {
        let clients = folder.path("clients.toml");
        let bearer = succeeds(&["tokens", &clients, "add", "--name", "soak"]);

        let mut command = program();
        command
            .args(["issuer", "--listen", "127.0.0.1:0", "--daily", DAILY])
            .args(["--keys", &folder.path("issuer.toml")])
            .args(["--counts", &folder.path("issued.redb")])
            .args(["--tokens", &clients])
            .env("PAPIR_LOG", "off")
            .stdout(Stdio::piped());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let url = listening(&mut child);
        Self {
            _child: child,
            url,
            bearer: bearer.trim().to_owned(),
        }
    }
}

/// All services, the owner of their databases, and the machines around them.
pub(super) struct Stage {
    // Dropped in this order: services end before what they depend on.
    pub(super) nginx: Nginx,
    pub(super) members: [Member; 3],
    pub(super) issuer: RunningIssuer,
    pub(super) postgres: Server,
    pub(super) shim: Shim,
    pub(super) owner: Owner,
    /// The bearer token of the service without a proxy.
    pub(super) bearer: String,
    pub(super) folder: Folder,
}

impl Stage {
    /// Builds the databases, and starts everything.
    pub(super) fn new() -> Self {
        let folder = Folder::new();
        let owner = Owner::new(&folder);
        let shim = Shim::new(&folder);
        let postgres = Server::start("");
        let issuer = RunningIssuer::start(&folder);
        let tokens = folder.path("tokens.toml");
        let bearer = succeeds(&["tokens", &tokens, "add", "--name", "soak"]);

        let behind = |place| Member {
            place,
            address: lasting_address(),
            registry: postgres.address("papir"),
            files: owner.files(),
            more: Vec::new(),
            environment: vec![("PGPASSWORD", PASSWORD.to_owned())],
            starts: AtomicUsize::new(0),
            running: Mutex::new(None),
        };
        let members = [
            behind(Place::First),
            behind(Place::Second),
            alone(&folder, &owner, &shim, &issuer.url),
        ];
        for member in &members {
            member.start();
            member.until_ready();
        }

        let [first, second, _] = &members;
        let nginx = Nginx::start_with(&[first.address.as_str(), second.address.as_str()], PROXY);
        Self {
            nginx,
            members,
            issuer,
            postgres,
            shim,
            owner,
            bearer: bearer.trim().to_owned(),
            folder,
        }
    }

    pub(super) fn member(&self, place: Place) -> &Member {
        &self.members[place as usize]
    }

    /// Waits until every service is ready.
    pub(super) fn until_ready(&self) {
        self.members.iter().for_each(Member::until_ready);
    }

    /// Fails if a service has ended without a fault that ends it.
    pub(super) fn assert_running(&self) {
        for member in &self.members {
            assert!(
                !member.has_ended(),
                "{:?} has ended by itself",
                member.place
            );
        }
    }
}

/// The service without a proxy.
fn alone(folder: &Folder, owner: &Owner, shim: &Shim, issuer: &str) -> Member {
    let address = lasting_address();
    // Private tokens are bound to the host.
    let host = address.split(':').next().unwrap_or_default();
    let tokens = folder.path("tokens.toml");
    let more = [
        "--tokens",
        tokens.as_str(),
        "--privacy-pass",
        issuer,
        "--privacy-pass-origin",
        host,
    ];
    Member {
        place: Place::Alone,
        more: more.map(str::to_owned).to_vec(),
        address: address.clone(),
        registry: folder.path("registry"),
        files: owner.files(),
        environment: shim.environment(),
        starts: AtomicUsize::new(0),
        running: Mutex::new(None),
    }
}
