//! Prepared databases in memory.

use papir_core::erased::{self, ErasedScheme, ErasedServer, ErasedSession};
use papir_core::{
    Candidate, Description, FailureBound, Goal, NoProgress, OwnerKey, Records,
    Result as CoreResult, Shape, Target, Version,
};
use papir_lookup::{
    BucketTarget, Bundle, Entry, Estimate, KeyIds, KeywordLayout, LABEL_SLACK, Lengths, Lookup,
    OnDuplicate, Result, TableOptions, choose_bucket, least_table,
};
use papir_schemes::default_scheme::{
    ArrangedRecords, ClientsMaySee, CostOf, REFERENCE, SchemeWish, choose, choose_for_records,
    parameters_for, shown_by_reference,
};
use papir_schemes::registry;

use crate::DEFAULT_SCHEME;

/// Options for preparing a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scheme's name in the registry, or [`DEFAULT_SCHEME`] to choose it by the number and
    /// length of the records. A label of parameters is one of `inspire` then.
    pub scheme: String,
    /// The records that each client may see, if the scheme is chosen by the records.
    pub clients_may_see: ClientsMaySee,
    /// The goal for the choice of the scheme's parameters.
    pub goal: Goal,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// The rule for keys that have several entries.
    pub on_duplicate: OnDuplicate,
    /// Target length in bytes of a keyed table's buckets. A bucket is a record with a few entries;
    /// one query fetches one bucket. `None` chooses the length for the scheme and the goal.
    pub bucket: Option<BucketTarget>,
    /// Label of the scheme's parameters, as `papir plan --all` prints labels. For a keyed database,
    /// the numbers in it may differ by a fifth. `None` chooses the parameters for the goal.
    pub params: Option<String>,
    /// Free room for entries that [`Database::update`] adds, in per cent of the buckets that a
    /// keyed table's entries need.
    pub room: u32,
    /// The key under which [`ENCRYPTED_SCHEME`](crate::ENCRYPTED_SCHEME) encrypts the records;
    /// `None` for other schemes.
    pub owner_key: Option<OwnerKey>,
}

impl Default for Options {
    /// The default: a scheme that is chosen by the records, with parameters for a balanced goal.
    /// Duplicate keys are refused, the length of buckets is chosen for the scheme, and the table
    /// has no free room.
    fn default() -> Self {
        let TableOptions {
            on_duplicate, room, ..
        } = TableOptions::default();
        let scheme = DEFAULT_SCHEME.to_owned();
        let goal = Goal::default();
        let failure = FailureBound::default();
        Self {
            scheme,
            clients_may_see: ClientsMaySee::default(),
            goal,
            failure,
            on_duplicate,
            bucket: None,
            params: None,
            room,
            owner_key: None,
        }
    }
}

impl Options {
    /// The options with a scheme that is chosen by these entries, if none is named and the table's
    /// records do not decide.
    fn chosen_for(&self, entries: &[Entry]) -> Result<ChosenOptions> {
        let lengths = Lengths::of(entries.iter().map(|entry| entry.value.len()));
        let (Some(lengths), None) = (lengths, self.bucket) else {
            return Ok(ChosenOptions::named(self));
        };
        if !self.chooses_scheme() {
            return Ok(ChosenOptions::named(self));
        }

        // The buckets of the reference, mostly: what they show a client is the bound.
        let default = arranged(&Estimate::of(&lengths, BucketTarget::default())?)?;
        let most = shown_by_reference(default.shape.record_bytes() as u64);
        let class = lengths.class();
        let chosen = choose(&self.wish(), most, &|cost| least(&class, cost))?;
        Ok(ChosenOptions {
            options: self.with_scheme(chosen.scheme.name()),
            most,
        })
    }

