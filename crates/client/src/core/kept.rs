//! The kept version of a database, and lookups whose answers come in files.
//!
//! ```text
//! format version, 1 (1 byte); then length (8) and bytes of the database's name, of its description
//! in JSON, of the text of the pinned owner's key (empty without one), and of the public part;
//! number of lookups that wait for answers (1), and for each of them
//!   seed of its randomness (32); 0 for a key, 1 for an index (1);
//!   length (8) and bytes of the key or the index, of the client's id, of the state before the
//!   query, and of the query as it was sent
//! ```
//!
//! A waiting lookup has all that its answer needs, so that a later registration does not matter.
//! Its query is made again from the seed, and never sent again.

use std::fmt;

use papir_checkpoint::Accepted;
use papir_core::codec::Reader;
use papir_core::{Error as CoreError, Formats, Result as CoreResult};
use papir_lookup::Wanted;
use papir_protocol::DatabaseInfo;
use zeroize::Zeroizing;

use super::owner_pin::PinnedOwner;
use super::public_cache::PublicCache;
use super::service::Service;
use super::settings::{KnownVersion, Settings};
use super::storage::SlotStorage;
use super::store::SavedVersion;
use super::task::Io;
use crate::error::{Error, Result};

/// Format numbers of kept versions.
const FORMATS: Formats = Formats {
    what: "a kept version",
    oldest: 1,
    written: 1,
    renew: "fetch it again: `papir query --renew`",
};
/// Maximum number of lookups that wait for their answers.
const MAX_WAITING: usize = 64;
/// Longest public part that is kept, in bytes: 32 MiB. A kept version is one file, which is written
/// again for each query in a file.
const MAX_BUNDLE: u64 = 32 << 20;
/// Longest record in bytes: 48 MiB. Storages read at most 64 MiB.
const MAX_RECORD: usize = 48 << 20;
const KEY: u8 = 0;
const INDEX: u8 = 1;

/// A kept version of a database, with the lookups that wait for answers from it.
pub(crate) struct VersionRecord {
    pub(crate) name: String,
    pub(crate) info: DatabaseInfo,
    /// The text of the owner's pin when the version was kept; empty for an unsigned database.
    pub(crate) owner: String,
    /// The public part.
    pub(crate) bundle: Vec<u8>,
    pub(crate) waiting: Vec<WaitingLookup>,
}

/// A lookup whose query was made, and whose answer is missing. It is secret.
pub(crate) struct WaitingLookup {
    /// Seed of the query's randomness.
    pub(crate) seed: Zeroizing<[u8; 32]>,
    pub(crate) wanted: KeptWanted,
    /// The client's id.
    pub(crate) client: String,
    /// The client's state before the query.
    pub(crate) state: Zeroizing<Vec<u8>>,
    /// The query as it was sent.
    pub(crate) query: Vec<u8>,
}

/// A key or an index, wiped when dropped.
pub(crate) struct KeptWanted {
    is_index: bool,
    bytes: Zeroizing<Vec<u8>>,
}

impl KeptWanted {
    pub(crate) fn of(wanted: Wanted<'_>) -> Self {
        match wanted {
            Wanted::Key(key) => Self {
                is_index: false,
                bytes: Zeroizing::new(key.to_vec()),
            },
            Wanted::Index(index) => Self {
                is_index: true,
                bytes: Zeroizing::new(index.to_le_bytes().to_vec()),
            },
        }
    }

    /// The key or the index.
    ///
    /// # Errors
    /// [`CoreError::Length`] for an index of another length.
    pub(crate) fn wanted(&self) -> CoreResult<Wanted<'_>> {
        if !self.is_index {
            return Ok(Wanted::Key(&self.bytes));
        }
        let mut reader = Reader::new("an index", &self.bytes);
        let index = reader.u64()?;
        reader.finish()?;
        Ok(Wanted::Index(index))
    }
}

impl fmt::Debug for VersionRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VersionRecord(…)")
    }
}

