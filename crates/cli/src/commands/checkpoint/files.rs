//! Signatures of prepared files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use papir_checkpoint::{Log, VerifyingKey};
use papir_core::Run;

use crate::arguments::sign::{certificates, explain, signing};
use crate::describe;
use crate::failure::{Failure, Outcome};
use crate::lines;
use crate::progress::Bars;

/// Sign the version in a prepared file again, with the current time, or for the first time.
///
/// The version itself stays the same. Do this regularly for clients with --max-age.
#[derive(Args)]
pub(super) struct SignAgain {
    /// The prepared database.
    file: PathBuf,
    /// The key file of the owner or of a publisher.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// A certificate to add to the log; may be repeated.
    #[arg(long, value_name = "FILE")]
    certificate: Vec<PathBuf>,
}

/// Add cosignatures of witnesses, or certificates, to a prepared file.
#[derive(Args)]
pub(super) struct Attach {
    /// The prepared database.
    file: PathBuf,
    /// A witness's response, lines of signatures, or a cosigned checkpoint; - for standard input;
    /// may be repeated.
    #[arg(long, value_name = "FILE")]
    cosignatures: Vec<PathBuf>,
    /// The public key of a witness, whose cosignature is verified; may be repeated.
    #[arg(long, value_name = "PUBKEY")]
    witness: Vec<VerifyingKey>,
    /// A certificate; may be repeated.
    #[arg(long, value_name = "FILE")]
    certificate: Vec<PathBuf>,
}

/// Print the request for a witness's cosignature (C2SP tlog-witness).
///
/// Send it to a witness: curl --data-binary @- https://witness.example/add-checkpoint
#[derive(Args)]
pub(super) struct Request {
    /// The prepared database.
    file: PathBuf,
    /// The size of the log that the witness cosigned last; a witness that answers 409 says which.
    #[arg(long, value_name = "SIZE", default_value_t = 0)]
    old: u64,
}

pub(super) fn sign(arguments: &SignAgain) -> Outcome {
    // A signature states what a version is, and not that its scheme is private.
    papir_research::register()?;
    let sign = signing(&arguments.key, &arguments.certificate)?;

    let signed = papir_store::sign(
        &arguments.file,
        &sign,
        &mut Run::new(&mut papir::system_rng(), &Bars::new()),
    );
    let leaf = signed.map_err(explain)?;

    let lines = vec![describe::signed(&leaf)];
    describe::print(&lines, &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn attach(arguments: &Attach) -> Outcome {
    let mut cosignatures = Vec::new();
    for file in &arguments.cosignatures {
        let bytes = lines::read(file)?;
        // All are read before the file is changed: a bad one attaches none.
        cosignatures.push(String::from_utf8(bytes).map_err(|error| Failure::at(file, error))?);
    }
    let certificates = certificates(&arguments.certificate)?;
    let witnesses: Vec<VerifyingKey> = arguments
        .witness
        .iter()
        .cloned()
        .map(VerifyingKey::of_cosignatures)
        .collect::<Result<_, _>>()?;

    let added = papir_store::attach(
        &arguments.file,
        &cosignatures,
        &witnesses,
        &certificates,
        &mut papir::system_rng(),
    )?;
    writeln!(std::io::stdout(), "{added} cosignature(s) added")?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn request(arguments: &Request) -> Outcome {
    let log = stored(&arguments.file)?;
    // Without a line end of our own: the request is sent as it is.
    write!(std::io::stdout(), "{}", log.witness_request(arguments.old)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The log in a prepared file.
pub(super) fn stored(file: &Path) -> Result<Log, Failure> {
    let log = papir_store::stored_log(file)?;

    log.ok_or_else(|| {
        Failure::at(
            file,
            "the database is not signed: sign it with papir checkpoint sign",
        )
    })
}
