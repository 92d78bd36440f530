//! Description of a database that the peer sends.

use papir_checkpoint::Log;
use papir_client::core::Response;
use papir_client::{DatabaseInfo, SizesInfo};
use papir_lookup::KeywordLayout;
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
            short_messages: false,
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
}
