//! Python binding of papir: the native part of the package `pypapir`.
//!
//! | file | contents |
//! |---|---|
//! | `build`, `plan` | snapshots, and what they will cost |
//! | `source`, `arrow`, `pairs`, `items` | files, tables, rows, pairs and arrays as sources |
//! | `source_form`, `login` | the form of files; logins to servers that are sources |
//! | `bench` | measurements of schemes |
//! | `database` | lookups in one process |
//! | `client`, `local` | lookups in a service, awaited, and on the thread that calls |
//! | `messages` | answers to queries that travelled in messages |
//! | `schedule` | lookups at fixed times in a service |
//! | `description` | what a client knows of its database |
//! | `service` | a service in this process |
//! | `scheme` | the schemes themselves: setup, query, answer, extract |
//! | `shard`, `divided` | a database on several machines: one of them, the service before all |
//! | `tasks` | tasks that prepare a database on many machines |
//! | `errors`, `waiting`, `progress`, `retries` | exceptions; Ctrl-C; progress; logged retries |

mod arrow;
mod bench;
mod build;
mod client;
mod database;
mod description;
mod divided;
mod errors;
mod forked;
mod items;
mod local;
mod login;
mod messages;
mod pairs;
mod plan;
mod progress;
mod retries;
mod schedule;
mod scheme;
mod service;
mod shard;
mod source;
mod source_form;
mod tasks;
mod waiting;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::bench::bench;
    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::client::{AsyncClient, Client, connect, connect_async};
    #[pymodule_export]
    use crate::database::{Database, open};
    #[pymodule_export]
    use crate::divided::DividedService;
    #[pymodule_export]
    use crate::errors::{
        Error, NetworkError, NotPrivateError, UnsupportedError, VerificationError,
    };
    #[pymodule_export]
    use crate::messages::{extract_message, extract_message_async};
    #[pymodule_export]
    use crate::plan::plan;
    #[pymodule_export]
    use crate::schedule::{ScheduledLookups, schedule, schedule_async};
    #[pymodule_export]
    use crate::scheme::{Prepared, Scheme, SchemeClient, Secret, schemes};
    #[pymodule_export]
    use crate::service::{Service, serve};
    #[pymodule_export]
    use crate::shard::{Shard, slices};
    #[pymodule_export]
    use crate::tasks::{add_rows, encode_task, prepare_task};

    /// Adds the version. Errors that Python raises have no code.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::prelude::*;
        crate::scheme::read_names();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let timed_out = crate::errors::timed_out_class(module.py())?;
        module.add("TimeoutError", timed_out)?;
        module
            .py()
            .get_type::<Error>()
            .setattr("code", module.py().None())
    }
}