    /// The options with a scheme that is chosen by records of this shape, if none is named.
    fn chosen_for_records(&self, shape: &Shape) -> CoreResult<ChosenOptions> {
        if !self.chooses_scheme() {
            return Ok(ChosenOptions::named(self));
        }

        let chosen = choose_for_records(&self.wish(), shape)?;
        Ok(ChosenOptions {
            options: self.with_scheme(chosen.scheme.name()),
            most: shown_by_reference(shape.record_bytes() as u64),
        })
    }

    /// Returns whether the records choose the scheme.
    fn chooses_scheme(&self) -> bool {
        self.scheme == DEFAULT_SCHEME && self.params.is_none()
    }

    fn with_scheme(&self, name: &str) -> Self {
        Self {
            scheme: name.to_owned(),
            ..self.clone()
        }
    }

    fn wish(&self) -> SchemeWish {
        SchemeWish {
            may_see: self.clients_may_see,
            target: self.target(),
            bounded_memory: false,
        }
    }

    fn target(&self) -> Target {
        Target {
            goal: self.goal,
            failure: self.failure,
        }
    }

    /// Options of the table for these entries.
    fn table(&self, entries: &[Entry]) -> Result<TableOptions> {
        let bucket = self
            .bucket
            .map_or_else(|| self.choose_bucket(entries), Ok)?;
        Ok(TableOptions {
            bucket,
            on_duplicate: self.on_duplicate,
            room: self.room,
        })
    }

    /// Options of a table that an update arranges again, with the bucket length of the first table.
    pub(crate) fn rebuilt_table(&self) -> TableOptions {
        let bucket = self.bucket.unwrap_or_default();
        TableOptions {
            bucket,
            on_duplicate: self.on_duplicate,
            room: self.room,
        }
    }

    fn choose_bucket(&self, entries: &[Entry]) -> Result<BucketTarget> {
        let lengths = Lengths::of(entries.iter().map(|entry| entry.value.len()));
        let (Some(lengths), None) = (lengths, &self.params) else {
            return Ok(BucketTarget::default());
        };
        let scheme = self.scheme()?;
        choose_bucket(&lengths, BucketTarget::Grow, |table| {
            let shape = Shape::of_bytes(table.records, table.record_bytes)?;
            Ok(self
                .candidate(scheme.as_ref(), shape, 0.0)?
                .seconds(self.goal, table.layout_bytes))
        })
    }

    fn scheme(&self) -> CoreResult<Box<dyn ErasedScheme>> {
        // A label of parameters names no scheme: it is one of the reference.
        let name = match self.scheme.as_str() {
            DEFAULT_SCHEME => REFERENCE,
            name => name,
        };
        Ok(registry::by_name(name)?.with_owner_key(self.owner_key.as_ref()))
    }

    /// The scheme's parameters, by label or by goal. Numbers in the label may differ by the
    /// fraction `slack`.
    fn candidate(
        &self,
        scheme: &dyn ErasedScheme,
        shape: Shape,
        slack: f64,
    ) -> CoreResult<Candidate> {
        match &self.params {
            Some(label) => {
                let all = scheme.candidates(shape, self.failure)?;
                Candidate::named(all, scheme.name(), label, slack)
            }
            None => scheme.candidate_for(shape, self.target()),
        }
    }
}

/// The records of an estimated table, and the bytes of its layout.
fn arranged(table: &Estimate) -> CoreResult<ArrangedRecords> {
    Ok(ArrangedRecords {
        shape: Shape::of_bytes(table.records, table.record_bytes)?,
        once: table.layout_bytes,
    })
}

/// The table of these lengths with the least cost; `None` if no table has one.
fn least(lengths: &Lengths, cost: &CostOf<'_>) -> Option<ArrangedRecords> {
    let table = least_table(lengths, BucketTarget::Grow, |table| {
        Ok(cost(arranged(table)?)?)
    });
    arranged(&table.ok()?).ok()
}

/// Options whose scheme may have been chosen by the records.
struct ChosenOptions {
    options: Options,
    /// The most bytes of records that a lookup may show its client; no bound for a named scheme.
    most: u64,
}

