//! Description of a database that the peer sends.

use papir_checkpoint::Log;
use papir_client::core::Response;
use papir_client::{DatabaseInfo, SizesInfo};
use papir_lookup::{BlockList, BlockRanges, KeywordLayout};
use papir_protocol::{CheckpointInfo, code, header};

use super::{Call, EPOCH, MAX_BATCH, Offer, Peer, refusal};

impl Peer {
    pub(super) fn info(&self) -> DatabaseInfo {
        let Offer {
            server,
            keyword,
            bundle,
            ..
        } = self.newest();
        let description = server.describe();
        let version = server.version();
        let sizes = description.sizes;
        let shape = description.shape;
        DatabaseInfo {
            name: self.name.into(),
            scheme: description.scheme.into(),
            version: version.to_string(),
            records: shape.records(),
            record_bits: shape.record_bits(),
            keyed: keyword.is_some(),
            lookups_per_key: keyword.as_ref().map(KeywordLayout::lookups),
            max_batch: MAX_BATCH,
            private: true,
            sizes: SizesInfo {
                bundle: bundle.len() as u64,
                public: sizes.public,
                hint: sizes.hint,
                keys: sizes.keys,
                query: sizes.query,
                answer: sizes.answer,
                database: sizes.database,
                material: sizes.material,
            },
            security_bits: None,
            security_source: None,
            failure_log2: None,
            parameters: Default::default(),
            checkpoint: self.shown().map(|log| {
                let sequence = log.newest().unwrap().sequence;
                CheckpointInfo {
                    sequence,
                    time: EPOCH,
                }
            }),
            delta: self.delta.clone(),
            short_messages: self.takes_short_messages(),
            prefilter: None,
        }
    }

    /// The checkpoint that is shown next.
    fn shown(&self) -> Option<&Log> {
        self.behind.front().or(self.log.as_ref())
    }

    pub(super) fn proof(&mut self) -> Response {
        let Some(log) = self.shown() else {
            return refusal(404, code::NO_CHECKPOINT);
        };
        let body = log.proof().unwrap().encode().unwrap().into_bytes();
        self.behind.pop_front();
        let headers = vec![(
            "papir-version".to_owned(),
            self.newest().server.version().to_string(),
        )];
        Response {
            status: 200,
            headers,
            body: Ok(body),
        }
    }

    pub(super) fn public(&self, call: &Call) -> Response {
        let Offer { server, bundle, .. } = self.newest();
        let version = server.version().to_string();
        let tag = format!("\"{}\"", server.version());
        let unchanged = call.header(header::IF_NONE_MATCH) == Some(tag.as_str());
        let headers = vec![
            ("papir-version".to_owned(), version),
            ("etag".to_owned(), tag),
        ];
        let (status, body) = if unchanged {
            (304, Vec::new())
        } else {
            (200, bundle.to_vec())
        };
        Response {
            status,
            headers,
            body: Ok(body),
        }
    }

    /// The filter of the keys of the newest version.
    pub(super) fn prefilter(&self) -> Response {
        let Offer { server, filter, .. } = self.newest();
        let Some(filter) = filter else {
            return refusal(404, code::NO_PREFILTER);
        };

        let version = server.version().to_string();
        Response {
            status: 200,
            headers: vec![(header::VERSION.to_owned(), version)],
            body: Ok(filter.to_vec()),
        }
    }

    /// The list of the blocks of the newest version.
    pub(super) fn hashes(&self, version: &str) -> Response {
        let list = BlockList::of(&self.newest().bundle);
        self.of_newest(version, list.encode())
    }

    /// Some blocks of the newest version.
    pub(super) fn blocks(&self, version: &str, text: &str) -> Response {
        let bundle = &self.newest().bundle;
        let list = BlockList::of(bundle);
        let ranges = BlockRanges::parse(text, list.blocks()).unwrap();

        let mut blocks = Vec::new();
        for place in list.places(&ranges) {
            blocks.extend_from_slice(&bundle[place]);
        }
        self.of_newest(version, blocks)
    }

    /// The response with these bytes, if the newest version is asked for.
    fn of_newest(&self, version: &str, bytes: Vec<u8>) -> Response {
        if !self.serves_blocks {
            return refusal(404, code::UNKNOWN_ROUTE);
        }
        if version != self.newest().server.version().to_string() {
            return refusal(409, code::WRONG_VERSION);
        }

        Response {
            status: 200,
            headers: vec![(header::VERSION.to_owned(), version.to_owned())],
            body: Ok(bytes),
        }
    }
}