impl VersionRecord {
    /// Encodes the version and the waiting lookups.
    ///
    /// # Errors
    /// [`CoreError::Malformed`] for too many waiting lookups, and for too many bytes.
    fn encode(&self) -> CoreResult<Zeroizing<Vec<u8>>> {
        let count = self.waiting.len();
        if count > MAX_WAITING {
            return Err(too_many(count));
        }

        let info = serde_json::to_vec(&self.info).map_err(bad_description)?;
        let head = [
            self.name.as_bytes(),
            &info,
            self.owner.as_bytes(),
            &self.bundle,
        ];
        let of_head: usize = head.iter().map(|part| 8 + part.len()).sum();
        let of_waiting: usize = self.waiting.iter().map(WaitingLookup::encoded_bytes).sum();

        let length = 2 + of_head + of_waiting;
        // Written, it could not be read again.
        if length > MAX_RECORD {
            return Err(too_long(length));
        }

        // Allocated in full: growing would leave a copy of the secrets in freed memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        bytes.push(FORMATS.written as u8);
        for part in head {
            append(&mut bytes, part);
        }
        bytes.push(count as u8);
        for waiting in &self.waiting {
            waiting.append_to(&mut bytes);
        }
        Ok(bytes)
    }

    /// Decodes a version and its waiting lookups.
    ///
    /// # Errors
    /// [`CoreError::Format`], [`CoreError::Length`] or [`CoreError::Malformed`].
    pub(crate) fn decode(bytes: &[u8]) -> CoreResult<Self> {
        let mut reader = Reader::new("a kept version", bytes);
        FORMATS.check(reader.u8()?.into())?;

        let name = text(reader.bytes()?);
        let info = serde_json::from_slice(reader.bytes()?).map_err(bad_description)?;
        let owner = text(reader.bytes()?);
        let bundle = reader.bytes()?.to_vec();

        let count = usize::from(reader.u8()?);
        if count > MAX_WAITING {
            return Err(too_many(count));
        }
        let mut waiting = Vec::with_capacity(count);
        for _ in 0..count {
            waiting.push(WaitingLookup::read(&mut reader)?);
        }
        reader.finish()?;

        Ok(Self {
            name,
            info,
            owner,
            bundle,
            waiting,
        })
    }
}

impl WaitingLookup {
    /// The parts with a length before them.
    fn parts(&self) -> [&[u8]; 4] {
        [
            &self.wanted.bytes,
            self.client.as_bytes(),
            &self.state,
            &self.query,
        ]
    }

    fn encoded_bytes(&self) -> usize {
        let parts: usize = self.parts().iter().map(|part| 8 + part.len()).sum();
        33 + parts
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.seed.as_slice());
        bytes.push(if self.wanted.is_index { INDEX } else { KEY });
        for part in self.parts() {
            append(bytes, part);
        }
    }

    fn read(reader: &mut Reader<'_>) -> CoreResult<Self> {
        let seed = Zeroizing::new(reader.array()?);
        let is_index = match reader.u8()? {
            KEY => false,
            INDEX => true,
            other => return Err(CoreError::malformed("a waiting lookup", other, "0 or 1")),
        };

        let wanted = KeptWanted {
            is_index,
            bytes: Zeroizing::new(reader.bytes()?.to_vec()),
        };
        wanted.wanted()?;
        Ok(Self {
            seed,
            wanted,
            client: text(reader.bytes()?),
            state: Zeroizing::new(reader.bytes()?.to_vec()),
            query: reader.bytes()?.to_vec(),
        })
    }
}

fn append(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
    bytes.extend_from_slice(part);
}

/// The text of bytes, in which the replacement character stands for parts that are not UTF-8.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn bad_description(error: serde_json::Error) -> CoreError {
    CoreError::malformed("a kept version's description", error, "JSON of a database")
}

fn too_many(count: usize) -> CoreError {
    let found = format!("{count} waiting lookups");
    let expected = format!(
        "at most {MAX_WAITING}: extract some, or drop all and renew the version \
         (`papir query --renew`)"
    );
    CoreError::malformed("a kept version", found, expected)
}

fn too_long(length: usize) -> CoreError {
    let found = format!("{length} bytes");
    let expected = format!("at most {MAX_RECORD}: extract lookups that wait");
    CoreError::malformed("a kept version", found, expected)
}

/// Decodes a version and encodes it again, for fuzzing.
#[cfg(feature = "files")]
pub(crate) fn reencoded(record: &[u8]) -> CoreResult<Vec<u8>> {
    Ok(VersionRecord::decode(record)?.encode()?.to_vec())
}

/// The slot of the kept version: of the database that the caller names, or else of the service.
pub(crate) fn slot(service: &Service, settings: &Settings) -> String {
    let named = service.named(settings).map_or("", String::as_str);
    service.unlinked_slot(service.address.identity(named))
}

