//! Functions and methods of a connection to one database of a service.

/// Defines the functions of a module, and the methods of its `Connection`.
///
/// The module's `Connection` has a field `session`, and the private functions `opened`,
/// `open_first`, `run` and `get`. The last argument has the names of the session's tasks that `run`
/// takes.
macro_rules! define_connection {
    (
        [$($async:tt)?] [$($await:tt)*]
        [$register:ident, $prepare_ahead:ident, $hold_ahead:ident]
    ) => {
        /// Checks that a service has loaded all its databases. Needs no token, and sends none.
        ///
        /// # Errors
        /// [`Error::BadUrl`](crate::Error::BadUrl), errors of the options, errors of the network,
        /// and [`Error::Http`](crate::Error::Http) with status 503 while the service is loading.
        pub $($async)? fn ready(url: &str, options: &Options) -> Result<()> {
            let options = options.without_token();
            let service = options.service(url)?;
            let transport = Transport::new(service.address(), &options)?;
            transport.run(core::ready(service))$($await)*
        }

        /// Describes a database of a service, and the earlier versions that the service still
        /// answers.
        ///
        /// # Errors
        /// [`Error::BadUrl`](crate::Error::BadUrl),
        /// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
        /// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase), errors of the network.
        pub $($async)? fn detail(url: &str, options: &Options) -> Result<DatabaseDetail> {
            let service = options.service(url)?;
            let transport = Transport::new(service.address(), options)?;
            transport.run(core::detail(service, options.settings()))$($await)*
        }

        /// Fetches the checkpoint proof and the log of a signed database, to compare them with the
        /// ones of other services. Does not verify signatures.
        ///
        /// # Errors
        /// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network,
        /// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
        /// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase),
        /// [`Error::NoCheckpoint`](crate::Error::NoCheckpoint) for a database that is not signed,
        /// and [`Error::Checkpoint`](crate::Error::Checkpoint) for a malformed proof or log.
        pub $($async)? fn fetch_log(url: &str, options: &Options) -> Result<ShownLog> {
            let service = options.service(url)?;
            let transport = Transport::new(service.address(), options)?;
            transport.run(core::fetch_log(service, options.settings()))$($await)*
        }

        /// Decodes the answer to a query of a message, which was stored with the client state, and
        /// removes its lookup before. Returns the value; `None` for an absent key. Sends nothing.
        ///
        /// # Errors
        /// [`papir_core::Error::Malformed`] if no lookup waits for this answer: it is of another
        /// client, version or query, is damaged, or was decoded before. The lookups that wait are
        /// then unchanged. Errors of client state, and of answers that do not decode.
        pub $($async)? fn extract_message(
            url: &str,
            options: &Options,
            answer: Vec<u8>,
        ) -> Result<Option<Vec<u8>>> {
            let service = options.session_service(url)?;
            let transport = Transport::new(service.address(), options)?;
            let extracting = core::extract_message(service, options.settings(), answer);
            transport.run(extracting)$($await)*
        }

        impl Connection {
            /// Connects to a database and fetches its public part. The database is the one named by
            /// `database`, else by `url`, else the service's only one.
            ///
            /// # Errors
            /// [`Error::BadUrl`], [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of
            /// the network, and [`Error::Core`] if the public part is damaged or its scheme is
            /// unknown or not private.
            ///
            /// [`Error::BadUrl`]: crate::Error::BadUrl
            /// [`Error::NoSuchDatabase`]: crate::Error::NoSuchDatabase
            /// [`Error::ChooseDatabase`]: crate::Error::ChooseDatabase
            /// [`Error::Core`]: crate::Error::Core
            pub $($async)? fn open(url: &str, database: Option<&str>) -> Result<Self> {
                Self::open_with(url, &Options::of_database(database))$($await)*
            }

            /// Like [`Connection::open`], but also allows schemes that are not private, in which
            /// the server learns which record is read.
            ///
            /// # Errors
            /// The errors of [`Connection::open`], except for schemes that are not private.
            pub $($async)? fn open_even_if_not_private(
                url: &str,
                database: Option<&str>,
            ) -> Result<Self> {
                let options = Options {
                    allow_not_private: true,
                    ..Options::of_database(database)
                };
                Self::open_with(url, &options)$($await)*
            }

            /// Like [`Connection::open`], with options. With a kept version of the database
            /// ([`KnownVersion::Use`](crate::KnownVersion::Use)) it sends nothing.
            ///
            /// # Errors
            /// The errors of [`Connection::open`]; errors of the options: `TokenInClear`, `BadCa`,
            /// `BadIdentity`, `BadProxy`; errors of verification: `NoCheckpoint`, `Checkpoint`,
            /// `Root`, `OtherName`; `TooLarge`, `TimedOut`, and errors of client state.
            pub $($async)? fn open_with(url: &str, options: &Options) -> Result<Self> {
                let service = options.session_service(url)?;
                let transport = Transport::new(service.address(), options)?;
                let opening = Session::open_known(service, options.settings());
                let session = transport.run(opening)$($await)*?;
                Ok(Self::opened(session, transport, options))
            }

            /// Connects to a database that several servers have, and stays with the first of them
            /// that can be used. If it fails later, the lookup asks the next one, in the order of
            /// the addresses, and with fresh queries. The choice depends on the servers
            /// alone, and never on what is looked up.
            ///
            /// A server can be used if its database has the same name, and is signed by the same
            /// owner with no lower sequence than was seen at any server, or has the same trusted
            /// root, scheme and parameters. The pins of all addresses hold for each of them. The
            /// token of the options is sent to each server that is tried.
            ///
            /// In schemes with client keys, the client registers with each server that it uses.
            /// [`Connection::register`], [`Connection::prepare_ahead`] and
            /// [`Connection::hold_ahead`] apply to the server that is used, which is the next one
            /// if they fail there: keys and masks of one server are of no use at another. With one
            /// address this is [`Connection::open_with`].
            ///
            /// # Errors
            /// The errors of the options; [`Error::Servers`](crate::Error::Servers) for a list that
            /// cannot be used, and for options with neither an owner's key nor a root nor pins;
            /// [`Error::NoServer`](crate::Error::NoServer), which names every server and its
            /// reason, if none can be used.
            pub $($async)? fn open_any<U: AsRef<str>>(
                urls: &[U],
                options: &Options,
            ) -> Result<Self> {
                if let [url] = urls {
                    return Self::open_with(url.as_ref(), options)$($await)*;
                }
                let servers = Servers::new(urls, options, Transport::new)?;
                Self::open_first(servers, options)$($await)*
            }

            /// The address of the server that is used.
            pub fn address(&self) -> &Address {
                self.session.service().address()
            }

            /// In schemes with client keys, registers with the service or resumes the saved
            /// registration. Lookups do this themselves. Call it earlier to send large keys ahead
            /// of time. If the database changes meanwhile, it starts again from the new public
            /// part, at most six times.
            ///
            /// # Errors
            /// Errors of the network, of the service, and of client state, such as
            /// [`Error::Passphrase`](crate::Error::Passphrase).
            pub $($async)? fn register(&mut self) -> Result<()> {
                self.run(|session| session.$register())$($await)*
            }

            /// The server's description of the database.
            pub fn info(&self) -> &DatabaseInfo {
                self.session.info()
            }

            /// The lookup client of the current version, which knows its sizes, security and
            /// parameters.
            pub fn lookup(&self) -> &Lookup {
                self.session.lookup()
            }

            /// The owner's checkpoint of the current version; `None` if the database is not signed.
            pub fn checkpoint(&self) -> Option<&Accepted> {
                self.session.checkpoint()
            }

            /// Does in advance the work of `lookups` lookups that does not depend on the keys or
            /// indices. In schemes with masks this decrypts masks, which takes seconds for each
            /// lookup. The connection and its clones keep the result in memory. Sends nothing
            /// except a missing registration.
            ///
            /// # Errors
            /// Errors of the network and of client state.
            pub $($async)? fn prepare_ahead(&mut self, lookups: usize) -> Result<()> {
                self.run(|session| session.$prepare_ahead(lookups))$($await)*
            }

            /// Sends the LWE keys of up to `lookups` later lookups ahead, and stores them with the
            /// client's state. These lookups are shorter, need no ticket and are faster to decode.
            /// Returns the number of lookups for which keys are stored. The tickets that the
            /// service prepares ahead limit it. The keys are valid for this version of the database
            /// only, and at this server.
            ///
            /// # Errors
            /// Errors of the network, of the service and of client state;
            /// [`papir_core::Error::Parameters`] for a scheme that sends no keys ahead.
            pub $($async)? fn hold_ahead(&mut self, lookups: usize) -> Result<usize> {
                self.run(|session| session.$hold_ahead(lookups))$($await)*
            }

            /// The value of a key; `None` if the database does not have the key.
            ///
            /// # Errors
            /// Errors of the network, of the service, and of [`papir_lookup::Pending::finish`].
            pub $($async)? fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
                let values = self.get_keys(&[key])$($await)*?;
                Ok(values.into_iter().next().flatten())
            }

            /// The values of several keys, in order. The server learns the number of keys.
            ///
            /// # Errors
            /// The errors of [`Connection::get_key`]. One failure fails all lookups.
            pub $($async)? fn get_keys<K: AsRef<[u8]>>(
                &mut self,
                keys: &[K],
            ) -> Result<Vec<Option<Vec<u8>>>> {
                let wanted: Vec<_> = keys.iter().map(|key| Wanted::Key(key.as_ref())).collect();
                self.get(&wanted)$($await)*
            }

            /// The record at an index.
            ///
            /// # Errors
            /// The errors of [`Connection::get_key`]. For an index beyond the last record,
            /// [`papir_core::Error::IndexOutOfRange`] after the answer: the connection queries
            /// record 0 instead, so that the server, which chooses the number of records, cannot
            /// observe it.
            pub $($async)? fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
                let records = self.get_indices(&[index])$($await)*?;
                Ok(records.into_iter().next().unwrap_or_default())
            }

            /// The records at several indices, in order. The server learns the number of indices.
            ///
            /// # Errors
            /// The errors of [`Connection::get_index`]. One failure fails all lookups.
            pub $($async)? fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
                let wanted: Vec<_> = indices.iter().map(|&index| Wanted::Index(index)).collect();
                let values = self.get(&wanted)$($await)*?;
                Ok(values.into_iter().map(Option::unwrap_or_default).collect())
            }
        }
    };
}

pub(crate) use define_connection;
