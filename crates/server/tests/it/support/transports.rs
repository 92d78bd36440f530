//! Clients over both transports, with one interface for tests.

use std::sync::LazyLock;

use papir_client::psi::{Intersection, intersect_any};
use papir_client::{Connection, Costs, DatabaseInfo, Options, Result, aio};
use papir_lookup::Lookup;
use tokio::runtime::Runtime;

/// Makes a test of each function for each transport.
macro_rules! over_both_transports {
    ($($test:ident),* $(,)?) => {
        mod over_blocking {
            $(#[test]
            fn $test() {
                super::$test::<papir_client::Connection>();
            })*
        }

        mod over_async {
            $(#[test]
            fn $test() {
                super::$test::<crate::support::transports::AsyncConnection>();
            })*
        }
    };
}

pub(crate) use over_both_transports;

/// A connection over one of the transports.
pub trait AnyConnection: Clone + Send + Sized + 'static {
    fn open_with(url: &str, options: &Options) -> Result<Self>;
    fn open_any(urls: &[String], options: &Options) -> Result<Self>;
    /// An intersection with a set that these servers have.
    fn intersect_any(urls: &[String], elements: &[&str], options: &Options)
    -> Result<Intersection>;
    /// The address of the server in use.
    fn server(&self) -> String;
    fn register(&mut self) -> Result<()>;
    fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>>;
    fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>>;
    fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    fn get_index(&mut self, index: u64) -> Result<Vec<u8>>;
    fn costs(&self) -> Costs;
    fn info(&self) -> &DatabaseInfo;
    fn lookup(&self) -> &Lookup;

    fn open_even_if_not_private(url: &str, database: Option<&str>) -> Result<Self> {
        let database = database.map(str::to_owned);
        let options = Options {
            allow_not_private: true,
            database,
            ..super::stateless()
        };
        Self::open_with(url, &options)
    }
}

impl AnyConnection for Connection {
    fn open_with(url: &str, options: &Options) -> Result<Self> {
        Self::open_with(url, options)
    }

    fn open_any(urls: &[String], options: &Options) -> Result<Self> {
        Self::open_any(urls, options)
    }

    fn intersect_any(
        urls: &[String],
        elements: &[&str],
        options: &Options,
    ) -> Result<Intersection> {
        intersect_any(urls, elements, options)
    }

    fn server(&self) -> String {
        self.address().base().to_owned()
    }

    fn register(&mut self) -> Result<()> {
        self.register()
    }

    fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_keys(keys)
    }

    fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
        self.get_indices(indices)
    }

    fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_key(key)
    }

    fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
        self.get_index(index)
    }

    fn costs(&self) -> Costs {
        self.costs()
    }

    fn info(&self) -> &DatabaseInfo {
        self.info()
    }

    fn lookup(&self) -> &Lookup {
        self.lookup()
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// An asynchronous connection, each operation of which runs to its end.
#[derive(Clone)]
pub struct AsyncConnection(aio::Connection);

impl AnyConnection for AsyncConnection {
    fn open_with(url: &str, options: &Options) -> Result<Self> {
        RUNTIME
            .block_on(aio::Connection::open_with(url, options))
            .map(Self)
    }

    fn open_any(urls: &[String], options: &Options) -> Result<Self> {
        RUNTIME
            .block_on(aio::Connection::open_any(urls, options))
            .map(Self)
    }

    fn intersect_any(
        urls: &[String],
        elements: &[&str],
        options: &Options,
    ) -> Result<Intersection> {
        RUNTIME.block_on(aio::psi::intersect_any(urls, elements, options))
    }

    fn server(&self) -> String {
        self.0.address().base().to_owned()
    }

    fn register(&mut self) -> Result<()> {
        RUNTIME.block_on(self.0.register())
    }

    fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        RUNTIME.block_on(self.0.get_keys(keys))
    }

    fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
        RUNTIME.block_on(self.0.get_indices(indices))
    }

    fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        RUNTIME.block_on(self.0.get_key(key))
    }

    fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
        RUNTIME.block_on(self.0.get_index(index))
    }

    fn costs(&self) -> Costs {
        self.0.costs()
    }

    fn info(&self) -> &DatabaseInfo {
        self.0.info()
    }

    fn lookup(&self) -> &Lookup {
        self.0.lookup()
    }
}