/// Reads the kept version; `None` if there is none.
pub(crate) async fn read(
    io: &Io,
    service: &Service,
    settings: &Settings,
) -> Result<Option<VersionRecord>> {
    let slot = slot(service, settings);
    match SlotStorage::new(io, &slot).version().await? {
        Some(SavedVersion(bytes)) => Ok(Some(VersionRecord::decode(&bytes)?)),
        None => Ok(None),
    }
}

/// Changes the kept version under the slot's lock. The change is durable on return. Fails with
/// [`CoreError::Malformed`] if no version is kept.
pub(crate) async fn change<T>(
    io: &Io,
    service: &Service,
    settings: &Settings,
    work: impl FnOnce(&mut VersionRecord) -> Result<T>,
) -> Result<T> {
    let slot = slot(service, settings);
    let lock = SlotStorage::new(io, &slot).lock().await?;
    let Some(SavedVersion(bytes)) = lock.version().await? else {
        let expected = "one that a query was made for (`papir query`)";
        return Err(CoreError::malformed("a kept version", "none", expected).into());
    };

    let mut kept = VersionRecord::decode(&bytes)?;
    let value = work(&mut kept)?;
    lock.keep_version(SavedVersion(kept.encode()?)).await?;
    Ok(value)
}

/// A version to keep.
pub(crate) struct NewVersion<'a> {
    pub(crate) name: &'a str,
    pub(crate) info: &'a DatabaseInfo,
    /// The owner's pin; `None` for an unsigned database.
    pub(crate) owner: Option<&'a PinnedOwner>,
    /// The owner's checkpoint of the version; `None` for an unsigned database.
    pub(crate) accepted: Option<&'a Accepted>,
}

/// Keeps a version for later sessions, if the settings say so. Lookups that wait for answers from
/// another version keep that one, unless it is renewed. A version with a delta is not kept, since a
/// delta changes too often, nor one with a public part of more than [`MAX_BUNDLE`] bytes.
pub(crate) async fn keep(
    io: &Io,
    service: &Service,
    settings: &Settings,
    new: NewVersion<'_>,
) -> Result<()> {
    let NewVersion {
        name,
        info,
        owner,
        accepted,
    } = new;
    let is_fit = info.delta.is_none() && info.sizes.bundle <= MAX_BUNDLE;
    if settings.known == KnownVersion::Ask || !is_fit {
        return Ok(());
    }
    let cache = PublicCache::new(io, service, name, settings);
    let length = info.sizes.bundle;
    let stored = cache.read_any(length, length).await;
    let Some(copy) = stored.filter(|copy| copy.version == info.version) else {
        return Ok(());
    };
    let bundle = copy.bytes;

    // Another program may have replaced the copy since the session checked it, and a kept version
    // is used without the owner's signature.
    let is_signed = accepted.is_none_or(|one| one.leaf.check_public_part(&bundle).is_ok());
    if !is_signed {
        return Ok(());
    }

    let slot = slot(service, settings);
    let lock = SlotStorage::new(io, &slot).lock().await?;
    let mut waiting = Vec::new();
    if settings.known == KnownVersion::Use
        && let Some(SavedVersion(bytes)) = lock.version().await?
    {
        let kept = VersionRecord::decode(&bytes)?;
        if kept.info.version != info.version && !kept.waiting.is_empty() {
            return Ok(());
        }
        waiting = kept.waiting;
    }

    let kept = VersionRecord {
        name: name.to_owned(),
        info: info.clone(),
        owner: owner.map(PinnedOwner::encode).unwrap_or_default(),
        bundle,
        waiting,
    };
    lock.keep_version(SavedVersion(kept.encode()?)).await
}

