//! Lookups in a service.

use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use papir_client::aio::{Connection, SharedConnection};
use papir_client::{
    DownloadLimit, Freshness, Issuer, KnownVersion, Options, OwnedWanted, Passphrase, Pin,
    PrefilterUse, Relay, Token, VerifyingKey,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_async_runtimes::tokio::future_into_py;
use zeroize::Zeroizing;

use crate::description::ClientDescription;
use crate::errors::{of_client, of_core};
use crate::forked;
use crate::local::Local;
use crate::retries;

/// Options from the arguments of `connect`.
pub(crate) fn options(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options {
        retries: retries::logged(),
        ..Options::default()
    };
    let mut relay = None;
    let mut ohttp_keys = None;
    let mut issuer = None;
    let mut issuer_token = None;
    for (name, value) in arguments.into_iter().flat_map(|arguments| arguments.iter()) {
        if value.is_none() {
            continue;
        }

        match name.extract::<String>()?.as_str() {
            "database" => options.database = Some(value.extract()?),
            "token" => options.token = Some(token(&value.extract::<String>()?)?),
            "owner" => options.checkpoint.owner = Some(verifying_key(&value.extract::<String>()?)?),
            "max_age" => options.checkpoint.max_age = Some(seconds(&value)?),
            "sequence" => options.checkpoint.sequence = Some(value.extract()?),
            "witnesses" => {
                let keys = value.extract::<Vec<String>>()?;
                options.checkpoint.witnesses = keys
                    .iter()
                    .map(|key| verifying_key(key))
                    .collect::<PyResult<_>>()?;
            }
            "cosignatures" => options.checkpoint.cosignatures = value.extract()?,
            "pin" if value.extract()? => options.pin = Pin::default(),
            "pin" => options.pin = Pin::Nothing,
            "root" => options.root = Some(value.extract::<String>()?.parse().map_err(invalid)?),
            "ca" => options.ca = Some(value.extract::<PathBuf>()?),
            "state" => options.state = Some(value.extract::<PathBuf>()?),
            "passphrase" => options.passphrase = Some(Passphrase::new(value.extract::<String>()?)),
            "owner_key" => {
                let text = Zeroizing::new(value.extract::<String>()?);
                options.owner_key = Some(text.parse().map_err(of_core)?);
            }
            "cache" => options.no_cache = !value.extract::<bool>()?,
            "known" => options.known = known(&value)?,
            "patches" => options.patches = value.extract::<String>()?.parse().map_err(invalid)?,
            "prefilter" if value.extract()? => options.prefilter = PrefilterUse::Use,
            "prefilter" => options.prefilter = PrefilterUse::Ignore,
            "hide_times" => options.hide_times = value.extract()?,
            "insecure_http" => options.insecure_http = value.extract()?,
            "allow_not_private" => options.allow_not_private = value.extract()?,
            "freshness" => options.freshness = Freshness(seconds(&value)?),
            "proxy" => options.proxy = value.extract::<String>()?.parse().map_err(invalid)?,
            "relay" => relay = Some(value.extract::<String>()?),
            "ohttp_keys" => ohttp_keys = Some(value.extract::<PathBuf>()?),
            "issuer" => issuer = Some(value.extract::<String>()?),
            "issuer_token" => issuer_token = Some(token(&value.extract::<String>()?)?),
            "max_download" => options.download_limit = DownloadLimit(value.extract()?),
            "patience" => options.patience = Some(seconds(&value)?),
            "timeout" => options.timeout = Some(seconds(&value)?),
            other => return Err(PyTypeError::new_err(format!("unknown option `{other}`"))),
        }
    }

    options.relay = match (relay, ohttp_keys) {
        (Some(url), keys) => Some(Relay { url, keys }),
        (None, None) => None,
        (None, Some(_)) => return Err(invalid("ohttp_keys needs a relay")),
    };
    options.issuer = match (issuer, issuer_token) {
        (Some(url), token) => Some(Issuer::new(url, token)),
        (None, None) => None,
        (None, Some(_)) => return Err(invalid("issuer_token needs an issuer")),
    };
    Ok(options)
}

/// The use of a kept version: true, false or a text.
fn known(value: &Bound<'_, PyAny>) -> PyResult<KnownVersion> {
    if let Ok(text) = value.extract::<String>() {
        return text.parse().map_err(invalid);
    }

    Ok(if value.extract()? {
        KnownVersion::Use
    } else {
        KnownVersion::Ask
    })
}

/// A time in seconds. Fails for a negative number, or one that is not finite.
pub(crate) fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value.extract()?).map_err(invalid)
}

