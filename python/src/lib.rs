//! Python binding of papir: the native part of the package `pypapir`.
//!
//! | file | contents |
//! |---|---|
//! | `build` | snapshots from files, tables, pairs and arrays |
//! | `arrow`, `pairs` | rows of Python objects as a source |
//! | `database` | lookups in one process |
//! | `client` | lookups in a service, blocking and awaited |
//! | `service` | a service in this process |
//! | `scheme` | the schemes themselves: setup, query, answer, extract |
//! | `shard`, `divided` | a database on several machines: one of them, and the service in front of all |
//! | `errors`, `waiting`, `progress` | exceptions; Ctrl-C; progress |

mod arrow;
mod build;
mod client;
mod database;
mod divided;
mod errors;
mod pairs;
mod progress;
mod scheme;
mod service;
mod shard;
mod waiting;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::client::{AsyncClient, Client, connect, connect_async};
    #[pymodule_export]
    use crate::database::{Database, open};
    #[pymodule_export]
    use crate::divided::DividedService;
    #[pymodule_export]
    use crate::errors::{Error, NetworkError, NotPrivateError};
    #[pymodule_export]
    use crate::scheme::{Prepared, Scheme, SchemeClient, Secret, schemes};
    #[pymodule_export]
    use crate::service::{Service, serve};
    #[pymodule_export]
    use crate::shard::{Shard, slices};
}
