//! Cosignatures of witnesses (C2SP tlog-cosignature, Ed25519).
//!
//! ```text
//! signature   time (8, big-endian) ‖ Ed25519 signature (64)
//! signed      "cosignature/v1", "time T" and the lines of the checkpoint
//! ```

use crate::error::{Error, Result};
use crate::key::{SIGNATURE_BYTES, SigningKey, VerifyingKey};
use crate::note::{Note, NoteSignature};

/// Bytes of a cosignature.
const BYTES: usize = 8 + SIGNATURE_BYTES;

/// The message that a witness signs at `time` for a note's text.
fn message(time: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

/// Makes a witness's cosignature of a note, for tests and small witnesses. `time` is in seconds
/// since 1970, UTC.
pub fn cosign(note: &Note, witness: &SigningKey, time: u64) -> NoteSignature {
    let signature = witness.sign(message(time, note.text()).as_bytes());
    let public = witness.public();
    let signature = [&time.to_be_bytes()[..], &signature].concat();
    NoteSignature {
        name: public.name().clone(),
        id: public.id(),
        signature,
    }
}

/// The times of the cosignatures of known witnesses, in seconds since 1970, UTC: one time for each
/// witness that cosigned, in the order of `witnesses`. A witness that cosigned several times counts
/// with its latest time. Two keys that differ only in their names are one witness, because the
/// cosignature does not bind the name.
///
/// # Errors
/// [`Error::BadSignature`] if a known witness's cosignature is invalid.
pub fn cosigned(note: &Note, witnesses: &[VerifyingKey]) -> Result<Vec<u64>> {
    let mut times = Vec::new();
    for (place, witness) in witnesses.iter().enumerate() {
        // Verified although the witness may not count: an invalid line is an error in any case.
        let mut latest: Option<u64> = None;
        for line in note.lines_of(witness) {
            latest = latest.max(Some(time_of(note, witness, line)?));
        }

        let repeated = witnesses[..place]
            .iter()
            .any(|earlier| earlier.same_key(witness));
        if !repeated {
            times.extend(latest);
        }
    }
    Ok(times)
}

/// Verifies one cosignature and returns its time.
fn time_of(note: &Note, witness: &VerifyingKey, line: &NoteSignature) -> Result<u64> {
    if line.signature.len() != BYTES {
        return Err(bad_signature(witness));
    }
    let Some((time, signature)) = line.signature.split_first_chunk::<8>() else {
        return Err(bad_signature(witness));
    };

    // The specification limits times to 2⁶³ − 1.
    let time = u64::from_be_bytes(*time);
    let fits = i64::try_from(time).is_ok();
    if fits && witness.verifies(message(time, note.text()).as_bytes(), signature) {
        Ok(time)
    } else {
        Err(bad_signature(witness))
    }
}

fn bad_signature(witness: &VerifyingKey) -> Error {
    Error::BadSignature {
        key: witness.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::key::Kind;
    use crate::testing::{key, rng};

    fn witness(name: &str, seed: u8) -> SigningKey {
        SigningKey::generate(name.parse().unwrap(), Kind::Cosignature, &mut rng(seed))
    }

    #[test]
    fn known_witnesses_are_counted_once() {
        let mut note = Note::new("o\n1\nAAAA\n".to_owned()).unwrap();
        let all = [witness("w/1", 1), witness("w/2", 2), witness("w/3", 3)];
        for (witness, time) in [(&all[0], 5), (&all[0], 7), (&all[1], 6)] {
            note.add(cosign(&note, witness, time)).unwrap();
        }
        let note = Note::parse(note.to_string().as_bytes()).unwrap();
        let known: Vec<VerifyingKey> = all.iter().map(SigningKey::public).collect();
        assert_eq!(cosigned(&note, &known).unwrap(), [7, 6]);
        assert_eq!(cosigned(&note, &known[1..]).unwrap(), [6]);
        assert_eq!(cosigned(&note, &[]).unwrap(), [0; 0]);

        let alias = known[0].renamed(&"w/alias".parse().unwrap());
        let mut twice = note.clone();
        twice
            .add(NoteSignature {
                name: alias.name().clone(),
                id: alias.id(),
                ..note.signatures()[0].clone()
            })
            .unwrap();
        assert_eq!(cosigned(&twice, &[known[0].clone(), alias]).unwrap(), [7]);
    }

    #[test]
    fn invalid_cosignatures_of_known_witnesses_are_refused() {
        let note = Note::new("o\n1\nAAAA\n".to_owned()).unwrap();
        let witness = witness("w", 1);
        let good = cosign(&note, &witness, 5);
        assert_eq!(good.signature[..8], [0, 0, 0, 0, 0, 0, 0, 5]);
        let mut bad = vec![good.clone(); 3];
        bad[0].signature[7] = 6;
        bad[1].signature.pop();
        bad[2] = cosign(&note, &witness, 1 << 63);

        for line in bad {
            let mut note = note.clone();
            note.add(good.clone()).unwrap();
            note.add(line).unwrap();
            let error = cosigned(&note, &[witness.public()]).unwrap_err();
            assert_eq!(error.code(), "checkpoint_signature");
            assert_eq!(cosigned(&note, &[key("w", 9).public()]).unwrap(), [0; 0]);
        }
    }

    /// The message of the specification's example.
    #[test]
    fn the_signed_message_is_that_of_the_specification() {
        let text =
            "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        let expected = "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n\
                        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        assert_eq!(message(1_679_315_147, text), expected);
    }
}
