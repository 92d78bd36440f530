//! Calls over connections to several servers.

/// Defines the private methods of a `Connection` that choose a server.
///
/// The module's `Connection` has the fields `session`, `transport` and `servers`, and the private
/// functions `opened`, `look_up` and `run_once`. The last argument is the type of a function that
/// makes a task of a session with the outcome `T`, as `run_once` takes it.
macro_rules! define_servers {
    ([$($async:tt)?] [$($await:tt)*] [$($make:tt)+]) => {
        impl Connection {
            /// Opens a connection to the first of the servers that can be used.
            $($async)? fn open_first(
                mut servers: Servers<Transport>,
                options: &Options,
            ) -> Result<Self> {
                let settings = servers.settings(options);
                let mut search = servers.search();
                let end = servers.tried_by(&search).transport.end();

                loop {
                    let ServerAt { service, transport } = servers.tried_by(&search).clone();
                    let opening = Session::open(service, settings.clone());
                    let limited = transport.until(share(end, search.left()));

                    let error = match limited.run(opening)$($await)* {
                        Ok(session) => {
                            servers.stay_with(&search);
                            let opened = Self::opened(session, transport, options);
                            return Ok(Self { servers, ..opened });
                        }
                        // Nothing was looked up yet, so that a damaged public part tells nothing.
                        Err(error) if error.is_of_server() || error.is_of_answer() => error,
                        Err(error) => return Err(error),
                    };
                    let pause = servers.pass_over(&mut search, end, error)?;
                    transport.until(end).run(wait_for(pause))$($await)*?;
                }
            }

            /// Looks up keys or indices. The first error fails all lookups.
            $($async)? fn get(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
                let found = self.get_each(wanted)$($await)*?;
                found.into_iter().collect()
            }

            /// Looks up keys or indices, with an outcome for each. If the server fails before an
            /// answer is decoded, looks all of them up at the next server, with fresh queries.
            pub(super) $($async)? fn get_each(
                &mut self,
                wanted: &[Wanted<'_>],
            ) -> Result<Vec<FoundValue>> {
                let end = self.transport.end();
                let mut search = self.servers.search();

                loop {
                    let limited = self.transport.until(share(end, search.left()));
                    match self.look_up(&limited, wanted)$($await)* {
                        Err(error) if search.has_others() && error.is_of_server() => {
                            self.move_on(&mut search, end, error)$($await)*?;
                        }
                        found => return found,
                    }
                }
            }

            /// Runs a task of the session. If the server fails, runs the task at the next server,
            /// with the session moved there.
            $($async)? fn run<T: Send + 'static>(&mut self, make: $($make)+) -> Result<T> {
                let end = self.transport.end();
                let mut search = self.servers.search();

                loop {
                    let limited = self.transport.until(share(end, search.left()));
                    match self.run_once(&limited, &make)$($await)* {
                        Err(error) if search.has_others() && error.is_of_server() => {
                            self.move_on(&mut search, end, error)$($await)*?;
                        }
                        done => return done,
                    }
                }
            }

            /// Moves to the next server that can be used, after an error of the current one. `end`
            /// is the end of the call.
            $($async)? fn move_on(
                &mut self,
                search: &mut ServerSearch,
                end: Option<Instant>,
                mut error: Error,
            ) -> Result<()> {
                loop {
                    let pause = self.servers.pass_over(search, end, error)?;
                    self.transport.until(end).run(wait_for(pause))$($await)*?;

                    let ServerAt { service, transport } = self.servers.tried_by(search).clone();
                    let moving = self.session.clone().moved(service);
                    let limited = transport.until(share(end, search.left()));
                    error = match limited.run(moving)$($await)* {
                        Ok(session) => {
                            self.session = session;
                            self.transport = transport;
                            self.servers.stay_with(search);
                            return Ok(());
                        }
                        Err(error) if error.is_of_server() || error.is_of_answer() => error,
                        Err(error) => return Err(error),
                    };
                }
            }
        }
    };
}

pub(crate) use define_servers;
