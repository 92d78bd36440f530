//! Publishes new rows of a source as versions.

use std::io::stdin;

use papir_core::Progress;
use rand_core::CryptoRng;

use super::file::{self, Arrived};
use super::pipe::Pipe;
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::metadata::Followed;
use crate::names::is_standard_input;
use crate::source::{Format, PartOfSource, SkippedRow, changes_in, format_of_changes};
use crate::update::{DeltaReport, Draft, UpdateOptions};

/// Most bytes of a file that become one version: 1 MiB.
const MOST_AT_ONCE: u64 = 1 << 20;
/// Fewest bytes to which that is reduced, if they are more changes than a delta may have: 4 KiB.
const LEAST_AT_ONCE: u64 = 4 << 10;

/// The rule for rows that cannot be read or do not fit the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBadRow {
    /// End with the error that names it.
    #[default]
    Stop,
    /// Leave it out, and report it.
    Skip,
}

/// Options of following a source.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// The database (`file`), the source (`changes`), its format and columns. Other options are those of
    /// a delta.
    pub update: UpdateOptions,
    /// The rule for bad rows.
    pub on_bad: OnBadRow,
    /// The most bytes that the changes since the base may have; `None` for
    /// [`MAX_DELTA_BYTES`](papir_lookup::delta::MAX_DELTA_BYTES).
    pub most: Option<u64>,
}

/// One step of following.
#[derive(Debug, Default)]
pub struct Step {
    /// The version that was published; `None` if nothing arrived that changes the database.
    pub published: Option<DeltaReport>,
    /// Rows that were skipped.
    pub skipped: Vec<SkippedRow>,
    /// Set if rows arrived, published or not: there may be more.
    pub arrived: bool,
}

/// Follows one source.
pub struct Follower {
    options: FollowOptions,
    format: Format,
    /// Standard input; `None` for a file.
    pipe: Option<Pipe>,
    /// Rows that were taken from standard input and not published yet.
    waiting: Option<Arrived>,
    /// The place in a file after the last rows. If they changed nothing, no version states it.
    passed: Option<Followed>,
    /// The length of a file that has no more whole rows.
    read_up_to: Option<u64>,
    /// Most bytes of a file that become one version.
    at_once: u64,
}

/// Something new in a source.
enum Taken {
    /// Rows of standard input.
    FromPipe(Arrived),
    /// A file has this length.
    Grown(u64),
}

impl Follower {
    /// Prepares to follow a source.
    ///
    /// # Errors
    /// [`crate::Error::Options`] for a source that is neither CSV nor JSON Lines.
    pub fn new(options: FollowOptions) -> Result<Self> {
        let path = &options.update.changes;
        let format = format_of_changes(path, options.update.format)?;
        let pipe = is_standard_input(path).then(|| Pipe::new(stdin()));
        Ok(Self {
            options,
            format,
            pipe,
            waiting: None,
            passed: None,
            read_up_to: None,
            at_once: MOST_AT_ONCE,
        })
    }

    /// Returns whether the source has ended. A file never does.
    pub fn has_ended(&self) -> bool {
        self.waiting.is_none() && self.pipe.as_ref().is_some_and(Pipe::has_ended)
    }

    /// Publishes one version with the whole rows that have arrived, if there are any.
    ///
    /// # Errors
    /// Errors of [`crate::update_delta()`]; [`crate::Error::Unreadable`] for a file that is not the one
    /// that was followed. What was not published arrives again at the next call.
    pub fn step(&mut self, rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Step> {
        let Some(taken) = self.take()? else { return Ok(Step::default()) };
        let _lock = lock_deltas(&self.options.update.file)?;
        let mut draft = Draft::open(&self.options.update.file, self.options.update.sign.as_ref())?;
        let arrived = match taken {
            Taken::FromPipe(arrived) => arrived,
            Taken::Grown(length) => match self.read(&draft)? {
                Some(arrived) => arrived,
                None => {
                    self.read_up_to = Some(length);
                    return Ok(Step::default());
                }
            },
        };
        let was_empty = draft.is_empty();
        let outcome = self.publish(&mut draft, &arrived, rng, progress);
        match &outcome {
            Ok(_) => self.passed = arrived.after,
            // More than a delta may have even after a merge: taken in smaller parts.
            Err(Error::DeltaFull { .. })
                if was_empty && self.pipe.is_none() && self.at_once > LEAST_AT_ONCE =>
            {
                self.at_once = (self.at_once / 2).max(LEAST_AT_ONCE);
                return Ok(Step { arrived: true, ..Step::default() });
            }
            Err(_) => self.waiting = self.pipe.is_some().then_some(arrived),
        }
        outcome
    }

    /// Looks for something new, without opening the database.
    fn take(&mut self) -> Result<Option<Taken>> {
        let Some(pipe) = &mut self.pipe else {
            let path = &self.options.update.changes;
            let length = std::fs::metadata(path).map_err(Error::io("reading", path))?.len();
            return Ok((self.read_up_to != Some(length)).then_some(Taken::Grown(length)));
        };
        let arrived = match self.waiting.take() {
            Some(waiting) => Some(waiting),
            None => pipe.arrived(self.format)?,
        };
        Ok(arrived.map(Taken::FromPipe))
    }

    /// Reads what a file has after the place that the database states.
    fn read(&self, draft: &Draft) -> Result<Option<Arrived>> {
        let stated = draft.followed.as_ref();
        let passed = self.passed.as_ref();
        let from = passed.filter(|passed| stated.is_none_or(|stated| passed.bytes >= stated.bytes));
        file::arrived(&self.options.update.changes, self.format, from.or(stated), self.at_once)
    }

    fn publish(
        &self,
        draft: &mut Draft,
        arrived: &Arrived,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Step> {
        let skipped = self.add(draft, arrived)?;
        if arrived.after.is_some() {
            draft.followed.clone_from(&arrived.after);
        }
        let published = draft.publish(self.options.most, rng, progress)?;
        Ok(Step { published, skipped, arrived: true })
    }

    /// Adds the rows that have arrived. Returns those that were skipped.
    fn add(&self, draft: &mut Draft, arrived: &Arrived) -> Result<Vec<SkippedRow>> {
        let FollowOptions { update, on_bad, .. } = &self.options;
        let columns = update.columns(draft.metadata(), draft.longest())?;
        let Arrived { header, rows, lines, .. } = arrived;
        let part = PartOfSource { path: &update.changes, format: self.format, header, rows, lines: *lines };
        let skips = *on_bad == OnBadRow::Skip;
        let (rows, mut skipped) = changes_in(&part, &columns, skips)?;
        match skips {
            false => draft.add(rows, &update.changes)?,
            true => draft.add_fitting(rows, &update.changes, |line, reason| {
                skipped.push(SkippedRow { place: format!("line {line}"), reason });
            })?,
        }
        Ok(skipped)
    }
}