impl ChosenOptions {
    /// Options that name their scheme.
    fn named(options: &Options) -> Self {
        Self {
            options: options.clone(),
            most: u64::MAX,
        }
    }

    /// Prepares records with parameters that show a client no more than allowed, else with the
    /// reference.
    fn prepare(self, records: &dyn Records, keys: Option<Keys>) -> Result<Database> {
        let Self { options, most } = self;
        // A named scheme, or parameters by label.
        if most == u64::MAX {
            return Database::prepare(records, keys, &options);
        }

        let scheme = options.scheme()?;
        let wish = options.wish();
        match parameters_for(scheme.as_ref(), records.shape(), &wish, most) {
            Ok(candidate) => Database::set_up(scheme.as_ref(), &candidate, records, keys, &options),
            // The class was supported: only numbers at a bound of a scheme lead here.
            Err(_) => Database::prepare(records, keys, &options.with_scheme(REFERENCE)),
        }
    }
}

/// A prepared database, with which a server answers lookups.
pub struct Database {
    pub(crate) server: Box<dyn ErasedServer>,
    pub(crate) keys: Option<Keys>,
    pub(crate) options: Options,
}

/// The owner's data for updates of a keyed table.
pub(crate) struct Keys {
    pub(crate) layout: KeywordLayout,
    pub(crate) ids: KeyIds,
}

impl Database {
    /// Prepares a keyed database of pairs of key and value. A key is any byte string; a value has
    /// at most 64 KiB.
    ///
    /// # Errors
    /// The errors of [`papir_lookup::build`], in which the line is the number of the pair, from 1;
    /// [`papir_core::Error::UnknownScheme`]; and errors of the scheme's parameters and setup.
    pub fn build<K: Into<Vec<u8>>, V: Into<Vec<u8>>>(
        pairs: impl IntoIterator<Item = (K, V)>,
        options: &Options,
    ) -> Result<Self> {
        let mut entries = Vec::new();
        for (line, (key, value)) in (1..).zip(pairs) {
            entries.push(Entry {
                key: key.into(),
                value: value.into(),
                line,
            });
        }

        let mut chosen = options.chosen_for(&entries)?;
        let table = chosen.options.table(&entries)?;
        let rng = &mut papir_client::system_rng();
        let table_target = table.bucket;
        let table = papir_lookup::build(entries, &table, rng, &NoProgress)?;
        let keys = Keys {
            layout: table.layout,
            ids: table.ids,
        };

        // Buckets of a given length choose nothing before they are filled.
        if chosen.options.chooses_scheme() {
            chosen = chosen.options.chosen_for_records(&table.records.shape())?;
        }
        // Updates arrange the table by the same target.
        chosen.options.bucket = Some(table_target);
        chosen.prepare(&table.records, Some(keys))
    }

    /// Prepares records that are looked up by index.
    ///
    /// # Errors
    /// [`papir_core::Error::UnknownScheme`], and errors of the records and of the scheme's
    /// parameters and setup.
    pub fn build_records(records: &dyn Records, options: &Options) -> Result<Self> {
        let chosen = options.chosen_for_records(&records.shape())?;
        chosen.prepare(records, None)
    }

    pub(crate) fn prepare(
        records: &dyn Records,
        keys: Option<Keys>,
        options: &Options,
    ) -> Result<Self> {
        let scheme = options.scheme()?;
        let slack = if keys.is_some() { LABEL_SLACK } else { 0.0 };
        let candidate = options.candidate(scheme.as_ref(), records.shape(), slack)?;
        Self::set_up(scheme.as_ref(), &candidate, records, keys, options)
    }

