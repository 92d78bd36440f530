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
