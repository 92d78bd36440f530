//! A running service without a listener: state and tasks.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::app::App;
use super::config::ServerConfig;
use super::housekeeping;
use crate::catalog::Catalog;
use crate::clients::Worker;
use crate::error::Error;
use crate::psi::Psi;

/// A running service. Its tasks end when it is dropped.
pub(crate) struct Running {
    pub(crate) app: Arc<App>,
    /// Watches the token files, and reads the keys of the issuer of private tokens.
    pub(crate) watching: JoinSet<()>,
    /// Prepares tickets.
    pub(crate) worker: Option<Worker>,
}

impl Running {
    /// Opens the service and starts its tasks, in a runtime of tokio.
    pub(crate) fn start(
        config: &ServerConfig,
        catalog: Catalog,
        psi: Option<Psi>,
    ) -> Result<Self, Error> {
        let app = Arc::new(App::open(config, catalog, psi)?);
        housekeeping::start(&app);

        let mut watching = JoinSet::new();
        if let Some(tokens) = &app.guard.tokens {
            watching.spawn(Arc::clone(tokens).watch());
        }
        if let (Some(passes), Some(registry)) = (&app.passes, &app.registry) {
            watching.spawn(Arc::clone(passes).follow(Arc::clone(registry)));
        }

        let worker = match &app.registry {
            Some(registry) => {
                let queries = app.queries.executor.activity();
                let worker = Worker::start(&app.catalog, registry, queries, config.threads)?;
                Some(worker)
            }
            None => None,
        };

        Ok(Self {
            app,
            watching,
            worker,
        })
    }
}