    /// Prepares records with these parameters of the scheme.
    fn set_up(
        scheme: &dyn ErasedScheme,
        candidate: &Candidate,
        records: &dyn Records,
        keys: Option<Keys>,
        options: &Options,
    ) -> Result<Self> {
        let rng = &mut papir_client::system_rng();
        let server = scheme.setup_candidate(&candidate.parameters, records, rng, &NoProgress)?;
        Ok(Self {
            server,
            keys,
            options: options.clone(),
        })
    }

    /// The bundle: the public data that every client fetches once per version, as bytes.
    pub fn bundle(&self) -> Vec<u8> {
        let keyword = self.keys.as_ref().map(|keys| keys.layout.clone());
        let scheme_public = self.server.public();
        Bundle {
            scheme_public,
            keyword,
            commitment_top: None,
            prefilter: None,
        }
        .encode()
    }

    /// Creates a client in the same process. In another process, pass the
    /// [`bundle`](Database::bundle) to [`client_of`].
    ///
    /// # Errors
    /// The errors of [`client_under`].
    pub fn client(&self) -> Result<Lookup> {
        client_under(self.options.owner_key.as_ref(), &self.bundle())
    }

    /// Answers queries, in order. Queries of registered clients also need keys and tickets: use
    /// [`server`](Database::server) for them.
    ///
    /// # Errors
    /// The error of the first query that fails: an invalid envelope,
    /// [`papir_core::Error::WrongVersion`], or an error of the scheme.
    pub fn answer(&self, queries: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let session = ErasedSession::default();
        let batch: Vec<_> = queries
            .iter()
            .map(|query| (session, query.as_slice()))
            .collect();
        let answers: std::result::Result<Vec<_>, _> = self
            .server
            .answer_many(&batch, &NoProgress)
            .into_iter()
            .collect();
        Ok(answers?)
    }

    /// Describes the database: sizes, security, failure probability and parameters.
    pub fn describe(&self) -> Description {
        self.server.describe()
    }

    /// The version of the database. Queries are valid for one version only.
    pub fn version(&self) -> Version {
        self.server.version()
    }

    /// The scheme's server, which accepts keys of registered clients, prepares their tickets, and
    /// answers their queries.
    pub fn server(&self) -> &dyn ErasedServer {
        &*self.server
    }

    /// Splits the database into the scheme's server and the layout of the keys, for a custom
    /// service. The layout is `None` for a database without keys.
    pub fn into_parts(self) -> (Box<dyn ErasedServer>, Option<KeywordLayout>) {
        (self.server, self.keys.map(|keys| keys.layout))
    }
}

/// Creates a client from the bytes of a [`Database::bundle`].
///
/// # Errors
/// The errors of [`Bundle::decode`] and [`Lookup::new_verifying`];
/// [`papir_core::Error::UnknownScheme`]; [`papir_core::Error::NotPrivate`]; and errors in the
/// scheme's public part.
pub fn client_of(bundle: &[u8]) -> Result<Lookup> {
    client_under(None, bundle)
}

