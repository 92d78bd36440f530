//! Each scheme as a benchmark drives it: its parameters for a choice, its stages.

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::{Error as CoreError, NotPrivate, Shape};
use papir_lattice::rlwe::Rlwe;
use papir_research::newton::params::NewtonParams;
use papir_research::newton::{self, Newton};
use papir_schemes::batched::{Batched, BatchedParams, Bucket};
use papir_schemes::depir::Depir;
use papir_schemes::depir::params::DepirParams;
use papir_schemes::depir::server::DepirServer;
use papir_schemes::depir::wire::{DepirAnswer, DepirQuery};
use papir_schemes::double::Double;
use papir_schemes::double::packed::{self, PackedDouble, Variant};
use papir_schemes::double::params::DoubleParams;
use papir_schemes::double::server::DoubleServer;
use papir_schemes::double::wire::{DoubleAnswer, DoubleQuery};
use papir_schemes::inspire::two_levels::{self as inspire2, Inspire2};
use papir_schemes::inspire::{self, Inspire};
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::encrypted::params::EncryptedParams;
use papir_schemes::pirouette::encrypted::server::EncryptedServer;
use papir_schemes::pirouette::params::PirouetteParams;
use papir_schemes::pirouette::respire::Respire;
use papir_schemes::pirouette::respire::params::RespireParams;
use papir_schemes::pirouette::respire::wire::RespireQuery;
use papir_schemes::pirouette::retrieval::{Retrieval, Selection};
use papir_schemes::pirouette::server::RetrievalServer;
use papir_schemes::pirouette::wire::{PirouetteQuery, RetrievalAnswer};
use papir_schemes::pirouette::{self, Pirouette};
use papir_schemes::plain::Plain;
use papir_schemes::shared::selection::{SelectionAnswer, SelectionQuery};
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed::{self as simpleypir, SimpleYpir};
use papir_schemes::simple::params::SimpleParams;
use papir_schemes::zip::over_double::ZipDouble;
use papir_schemes::zip::over_double::params::ZipDoubleParams;
use papir_schemes::zip::over_double::server::ZipDoubleServer;
use papir_schemes::zip::over_double::wire::{ZipDoubleAnswer, ZipDoubleQuery};
use papir_schemes::zip::over_simple::params::ZipParams;
use papir_schemes::zip::over_simple::server::ZipServer;
use papir_schemes::zip::over_simple::wire::{ZipAnswer, ZipQuery};
use papir_schemes::zip::over_simple::{Full, Zip};

use crate::clock::Laps;
use crate::measured::{Choice, Measured, Part};
use crate::{Error, Result};

