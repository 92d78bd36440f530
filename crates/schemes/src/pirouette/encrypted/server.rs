//! The server: encrypted records, and Answer (section 4.2).

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use rand_core::CryptoRng;

use super::ciphertexts::Ciphertexts;
use super::params::{Encrypted, EncryptedParams};
use super::pick::Picker;
use crate::pirouette::bits::{Bits, Finder, Plan};
use crate::pirouette::chain::ParameterSet;
use crate::pirouette::common::RetrievalParams;
use crate::pirouette::fold::{Gates, respond};
use crate::pirouette::keys::{Evaluation, Keys};
use crate::pirouette::wire::{PirouetteQuery, RetrievalAnswer};
use crate::shared::messages::EmptyPublic;
use crate::shared::stored_records::check_source;

/// A prepared database.
pub struct EncryptedServer<T> {
    params: EncryptedParams<T>,
    pub(super) ciphertexts: Ciphertexts,
}

impl<T: ParameterSet> EncryptedServer<T> {
    /// Phases 0 to 3 for one query.
    fn answer_one(
        &self,
        session: Session<'_, Encrypted<T>>,
        query: &PirouetteQuery,
        progress: &dyn Progress,
    ) -> Result<RetrievalAnswer> {
        let keys = session.require_keys()?;
        progress.stage("bits", 1);
        let bits = self.bits(keys, query)?;
        progress.stage("gates", 1);
        let gates = self.gates(keys, &bits)?;
        progress.stage("fold", 1);
        let mut planes = self.fold(&gates);
        progress.stage("rotate", 1);
        self.rotate(&gates, &mut planes);
        progress.stage("switch", 1);
        self.respond(keys, &planes)
    }

    fn finder<'a>(&'a self, keys: &'a Keys<Evaluation<1>>) -> Result<Finder<'a>> {
        Ok(Finder::new(self.params.chain(), keys.expanded(self.params.chain())?, self.params.gate()))
    }

    /// Phase 0, first half: extracts the bits with one rotation each.
    ///
    /// # Errors
    /// [`Error::Malformed`] for malformed keys.
    pub fn bits(&self, keys: &Keys<Evaluation<1>>, query: &PirouetteQuery) -> Result<Bits> {
        let index = self.params.layout().index_bits();
        Ok(self.finder(keys)?.bits(query.lwe(), Plan { index, found: index, gates: index }))
    }

    /// Phase 0, second half: circuit bootstrapping.
    ///
    /// # Errors
    /// [`Error::Malformed`] for malformed keys.
    pub fn gates(&self, keys: &Keys<Evaluation<1>>, bits: &Bits) -> Result<Vec<Rows>> {
        Ok(self.finder(keys)?.gates(bits))
    }

    /// Phases 1 and 2: returns, for each plane, the polynomial that holds the item.
    pub fn fold(&self, gates: &[Rows]) -> Vec<Rlwe> {
        let (ring, gadget) = (self.params.chain().ring(), self.params.gate());
        let gates = &gates[self.params.layout().log2_slots as usize..];
        let picker = Picker { ciphertexts: &self.ciphertexts, ring, gadget, gates };
        (0..self.params.layout().planes).map(|plane| picker.pick(plane)).collect()
    }

    /// Phase 3: rotates the item's bytes, times q/p, to multiples of d/span.
    pub fn rotate(&self, gates: &[Rows], planes: &mut [Rlwe]) {
        let mut work = Gates::new(self.params.chain().ring(), self.params.gate());
        let slots = &gates[..self.params.layout().log2_slots as usize];
        planes.iter_mut().for_each(|plane| work.rotate(slots, plane));
    }

    /// ModSwitch and RingSwitch: returns the answer of an item's planes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for malformed keys.
    pub fn respond(&self, keys: &Keys<Evaluation<1>>, planes: &[Rlwe]) -> Result<RetrievalAnswer> {
        respond(&self.params, keys, planes)
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
        let place = (params.layout(), &params.chain().rlwe);
        let ciphertexts = Ciphertexts::encrypt(place, params.owner.key()?, records, rng, progress)?;
        Ok(Self { params, ciphertexts })
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
        batch.into_iter().map(|(session, query)| self.answer_one(session, query, progress)).collect()
    }

    /// Always true: clients check that their key is this database's owner's.
    fn keys_fit(&self, _keys: &Keys<Evaluation<1>>) -> bool {
        true
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let (sizes, setup) = (self.params.describe().sizes, self.params.describe().work.setup);
        let copied = if changes.is_empty() { 0.0 } else { (sizes.database + sizes.material) as f64 };
        // Each is decrypted, then encrypted.
        let encrypted = (2 * changes.len() * self.params.layout().planes) as f64;
        let update =
            Counts::new().with(Operation::Copy, copied, 1).with(Operation::Encrypt, encrypted, changes.len());
        Ok(UpdateEstimate { update, setup })
    }

    fn update(&self, changes: &[Change], rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        let (rlwe, key) = (&self.params.chain().rlwe, self.params.owner.key()?);
        let ciphertexts = self.ciphertexts.update(rlwe, key, changes, rng, progress)?;
        Ok(Self { params: self.params.clone(), ciphertexts })
    }

    /// Needs the owner's key.
    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let key = (self.params.chain().ring(), self.params.owner.key()?);
        self.ciphertexts.read_packed(key, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.ciphertexts.save(sink)
    }

    fn load(params: EncryptedParams<T>, source: &dyn SectionSource) -> Result<Self> {
        if params.owner.id().is_none() {
            return Err(Error::malformed("an encrypted database", "no key identifier", "its owner's"));
        }
        let ciphertexts = Ciphertexts::load(params.layout(), source)?;
        Ok(Self { params, ciphertexts })
    }
}
