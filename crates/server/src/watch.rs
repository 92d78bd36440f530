//! Loads snapshot files when others have taken their place.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::api::App;
use crate::catalog::Catalog;
use crate::identity::Identity;
use crate::psi::Psi;
use crate::service::load_in;

/// Shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(10);

/// Looks at the files from time to time.
///
/// A file is loaded at the second look that finds it as it is: one that is being written is left
/// alone. One that does not load is tried, and told of, once.
pub(crate) struct Watch {
    every: Option<Duration>,
    changed: Vec<(String, Option<Identity>)>,
    /// The set for private intersection that the last look found in place of the one that is served.
    changed_set: Option<Option<Identity>>,
}

impl Watch {
    /// `None`: never.
    pub(crate) fn every(every: Option<Duration>) -> Self {
        Self { every: every.map(|every| every.max(SHORTEST)), changed: Vec::new(), changed_set: None }
    }

    /// Watches without end.
    pub(crate) async fn run(&mut self, app: &Arc<App>) {
        let Some(every) = self.every else { return std::future::pending().await };
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let looking = Arc::clone(app);
            let look = move || (looking.catalog.changed(), looking.psi.as_ref().and_then(Psi::changed));
            let (changed, changed_set) = tokio::task::spawn_blocking(look).await.unwrap_or_default();
            let names = self.settled(changed);
            let before = std::mem::replace(&mut self.changed_set, changed_set);
            // A set is loaded after its database, and with it.
            let set = self.changed_set.is_some() && (before == self.changed_set || !names.is_empty());
            if names.is_empty() && !set {
                continue;
            }
            tracing::info!(?names, set, "other snapshots: loading them");
            let (names, app_of_set) = (names, Arc::clone(app));
            let load = move |catalog: &Catalog| {
                let loaded = catalog.load_named(&names);
                app_of_set.psi.iter().filter(|_| set).for_each(|psi| psi.reload(catalog));
                loaded
            };
            if let Err(error) = load_in(app, load).await {
                tracing::error!(%error, "not loaded");
            }
        }
    }

    /// The names whose files are as changed as they were at the last look.
    fn settled(&mut self, changed: Vec<(String, Option<Identity>)>) -> Vec<String> {
        let before = std::mem::replace(&mut self.changed, changed);
        let still = self.changed.iter().filter(|one| before.contains(one));
        still.map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_settles_at_the_second_look() {
        let mut watch = Watch::every(None);
        let (words, gone) =
            (("words".to_owned(), Identity::of("Cargo.toml".as_ref())), ("words".to_owned(), None));
        assert!(watch.settled(vec![words.clone()]).is_empty());
        assert!(watch.settled(vec![gone.clone()]).is_empty(), "another one again");
        assert_eq!(watch.settled(vec![gone]), ["words"]);
        assert!(watch.settled(vec![]).is_empty());
        assert!(watch.settled(vec![words]).is_empty());
    }
}