/// Creates a client from the bytes of a [`Database::bundle`], with the owner's key if the database
/// is encrypted. The client needs the key to register.
///
/// # Errors
/// The errors of [`client_of`], [`papir_core::Error::OwnerKey`] for another owner's key, and
/// [`papir_core::Error::Parameters`] for a key with a database that is not encrypted.
pub fn client_under(owner_key: Option<&OwnerKey>, bundle: &[u8]) -> Result<Lookup> {
    let bundle = Bundle::decode(bundle)?;
    let scheme = registry::by_id(erased::scheme_of_public(&bundle.scheme_public)?)?
        .with_owner_key(owner_key);
    let client = scheme.client(&bundle.scheme_public)?;
    Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::{NotPrivate, RecordBuffer};

    use super::*;
    use crate::{Error, system_rng};

    #[test]
    fn records_by_index_in_one_process() {
        let records = RecordBuffer::from_records((0u32..100).map(u32::to_le_bytes)).unwrap();
        let database = Database::build_records(&records, &Options::default()).unwrap();
        let client = database.client().unwrap();
        for index in [0, 57, 99] {
            let lookup = client.prepare_index(index, &mut system_rng()).unwrap();
            let answers = database.answer(lookup.queries()).unwrap();
            assert_eq!(
                lookup.finish(&answers).unwrap().unwrap(),
                (index as u32).to_le_bytes()
            );
        }
        assert!(matches!(
            client.prepare_key(b"x", &mut system_rng()),
            Err(Error::NotKeyed)
        ));
    }

    #[test]
    fn a_scheme_is_chosen_by_the_records_and_kept() {
        let pairs = |count: u32| (0..count).map(|i| (format!("key-{i}"), format!("value-{i}")));
        let few = Database::build(pairs(2), &Options::default()).unwrap();
        assert_eq!(few.describe().scheme, "download");

        let many = Database::build(pairs(5000), &Options::default()).unwrap();
        let scheme = many.describe().scheme;
        assert_ne!(scheme, "download");
        let bound = Some(shown_by_reference(4096));
        assert!(many.describe().sizes.seen <= bound, "{scheme}");

        let grown = few.update(pairs(5000).map(|(key, value)| (key, Some(value))));
        assert_eq!(grown.unwrap().describe().scheme, "download");
        let all = Options {
            clients_may_see: ClientsMaySee::All,
            ..Options::default()
        };
        let sent = Database::build(pairs(5000), &all).unwrap();
        assert_eq!(sent.describe().scheme, "download");
    }

    #[test]
    fn bad_options_and_bad_bytes_are_typed_errors() {
        let options = Options {
            scheme: "nonsense".into(),
            ..Options::default()
        };
        let unknown = Database::build([("a", "b")], &options);
        assert!(matches!(
            unknown,
            Err(Error::Core(papir_core::Error::UnknownScheme { .. }))
        ));
        // A scheme that is not private is refused: no option allows it.
        for scheme in ["plain", "newtonsym"] {
            let options = Options {
                scheme: scheme.into(),
                ..Options::default()
            };
            let refused = Database::build([("a", "b")], &options);
            assert!(
                matches!(
                    refused,
                    Err(Error::Core(papir_core::Error::NotPrivate { .. }))
                ),
                "{scheme}"
            );
        }
        let twice = Database::build([("a", "b"), ("a", "c")], &Options::default());
        assert!(matches!(
            twice,
            Err(Error::DuplicateKey {
                first: 1,
                line: 2,
                ..
            })
        ));
        let none = Database::build([("", ""); 0], &Options::default());
        assert!(matches!(
            none,
            Err(Error::Core(papir_core::Error::EmptyDatabase))
        ));

        // A server cannot make a client of such a scheme either.
        let plain = registry::by_name("plain")
            .unwrap()
            .allow_insecure(NotPrivate::acknowledged());
        let records = RecordBuffer::from_records([[1u8; 4]]).unwrap();
        let plain = plain
            .setup(&records, Goal::default(), &mut system_rng(), &NoProgress)
            .unwrap();
        let bundle = Bundle {
            scheme_public: plain.public(),
            keyword: None,
            commitment_top: None,
            prefilter: None,
        };
        let refused = client_of(&bundle.encode()).map(drop);
        assert!(matches!(
            refused,
            Err(Error::Core(papir_core::Error::NotPrivate { .. }))
        ));

        let database = Database::build([("a", "b")], &Options::default()).unwrap();
        let bundle = database.bundle();
        assert!(client_of(&bundle[..bundle.len() - 1]).is_err());
        let other = Database::build([("a", "b")], &Options::default()).unwrap();
        let lookup = database
            .client()
            .unwrap()
            .prepare_key(b"a", &mut system_rng())
            .unwrap();
        let foreign = other.answer(lookup.queries());
        assert!(matches!(
            foreign,
            Err(Error::Core(papir_core::Error::WrongVersion { .. }))
        ));
    }
}