impl Measured for Inspire {
    fn params(shape: Shape, choice: Choice) -> Result<inspire::Params> {
        Ok(match choice {
            Choice::Goal(goal) => inspire::Params::choose(shape, goal)?,
            Choice::Columns(columns) => inspire::Params::with_columns(shape, columns)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn answer(
        server: &inspire::Server,
        _session: Session<'_, Self>,
        query: &inspire::Query,
        laps: &mut Laps,
    ) -> Result<inspire::Answer, CoreError> {
        let bodies = laps.time("select", || server.select(query));
        let keys = laps.time("read_keys", || server.read_keys(query))?;
        let packed = laps.time("pack", || server.pack(bodies, &keys))?;
        let results = laps.time("evaluate", || server.evaluate(packed, &keys));
        Ok(laps.time("switch", || server.switch(&results)))
    }
}

impl Measured for Inspire2 {
    fn params(shape: Shape, choice: Choice) -> Result<inspire2::Params> {
        Ok(match choice {
            Choice::Goal(goal) => inspire2::Params::choose(shape, goal)?,
            Choice::Columns(columns) => {
                let words = inspire2::Params::least_unit_words(shape)?;
                inspire2::Params::with_columns(shape, words, columns)?
            }
            Choice::Packed { columns, words } => {
                let words = usize::try_from(words).unwrap_or(usize::MAX);
                inspire2::Params::with_columns(shape, words, columns)?
            }
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn answer(
        server: &inspire2::Server,
        _session: Session<'_, Self>,
        query: &inspire2::Query,
        laps: &mut Laps,
    ) -> Result<inspire2::Answer, CoreError> {
        let queries = [query];
        let keys = laps.time("read_keys", || server.read_keys(&queries))?;
        let bodies = laps.time("select", || server.select(&queries));
        let firsts = laps.time("pack_first", || server.pack_first(bodies, &keys))?;
        let seconds = laps.time("pack_second", || server.pack_second(&queries, &keys))?;
        let thirds = laps.time("pack_online", || server.pack_online(&queries, &firsts, &keys))?;
        let answer = || seconds.first().zip(thirds.first()).map(|(two, three)| server.switch(two, three));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        laps.time("switch", answer).ok_or(none)
    }
}

/// One record of a batch: what a batch costs, however little is asked. `papir bench batch` asks for full ones.
impl<S: Bucket> Measured for Batched<S> {
    fn params(shape: Shape, choice: Choice) -> Result<BatchedParams<S>> {
        Ok(match choice {
            Choice::Goal(goal) => BatchedParams::choose(shape, goal)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        (stage == "prepare buckets").then_some(Part::Encode)
    }
}

impl Measured for Simple {
    fn params(shape: Shape, choice: Choice) -> Result<SimpleParams> {
        Ok(match choice {
            Choice::Goal(goal) => SimpleParams::choose(shape, goal)?,
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => SimpleParams::new(shape, shape.records().div_ceil(columns.max(1)))?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }
}

impl Measured for Double {
    fn params(shape: Shape, choice: Choice) -> Result<DoubleParams> {
        Ok(match choice {
            Choice::Goal(goal) => DoubleParams::choose(shape, goal)?,
            Choice::Columns(columns) => DoubleParams::with_columns(shape, columns)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" => Some(Part::Encode),
            "masks" | "digits" => Some(Part::Material),
            "hint" => Some(Part::Hint),
            _ => None,
        }
    }

    fn answer(
        server: &DoubleServer,
        _session: Session<'_, Self>,
        query: &DoubleQuery,
        laps: &mut Laps,
    ) -> Result<DoubleAnswer, CoreError> {
        let firsts = laps.time("first_level", || server.first_level(&[query]));
        let mut ciphertexts = laps.time("second_level", || server.second_level(&[query], &firsts));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        let ciphertexts = ciphertexts.pop().ok_or(none)?;
        Ok(laps.time("round", || server.round(&ciphertexts)))
    }
}

impl Measured for Plain {
    fn params(shape: Shape, choice: Choice) -> Result<Self::Params> {
        match choice {
            Choice::Goal(goal) => Ok(Self::Params::choose(shape, goal)?),
            Choice::Columns(_) => {
                Err(Error::usage("--dim0 with plain", "none: it has no matrix and no first dimension"))
            }
            other => Err(unfit(Self::NAME, other)),
        }
    }
}

impl<V: Variant> Measured for PackedDouble<V> {
    fn params(shape: Shape, choice: Choice) -> Result<packed::Params<V>> {
        Ok(match choice {
            Choice::Goal(goal) => packed::Params::choose(shape, goal)?,
            Choice::Columns(columns) => packed::Params::with_columns(shape, columns)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" => Some(Part::Encode),
            "masks" | "digits" | "pack" => Some(Part::Material),
            _ => None,
        }
    }

    fn answer(
        server: &packed::Server<V>,
        _session: Session<'_, Self>,
        query: &packed::Query,
        laps: &mut Laps,
    ) -> Result<packed::Answer, CoreError> {
        let firsts = laps.time("first_level", || server.first_level(&[query]));
        let key = laps.time("read_keys", || server.read_key(query))?;
        let selected = laps.time("second_level", || server.second_level(&[query], &firsts));
        let packed = laps.time("pack", || server.pack(selected, &[&key]))?;
        let answer = laps.time("round", || packed.first().map(|packed| server.round(packed)));
        answer.ok_or(CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 })
    }
}

impl Measured for SimpleYpir {
    fn params(shape: Shape, choice: Choice) -> Result<simpleypir::Params> {
        Ok(match choice {
            Choice::Goal(goal) => simpleypir::Params::choose(shape, goal)?,
            Choice::Columns(columns) => simpleypir::Params::with_columns(shape, columns)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn answer(
        server: &simpleypir::Server,
        _session: Session<'_, Self>,
        query: &SelectionQuery,
        laps: &mut Laps,
    ) -> Result<SelectionAnswer, CoreError> {
        let selected = laps.time("select", || server.select(&[query]));
        let key = laps.time("read_keys", || server.read_key(query))?;
        let packed = laps.time("pack", || server.pack(selected, &[&key]))?;
        let answer = laps.time("round", || packed.first().map(|packed| server.round(packed)));
        answer.ok_or(CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 })
    }
}

impl Measured for Zip {
    fn params(shape: Shape, choice: Choice) -> Result<ZipParams<Full>> {
        Ok(match choice {
            Choice::Goal(goal) => ZipParams::choose(shape, goal)?,
            Choice::Registered { goal, key_bits, .. } => ZipParams::choose_packed(shape, goal, key_bits)?,
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => ZipParams::new(shape, shape.records().div_ceil(columns.max(1)), 1)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" => Some(Part::Encode),
            "hint" | "residues" => Some(Part::Material),
            _ => None,
        }
    }

    fn answer(
        server: &ZipServer<Full>,
        session: Session<'_, Self>,
        query: &ZipQuery,
        laps: &mut Laps,
    ) -> Result<ZipAnswer, CoreError> {
        let session = laps.time("session", || server.session(&session, query))?;
        let rows = laps.time("select", || server.select(&[query]));
        let products = laps.time("second_product", || server.second_products(&[query]));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        let (rows, products) = rows.first().zip(products.first()).ok_or(none)?;
        laps.time("join", || server.join(session, query, rows, products))
    }
}

impl Measured for ZipDouble {
    fn params(shape: Shape, choice: Choice) -> Result<ZipDoubleParams<Full>> {
        Ok(match choice {
            Choice::Goal(goal) => ZipDoubleParams::choose(shape, goal)?,
            Choice::Registered { goal, key_bits, .. } => {
                ZipDoubleParams::choose_packed(shape, goal, key_bits)?
            }
            Choice::Columns(columns) => ZipDoubleParams::with_columns(shape, columns, 1)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "encode" => Some(Part::Encode),
            "masks" | "digits" | "hint" | "residues" => Some(Part::Material),
            _ => None,
        }
    }

    fn answer(
        server: &ZipDoubleServer<Full>,
        session: Session<'_, Self>,
        query: &ZipDoubleQuery,
        laps: &mut Laps,
    ) -> Result<ZipDoubleAnswer, CoreError> {
        let session = laps.time("session", || server.session(&session, query))?;
        let levels = laps.time("levels", || server.levels(&[query]));
        let products = laps.time("second_product", || server.second_products(&[query]));
        let none = CoreError::BatchSize { scheme: Self::NAME, found: 0, capacity: 1 };
        let (levels, products) = levels.first().zip(products.first()).ok_or(none)?;
        laps.time("join", || server.join(session, query, levels, products))
    }
}

impl Measured for Pirouette {
    fn params(shape: Shape, choice: Choice) -> Result<PirouetteParams<pirouette::Full>> {
        Ok(match choice {
            Choice::Goal(goal) => PirouetteParams::choose(shape, goal)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        (stage == "encode").then_some(Part::Encode)
    }

    fn answer(
        server: &RetrievalServer<Self>,
        session: Session<'_, Self>,
        query: &PirouetteQuery,
        laps: &mut Laps,
    ) -> Result<RetrievalAnswer, CoreError> {
        let keys = session.require_keys()?;
        let expansion = server.expansion(keys)?;
        let bits = laps.time("bits", || expansion.bits(query));
        let gates = laps.time("gates", || expansion.gates(&bits));
        let selectors = laps.time("selectors", || expansion.selectors(&bits));
        let selection = [Selection { gates, selectors }];
        let planes = retrieve(&server.retrieval(), &selection, laps);
        laps.time("switch", || server.respond(keys, &planes))
    }
}

impl Measured for Respire {
    fn params(shape: Shape, choice: Choice) -> Result<RespireParams> {
        Ok(match choice {
            Choice::Goal(goal) => RespireParams::choose(shape, goal)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn answer(
        server: &RetrievalServer<Self>,
        session: Session<'_, Self>,
        query: &RespireQuery,
        laps: &mut Laps,
    ) -> Result<RetrievalAnswer, CoreError> {
        let keys = session.require_keys()?;
        let selection = [laps.time("expand", || server.select(keys, query))?];
        let planes = retrieve(&server.retrieval(), &selection, laps);
        laps.time("switch", || server.respond(keys, &planes))
    }
}

impl Measured for Encrypted {
    fn params(shape: Shape, choice: Choice) -> Result<EncryptedParams<pirouette::Full>> {
        Ok(match choice {
            Choice::Goal(goal) => EncryptedParams::choose(shape, goal)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn part(stage: &str) -> Option<Part> {
        (stage == "encrypt").then_some(Part::Encode)
    }

    fn answer(
        server: &EncryptedServer<pirouette::Full>,
        session: Session<'_, Self>,
        query: &PirouetteQuery,
        laps: &mut Laps,
    ) -> Result<RetrievalAnswer, CoreError> {
        let keys = session.require_keys()?;
        let bits = laps.time("bits", || server.bits(keys, query))?;
        let gates = laps.time("gates", || server.gates(keys, &bits))?;
        let mut planes = laps.time("fold", || server.fold(&gates));
        laps.time("rotate", || server.rotate(&gates, &mut planes));
        laps.time("switch", || server.respond(keys, &planes))
    }
}

impl Measured for Depir {
    fn params(shape: Shape, choice: Choice) -> Result<DepirParams> {
        Ok(match choice {
            Choice::Goal(goal) => DepirParams::choose(shape, goal)?,
            other => return Err(unfit(Self::NAME, other)),
        })
    }

    fn answer(
        server: &DepirServer,
        _session: Session<'_, Self>,
        query: &DepirQuery,
        laps: &mut Laps,
    ) -> Result<DepirAnswer, CoreError> {
        let ciphertexts = laps.time("expand", || server.expand(query));
        let mut words = Vec::new();
        for chunk in 0..server.params().chunks() {
            let residues = laps.time("evaluate", || server.evaluate(&ciphertexts, chunk))?;
            words.append(&mut laps.time("switch", || server.switch(&residues)));
        }
        Ok(DepirAnswer::new(words))
    }
}

/// Phases 1 to 3 of Pirouette and Respire.
fn retrieve(retrieval: &Retrieval<'_>, selection: &[Selection; 1], laps: &mut Laps) -> Vec<Rlwe> {
    let mut groups = Vec::new();
    for group in 0..retrieval.groups() {
        let columns = laps.time("first", || retrieval.first(group, selection));
        groups.append(&mut laps.time("fold", || retrieval.fold(selection, columns)));
    }
    laps.time("rotate", || retrieval.rotate_planes(&selection[0], groups))
}

impl<V: newton::Variant> Measured for Newton<V> {
    /// A benchmark asks its own made-up records: nothing is given away.
    fn params(shape: Shape, choice: Choice) -> Result<NewtonParams<V>> {
        match choice {
            Choice::Goal(_) => Ok(NewtonParams::new(shape, NotPrivate::acknowledged())?),
            Choice::Columns(_) => {
                let found = format!("--dim0 with {}", Self::NAME);
                Err(Error::usage(found, "none: it has no matrix and no first dimension"))
            }
            other => Err(unfit(Self::NAME, other)),
        }
    }

    fn part(stage: &str) -> Option<Part> {
        match stage {
            "copy records" => Some(Part::Encode),
            "factorials" | "transform" | "convolve" | "lift" => Some(Part::Material),
            _ => None,
        }
    }
}

/// Says that a scheme has no such parameters.
fn unfit(scheme: &str, choice: Choice) -> Error {
    match choice {
        Choice::Registered { .. } => Error::usage(
            format!("--key-bits or --hold with {scheme}"),
            "neither: its clients register no such keys",
        ),
        _ => Error::usage(format!("--gamma0 with {scheme}"), "none: it packs no first level in units"),
    }
}
