//! Checked parameters of a scheme.

use std::fmt::Debug;

use crate::certificate::FailureCertificate;
use crate::choice::{Choice, Goal, Target};
use crate::{Description, Error, FailureBound, Result, Shape, Terms};

/// Checked parameters of a scheme for one database shape. Every constructor refuses parameters for
/// which the parameter table does not show 128 bits of security.
pub trait Parameters: Clone + Debug + Send + Sync + Sized + 'static {
    /// The best parameters for a shape and a target. A [`Goal`] as target implies the default
    /// failure probability.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfBounds`] if the scheme does not support the shape, or
    /// its answers would fail more often than the target allows.
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self>;

    /// The parameters of a choice.
    ///
    /// # Errors
    /// The errors of [`Parameters::choose`], and [`Error::NoSuchParameter`] for an unsupported
    /// choice.
    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Target(target) => Self::choose(shape, target),
            fixed => Self::with_fixed(shape, fixed),
        }
    }

    /// The parameters of a choice that fixes a value, which is neither a goal nor a target. The
    /// default implementation supports none.
    ///
    /// # Errors
    /// The errors of [`Parameters::with_choice`].
    fn with_fixed(_shape: Shape, choice: Choice) -> Result<Self> {
        Err(choice.refused_by("this scheme"))
    }

    /// All parameters worth comparing for a shape and a failure probability; at least one. By
    /// default, the distinct choices for all goals.
    ///
    /// # Errors
    /// The errors of [`Parameters::choose`].
    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        of_goals(shape, failure)
    }

    /// A few words that distinguish these parameters from other candidates for the same shape.
    fn label(&self) -> String {
        String::new()
    }

    /// The shape that the parameters were chosen for.
    fn shape(&self) -> Shape;

    /// Sizes, security, failure probability, limits, and the values by name.
    fn describe(&self) -> Description;

    /// Every term of the failure bound, exactly.
    ///
    /// # Errors
    /// [`Error::NoSuchParameter`] for a scheme without certificates, which is the default.
    fn certificate(&self) -> Result<FailureCertificate> {
        Err(Error::NoSuchParameter {
            scheme: self.describe().scheme,
            what: "certificate of its failure bound",
        })
    }

    /// Adds a program's terms, which are not part of the encoded parameters.
    ///
    /// A scheme that looks private but is not creates no server or client without the
    /// acknowledgement; other schemes ignore it. Schemes with encrypted databases need the owner's
    /// key to set up servers and register clients, and encode the key's fingerprint.
    ///
    /// # Errors
    /// With an owner's key, [`Error::Parameters`] in all other schemes; [`Error::OwnerKey`] if the
    /// parameters name another key.
    fn with_terms(self, terms: &Terms) -> Result<Self> {
        match &terms.owner {
            Some(_) => Err(not_encrypted(self.describe().scheme)),
            None => Ok(self),
        }
    }

    /// Encodes the parameters.
    fn encode(&self) -> Vec<u8>;

    /// Decodes the parameters and checks them again.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Malformed`], [`Error::OutOfBounds`], [`Error::Parameters`] or
    /// [`Error::Insecure`]; [`Error::Format`] for parameters of a format that is not read any more.
    fn decode(bytes: &[u8]) -> Result<Self>;
}

/// The error for an owner's key of a scheme whose databases are not encrypted.
pub fn not_encrypted(scheme: &'static str) -> Error {
    Error::Parameters {
        scheme,
        reason: "its databases are not encrypted".to_owned(),
    }
}

/// The distinct parameters chosen for all goals.
///
/// # Errors
/// The errors of [`Parameters::choose`].
pub fn of_goals<P: Parameters>(shape: Shape, failure: FailureBound) -> Result<Vec<P>> {
    let chosen = Goal::ALL.map(|goal| P::choose(shape, Target { goal, failure }));
    let mut candidates = chosen.into_iter().collect::<Result<Vec<_>>>()?;

    let mut seen: Vec<Vec<u8>> = Vec::new();
    candidates.retain(|candidate| {
        let bytes = candidate.encode();
        let first = !seen.contains(&bytes);
        seen.push(bytes);
        first
    });

    Ok(candidates)
}
