//! The JSON of `papir inspect`.

use papir_checkpoint::{Leaf, VerifyingKey, hex};
use papir_core::{Description, Privacy, Sizes, Version};
use papir_lookup::KeywordLayout;
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::psi::Kind;
use papir_store::psi::PsiSummary;
use serde_json::{Map, Value, json};

/// The fields of the object. Unknown values are null, so that every field is always there.
pub(super) struct Facts(Map<String, Value>);

impl Facts {
    /// A database. Signature and root are null until they are set.
    pub(super) fn of(
        name: &str,
        description: &Description,
        version: Version,
        keyword: Option<&KeywordLayout>,
    ) -> Self {
        let security = description.security.as_ref();
        // JSON has no infinity. An infinite value means that an answer always decodes.
        let failure = description.lookup_failure_log2(keyword.map_or(1, KeywordLayout::lookups));
        let parameters = description
            .parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)));

        let mut facts = Self(Map::new());
        facts.set("name", name);
        facts.set("scheme", description.scheme);
        facts.set("private", description.privacy == Privacy::Private);
        facts.set("version", version.to_string());
        facts.set("records", description.shape.records());
        facts.set("record_bits", description.shape.record_bits());
        facts.set("keyed", keyword.is_some());

        // Present in every case, so that programs need not tell a missing field from an old papir.
        for missing in [
            "sequence",
            "signed_at",
            "root",
            "owner",
            "delta_root",
            "delta",
            "prefilter",
            "file_bytes",
        ] {
            facts.set(missing, Value::Null);
        }

        facts.set("sizes", sizes(&description.sizes));
        facts.set("security_bits", security.map(|security| security.bits));
        facts.set("security_source", security.map(|security| security.source));
        facts.set(
            "failure_log2",
            Some(failure).filter(|log2| log2.is_finite()),
        );
        facts.set("parameters", Map::from_iter(parameters));
        facts
    }

    /// A set that is matched by a filter, without a database.
    pub(super) fn of_filter(set: &PsiSummary, filter_bytes: u64) -> Self {
        let mut facts = Self(Map::new());
        facts.of_set(set);
        facts.set("filter_bytes", filter_bytes);
        facts
    }

    /// Adds the facts about a set.
    pub(super) fn of_set(&mut self, set: &PsiSummary) {
        let kind = match set.kind {
            Kind::Filter => "filter",
            Kind::Retrieval => "retrieval",
        };

        self.set(
            "set",
            json!({ "elements": set.elements, "kind": kind, "version": set.version.to_string(),
                "longest_label": set.longest }),
        );
    }

    /// Adds the filter of the keys.
    pub(super) fn prefilter(&mut self, summary: &PrefilterSummary) {
        let PrefilterSummary { bits, bytes, hash } = summary;
        let hash = hex(hash);
        self.set(
            "prefilter",
            json!({ "bits": bits, "bytes": bytes, "blake3": hash }),
        );
    }

    /// Adds the signed version.
    pub(super) fn signed(&mut self, leaf: &Leaf, owner: &VerifyingKey) {
        self.set("sequence", leaf.sequence);
        self.set("signed_at", leaf.time);
        self.set("owner", owner.to_string());
        self.set("delta_root", leaf.delta_root.as_ref().map(hex));
    }

    /// Sets a field.
    pub(super) fn set(&mut self, name: &str, value: impl serde::Serialize) {
        // A number that JSON does not have is the only value that fails, and becomes null.
        self.0.insert(
            name.to_owned(),
            serde_json::to_value(value).unwrap_or_default(),
        );
    }

    /// The object.
    pub(super) fn json(self) -> Value {
        Value::Object(self.0)
    }
}

fn sizes(sizes: &Sizes) -> Value {
    json!({
        "public": sizes.public,
        "hint": sizes.hint,
        "keys": sizes.keys,
        "ticket": sizes.ticket,
        "query": sizes.query,
        "query_keys": sizes.query_keys,
        "answer": sizes.answer,
        "database": sizes.database,
        "material": sizes.material,
        "seen": sizes.seen,
    })
}