fn invalid(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn token(text: &str) -> PyResult<Token> {
    Token::new(text).map_err(invalid)
}

fn verifying_key(text: &str) -> PyResult<VerifyingKey> {
    text.parse().map_err(invalid)
}

/// A connection whose lookups wait for one another.
#[derive(Clone)]
struct SerialConnection {
    connection: Arc<SharedConnection>,
    /// The description after the newest lookup, which no lookup under way holds back.
    description: Arc<std::sync::Mutex<ClientDescription>>,
}

impl SerialConnection {
    async fn open(urls: Vec<String>, options: Options) -> PyResult<Self> {
        let connection = Connection::open_any(&urls, &options)
            .await
            .map_err(of_client)?;
        Ok(Self {
            description: Arc::new(std::sync::Mutex::new(ClientDescription::of(&connection))),
            connection: Arc::new(SharedConnection::new(connection)),
        })
    }

    fn keys(
        &self,
        keys: Vec<Vec<u8>>,
    ) -> impl Future<Output = PyResult<Vec<Option<Vec<u8>>>>> + Send + use<> {
        let serial = self.clone();
        let keys = Zeroizing::new(keys);
        async move {
            let mut connection = serial.connection.take().await.map_err(of_client)?;
            let values = connection.get_keys(&keys).await;
            serial.describe(&connection);
            values.map_err(of_client)
        }
    }

    fn indices(
        &self,
        indices: Vec<u64>,
    ) -> impl Future<Output = PyResult<Vec<Vec<u8>>>> + Send + use<> {
        let serial = self.clone();
        let indices = Zeroizing::new(indices);
        async move {
            let mut connection = serial.connection.take().await.map_err(of_client)?;
            let records = connection.get_indices(&indices).await;
            serial.describe(&connection);
            records.map_err(of_client)
        }
    }

    /// Makes the query of one lookup as a short message.
    fn message(
        &self,
        wanted: OwnedWanted,
    ) -> impl Future<Output = PyResult<Vec<u8>>> + Send + use<> {
        let serial = self.clone();
        async move {
            let mut connection = serial.connection.take().await.map_err(of_client)?;
            let query = connection.query_message(wanted).await;
            serial.describe(&connection);
            query.map_err(of_client)
        }
    }

    /// Keeps the description after a lookup, also after one that failed: it has costs, too.
    fn describe(&self, connection: &Connection) {
        let mut description = self
            .description
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *description = ClientDescription::of(connection);
    }

    /// The description as JSON.
    fn description(&self) -> String {
        self.description
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_json()
    }
}

/// A private client of one database of a service.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Client {
    connection: SerialConnection,
    local: Local,
}

/// Connects to a database of a service, or of the first of several that can be used.
#[pyfunction]
#[pyo3(signature = (urls, **arguments))]
pub(crate) fn connect(
    py: Python<'_>,
    urls: Vec<String>,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<Client> {
    let options = options(arguments)?;
    let local = Local::new()?;
    Ok(Client {
        connection: local.wait(py, SerialConnection::open(urls, options))??,
        local,
    })
}

#[pymethods]
impl Client {
    /// The value of a key; None if it is absent.
    fn get(&self, py: Python<'_>, key: Vec<u8>) -> PyResult<Option<Vec<u8>>> {
        Ok(self
            .local
            .wait(py, self.connection.keys(vec![key]))??
            .pop()
            .flatten())
    }

    /// The values of several keys. The service learns how many.
    fn get_many(&self, py: Python<'_>, keys: Vec<Vec<u8>>) -> PyResult<Vec<Option<Vec<u8>>>> {
        self.local.wait(py, self.connection.keys(keys))?
    }

    /// The records at several indices. The service learns how many.
    fn get_indices(&self, py: Python<'_>, indices: Vec<u64>) -> PyResult<Vec<Vec<u8>>> {
        self.local.wait(py, self.connection.indices(indices))?
    }

    /// The query of one key as a short message.
    fn query_message(&self, py: Python<'_>, key: Vec<u8>) -> PyResult<Vec<u8>> {
        let key = OwnedWanted::Key(Zeroizing::new(key));
        self.local.wait(py, self.connection.message(key))?
    }

    /// The query of one index as a short message.
    fn query_message_index(&self, py: Python<'_>, index: u64) -> PyResult<Vec<u8>> {
        let index = OwnedWanted::Index(Zeroizing::new(index));
        self.local.wait(py, self.connection.message(index))?
    }

    /// The database and the costs as JSON, after the newest lookup.
    fn describe(&self) -> String {
        self.connection.description()
    }
}

/// [`Client`] with coroutines.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct AsyncClient(SerialConnection);

/// Like [`connect`], for coroutines.
#[pyfunction]
#[pyo3(signature = (urls, **arguments))]
pub(crate) fn connect_async<'py>(
    py: Python<'py>,
    urls: Vec<String>,
    arguments: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    forked::refuse()?;
    let options = options(arguments)?;
    future_into_py(py, async move {
        Ok(AsyncClient(SerialConnection::open(urls, options).await?))
    })
}

#[pymethods]
impl AsyncClient {
    /// The value of a key; None if it is absent.
    fn get<'py>(&self, py: Python<'py>, key: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        forked::refuse()?;
        let values = self.0.keys(vec![key]);
        future_into_py(py, async move { Ok(values.await?.pop().flatten()) })
    }

    /// The values of several keys. The service learns how many.
    fn get_many<'py>(&self, py: Python<'py>, keys: Vec<Vec<u8>>) -> PyResult<Bound<'py, PyAny>> {
        forked::refuse()?;
        future_into_py(py, self.0.keys(keys))
    }

    /// The records at several indices. The service learns how many.
    fn get_indices<'py>(&self, py: Python<'py>, indices: Vec<u64>) -> PyResult<Bound<'py, PyAny>> {
        forked::refuse()?;
        future_into_py(py, self.0.indices(indices))
    }

    /// The query of one key as a short message.
    fn query_message<'py>(&self, py: Python<'py>, key: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        forked::refuse()?;
        let key = OwnedWanted::Key(Zeroizing::new(key));
        future_into_py(py, self.0.message(key))
    }

    /// The query of one index as a short message.
    fn query_message_index<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Bound<'py, PyAny>> {
        forked::refuse()?;
        let index = OwnedWanted::Index(Zeroizing::new(index));
        future_into_py(py, self.0.message(index))
    }

    /// The database and the costs as JSON, after the newest lookup.
    fn describe(&self) -> String {
        self.0.description()
    }
}
