//! Private set intersection.

/// Defines the functions of a module, which has a function `element` that makes an element of a
/// task from bytes.
macro_rules! define_psi {
    ([$($async:tt)?] [$($await:tt)*]) => {
        /// Finds which of `elements` are in the set of the service at `url`, and their labels. The
        /// service learns the approximate number of elements ([`papir_lookup::psi::padded`]) and
        /// nothing else. If client state has a directory, the set's filter is stored there, and
        /// fetched again only when the set changes.
        ///
        /// # Errors
        /// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network and of the service
        /// (status 404 without a set), errors of verification if the set must be signed or
        /// verifiable, [`Error::TooLarge`](crate::Error::TooLarge) for a filter beyond the download
        /// limit, and [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ or more bytes.
        pub $($async)? fn intersect<E: AsRef<[u8]>>(
            url: &str,
            elements: &[E],
            options: &Options,
        ) -> Result<Intersection> {
            let service = options.service(url)?;
            let elements = elements.iter().map(|one| element(one.as_ref())).collect();
            let transport = Transport::new(service.address(), options)?;
            let task = psi::intersect(service, options.settings(), elements);
            transport.run(task)$($await)*
        }

        /// Like [`intersect`], with a set that several servers have, at the first of them that can
        /// be used. If it fails, asks the next one, in the order of the addresses, and with fresh
        /// blinds. The choice depends on the servers alone, and never on the elements.
        ///
        /// All servers must serve copies of one prepared set, which has the key: the same elements
        /// prepared again are another set. The first description decides, and a server that
        /// describes another set is passed over before any element is sent to it, unless it has
        /// replaced its own. A set need not be signed: its servers have the owner's key of the set,
        /// and each is trusted as the only one would be. The token of the options is sent to each
        /// server that is tried. With one address this is [`intersect`].
        ///
        /// # Errors
        /// The errors of the options; [`Error::Servers`](crate::Error::Servers) for a list that
        /// cannot be used; [`Error::NoServer`](crate::Error::NoServer), which names every server
        /// and its reason, if none can be used; errors of answers that do not decode, which lead to
        /// no other server.
        pub $($async)? fn intersect_any<U: AsRef<str>, E: AsRef<[u8]>>(
            urls: &[U],
            elements: &[E],
            options: &Options,
        ) -> Result<Intersection> {
            if let [url] = urls {
                return intersect(url.as_ref(), elements, options)$($await)*;
            }
            let servers = Servers::of_set(urls, options, Transport::new)?;
            let settings = servers.settings(options);
            let attempts = SetAttempts::default();
            let mut search = servers.search();
            let end = servers.tried_by(&search).transport.end();

            loop {
                let ServerAt { service, transport } = servers.tried_by(&search).clone();
                let elements = elements.iter().map(|one| element(one.as_ref())).collect();
                let task =
                    psi::intersect_again(service, settings.clone(), elements, attempts.clone());
                let limited = transport.until(share(end, search.left()));

                match limited.run(task)$($await)* {
                    Err(error) if error.is_of_server() => {
                        let pause = servers.pass_over(&mut search, end, error)?;
                        transport.until(end).run(wait_for(pause))$($await)*?;
                    }
                    found => {
                        let time = search.elapsed();
                        return found.map(|found| Intersection { time, ..found });
                    }
                }
            }
        }

        /// Describes the set of a service.
        ///
        /// # Errors
        /// [`crate::Error::BadUrl`]; errors of the network and of the service (status 404 without a
        /// set).
        pub $($async)? fn describe(url: &str, options: &Options) -> Result<PsiInfo> {
            let service = options.service(url)?;
            let transport = Transport::new(service.address(), options)?;
            transport.run(psi::describe(service))$($await)*
        }
    };
}

pub(crate) use define_psi;
