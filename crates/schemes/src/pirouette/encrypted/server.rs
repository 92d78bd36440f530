//! Server of Pirouette over encrypted records: the records, and Answer (section 4.2).

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{
    Parameters, RegisteredServer, Server, Session, UpdateEstimate, check_changes,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::wide::{Gadget, Rlwe, Rows};
use papir_ring::wide::Ring;
use rand_core::CryptoRng;

use super::ciphertexts::Ciphertexts;
use super::params::{Encrypted, EncryptedParams};
use crate::pirouette::chain::ParameterSet;
use crate::pirouette::common::RetrievalParams;
use crate::pirouette::keys::Evaluation;
use crate::pirouette::phase0::{ExtractionPlan, Finder};
use crate::pirouette::retrieval::{Gates, respond};
use crate::pirouette::wire::{PirouetteQuery, RetrievalAnswer};
use crate::shared::messages::EmptyPublic;
use crate::shared::stored_records::check_source;

/// log₂ of the number of encryptions that are lifted and folded together. They stay in the
/// second-level cache.
const LOG2_BLOCK: u32 = 4;
/// log₂ of the number of encryptions in one task.
const LOG2_SHARE: u32 = 8;

/// A prepared database.
pub struct EncryptedServer<T> {
    params: EncryptedParams<T>,
    pub(super) ciphertexts: Ciphertexts,
}

impl<T: ParameterSet> EncryptedServer<T> {
    /// Computes phases 0 to 3 for one query. Returns the encryption of each plane before ModSwitch,
    /// with the item's bytes times q/p at multiples of d/span.
    pub(super) fn planes(
        &self,
        keys: &Evaluation,
        query: &PirouetteQuery,
        progress: &dyn Progress,
    ) -> Vec<Rlwe> {
        let layout = self.params.layout();
        let ring = self.params.chain().ring();
        let gadget = self.params.gate();
        let finder = Finder::new(&self.params, keys);

        // All bits become gates: there are no digits.
        let index = layout.index_bits();
        let plan = ExtractionPlan {
            index,
            found: index,
            gates: index,
        };
        progress.stage("bits", 1);
        let bits = finder.bits(query.lwe(), plan);

        progress.stage("gates", 1);
        let gates = finder.gates(&bits);
        let (slots, gates) = gates.split_at(layout.log2_slots as usize);

        progress.stage("fold", 1);
        let picker = Picker {
            ciphertexts: &self.ciphertexts,
            ring,
            gadget,
            gates,
        };
        let mut planes: Vec<Rlwe> = (0..layout.planes).map(|plane| picker.pick(plane)).collect();

        progress.stage("rotate", 1);
        let mut work = Gates::new(ring, gadget);
        for plane in &mut planes {
            work.rotate(slots, plane);
        }

        planes
    }
}

impl<T: ParameterSet> Server<Encrypted<T>> for EncryptedServer<T> {
    fn setup(
        params: EncryptedParams<T>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::ENCRYPTED.0, params.shape(), records)?;

        let layout = params.layout();
        let rlwe = &params.chain().rlwe;
        let key = params.owner.key()?;
        let ciphertexts = Ciphertexts::encrypt(layout, rlwe, key, records, rng, progress)?;

        Ok(Self {
            params,
            ciphertexts,
        })
    }

    fn params(&self) -> &EncryptedParams<T> {
        &self.params
    }

    fn public(&self) -> &EmptyPublic {
        &EmptyPublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Encrypted<T>>, &PirouetteQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<RetrievalAnswer>> {
        let mut answers = Vec::with_capacity(batch.len());
        for (session, query) in batch {
            let keys = session.require_keys()?.expanded(&self.params)?;
            let planes = self.planes(&keys, query, progress);

            progress.stage("switch", 1);
            answers.push(respond(&self.params, &keys.ring_switch, &planes));
        }

        Ok(answers)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;

        let sizes = self.params.describe().sizes;
        let setup = self.params.describe().work.setup;
        let copied = if changes.is_empty() {
            0.0
        } else {
            (sizes.database + sizes.material) as f64
        };

        // Each is decrypted, then encrypted.
        let encrypted = (2 * changes.len() * self.params.layout().planes) as f64;
        let update = Counts::new().with(Operation::Copy, copied, 1).with(
            Operation::Encrypt,
            encrypted,
            changes.len(),
        );

        Ok(UpdateEstimate { update, setup })
    }

    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;

        let rlwe = &self.params.chain().rlwe;
        let key = self.params.owner.key()?;
        let ciphertexts = self.ciphertexts.update(rlwe, key, changes, rng, progress)?;

        Ok(Self {
            params: self.params.clone(),
            ciphertexts,
        })
    }

    /// Reads records. It needs the owner's key.
    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let ring = self.params.chain().ring();
        let key = self.params.owner.key()?;
        self.ciphertexts.read_packed(ring, key, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.ciphertexts.save(sink)
    }

    fn load(params: EncryptedParams<T>, source: &dyn SectionSource) -> Result<Self> {
        if params.owner.id.is_none() {
            return Err(Error::malformed(
                "an encrypted database",
                "no key identifier",
                "its owner's",
            ));
        }

        let ciphertexts = Ciphertexts::load(params.layout(), source)?;
        Ok(Self {
            params,
            ciphertexts,
        })
    }
}