/// Adds a lookup whose query was made for a version. The lookup is durable on return. Only then may
/// its query leave the client.
pub(crate) async fn add_waiting(
    io: &Io,
    service: &Service,
    settings: &Settings,
    version: &str,
    waiting: WaitingLookup,
) -> Result<()> {
    change(io, service, settings, |kept| {
        if kept.info.version == version {
            kept.waiting.push(waiting);
            return Ok(());
        }

        let found = format!("version {}", kept.info.version);
        let expected =
            format!("{version}, for which the query is: extract what waits, or renew the version");
        Err(Error::from(CoreError::malformed(
            "a kept version",
            found,
            expected,
        )))
    })
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_protocol::SizesInfo;

    use super::*;

    fn info() -> DatabaseInfo {
        DatabaseInfo {
            name: "words".into(),
            scheme: "pirouette".into(),
            version: "0102030405060708".into(),
            records: 5,
            record_bits: 8,
            keyed: true,
            lookups_per_key: Some(1),
            max_batch: 64,
            private: true,
            sizes: SizesInfo {
                bundle: 1,
                public: 2,
                hint: 3,
                keys: 4,
                query: 5,
                answer: 6,
                database: 7,
                material: 8,
            },
            security_bits: None,
            security_source: None,
            failure_log2: None,
            parameters: Default::default(),
            checkpoint: None,
            delta: None,
            short_messages: true,
            prefilter: None,
        }
    }

    fn waiting(wanted: Wanted<'_>) -> WaitingLookup {
        WaitingLookup {
            seed: Zeroizing::new([7; 32]),
            wanted: KeptWanted::of(wanted),
            client: "0".repeat(32),
            state: Zeroizing::new(b"state".to_vec()),
            query: b"query".to_vec(),
        }
    }

    fn kept(waiting: Vec<WaitingLookup>) -> VersionRecord {
        VersionRecord {
            name: "words".into(),
            info: info(),
            owner: "pin".into(),
            bundle: b"bundle".to_vec(),
            waiting,
        }
    }

    #[test]
    fn a_version_is_read_back() {
        let lookups = vec![waiting(Wanted::Key(b"key")), waiting(Wanted::Index(300))];
        let bytes = kept(lookups).encode().unwrap();
        let again = VersionRecord::decode(&bytes).unwrap();
        assert_eq!(
            (again.name.as_str(), again.owner.as_str()),
            ("words", "pin")
        );
        assert_eq!(
            (again.info.clone(), &again.bundle[..]),
            (info(), &b"bundle"[..])
        );
        assert!(matches!(
            again.waiting[0].wanted.wanted().unwrap(),
            Wanted::Key(b"key")
        ));
        assert!(matches!(
            again.waiting[1].wanted.wanted().unwrap(),
            Wanted::Index(300)
        ));
        assert_eq!(*again.encode().unwrap(), *bytes);

        for length in 0..bytes.len() {
            assert!(VersionRecord::decode(&bytes[..length]).is_err(), "{length}");
        }
        let newer = [&[2][..], &bytes[1..]].concat();
        let refused = VersionRecord::decode(&newer).unwrap_err();
        assert!(matches!(refused, CoreError::Format { found: 2, .. }));
    }

    #[test]
    fn the_layout_of_a_waiting_lookup_is_golden() {
        let mut bytes = Vec::new();
        let lookup = waiting(Wanted::Index(300));
        lookup.append_to(&mut bytes);
        let golden = [
            &[7; 32][..],
            &[1, 8, 0, 0, 0, 0, 0, 0, 0, 44, 1, 0, 0, 0, 0, 0, 0],
            &[32, 0, 0, 0, 0, 0, 0, 0],
            &[b'0'; 32],
            b"\x05\0\0\0\0\0\0\0state\x05\0\0\0\0\0\0\0query",
        ]
        .concat();
        assert_eq!(bytes, golden);
        assert_eq!(lookup.encoded_bytes(), golden.len());
    }

    #[test]
    fn a_record_that_storages_would_not_read_is_refused() {
        let mut version = kept(Vec::new());
        let rest = version.encode().unwrap().len() - version.bundle.len();
        version.bundle = vec![7; MAX_RECORD - rest];
        assert_eq!(version.encode().unwrap().len(), MAX_RECORD);

        version.bundle.push(7);
        let refused = version.encode().unwrap_err().to_string();
        assert!(refused.contains("at most 50331648"), "{refused}");
    }

    #[test]
    fn too_many_lookups_are_refused() {
        let lookups = |count| (0..count).map(|_| waiting(Wanted::Index(1))).collect();
        let mut bytes = kept(lookups(MAX_WAITING)).encode().unwrap().to_vec();
        assert!(kept(lookups(MAX_WAITING + 1)).encode().is_err());

        let of_head = kept(Vec::new()).encode().unwrap().len();
        bytes[of_head - 1] += 1;
        assert!(VersionRecord::decode(&bytes).is_err());
    }
}
