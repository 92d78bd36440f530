//! Administration of a database's registered clients.

/// Defines `Registrations`.
macro_rules! define_registrations {
    ([$($async:tt)?] [$($await:tt)*]) => {
        /// The registered clients of a database, for its operator.
        pub struct Registrations {
            clients: RegisteredClients,
            transport: Transport,
        }

        impl Registrations {
            /// Opens the list of registered clients. The database is the one named by the options,
            /// else by `url`, else the service's only one.
            ///
            /// # Errors
            /// [`Error::BadUrl`](crate::Error::BadUrl),
            /// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
            /// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase), errors of the network.
            pub $($async)? fn open(url: &str, options: &Options) -> Result<Self> {
                let service = options.service(url)?;
                let transport = Transport::new(service.address(), options)?;
                let opening = RegisteredClients::open(service, options.settings());
                let clients = transport.run(opening)$($await)*?;
                Ok(Self { clients, transport })
            }

            /// All registered clients.
            ///
            /// # Errors
            /// Errors of the network; [`Error::Http`](crate::Error::Http) if the service does not
            /// allow the list.
            pub $($async)? fn list(&self) -> Result<Vec<ClientStatus>> {
                self.transport.run(self.clients.list())$($await)*
            }

            /// The status of the client with this id; `None` if the service has no such client.
            ///
            /// # Errors
            /// Errors of the network, and [`Error::BadUrl`](crate::Error::BadUrl) for an id that is
            /// not 32 hexadecimal digits.
            pub $($async)? fn show(&self, id: &str) -> Result<Option<ClientStatus>> {
                self.transport.run(self.clients.show(id))$($await)*
            }

            /// Removes the client with this id. Returns false if the service has no such client.
            ///
            /// # Errors
            /// Errors of the network, and [`Error::BadUrl`](crate::Error::BadUrl) for an id that is
            /// not 32 hexadecimal digits.
            pub $($async)? fn evict(&self, id: &str) -> Result<bool> {
                self.transport.run(self.clients.evict(id))$($await)*
            }
        }
    };
}

pub(crate) use define_registrations;