// Keys fit every version: clients check that their key is this database's owner's.
impl<T: ParameterSet> RegisteredServer<Encrypted<T>> for EncryptedServer<T> {}

/// Phases 1 and 2: the selection of an encryption in one ring under one gadget.
struct Picker<'a> {
    ciphertexts: &'a Ciphertexts,
    ring: &'a Ring,
    gadget: &'a Gadget,
    /// Gates of the bits of a polynomial's number, the lowest bit first.
    gates: &'a [Rows],
}

impl Picker<'_> {
    /// Returns the encrypted polynomial of a plane that the gates name. It works depth first, so
    /// that there are no more intermediate results than gates.
    fn pick(&self, plane: usize) -> Rlwe {
        self.shared(plane, 0, self.gates.len() as u32)
    }

    /// Selects among the existing encryptions of the 2^level from `first` on, with all threads.
    fn shared(&self, plane: usize, first: usize, level: u32) -> Rlwe {
        if level <= LOG2_SHARE {
            return self.alone(&mut Gates::new(self.ring, self.gadget), plane, first, level);
        }

        // A half without polynomials is passed over, because no index names it.
        let [zero, one] = [first, first + (1 << (level - 1))];
        if one >= self.ciphertexts.layout.polys() {
            return self.shared(plane, zero, level - 1);
        }

        let (mut zero, one) = rayon::join(
            || self.shared(plane, zero, level - 1),
            || self.shared(plane, one, level - 1),
        );

        let gate = &self.gates[level as usize - 1];
        Gates::new(self.ring, self.gadget).choose(gate, &mut zero, &one);
        zero
    }

    /// Does the work of [`Self::shared`] on one thread.
    fn alone(&self, work: &mut Gates<'_>, plane: usize, first: usize, level: u32) -> Rlwe {
        let polys = self.ciphertexts.layout.polys();
        if level <= LOG2_BLOCK {
            let block = first..(first + (1 << level)).min(polys);
            let lifted = block.map(|index| self.ciphertexts.lifted(self.ring, plane, index));
            return work.fold(self.gates, &mut lifted.collect::<Vec<_>>());
        }

        let [zero, one] = [first, first + (1 << (level - 1))];
        let mut zero = self.alone(work, plane, zero, level - 1);
        if one < polys {
            let one = self.alone(work, plane, one, level - 1);
            work.choose(&self.gates[level as usize - 1], &mut zero, &one);
        }

        zero
    }
}
