//! Publishes new rows of a source as versions.

use std::io::stdin;

use papir_core::Run;

use super::arrived::{Arrived, REPLACED, TornRow};
use super::file::{self, FileState, TextAfter};
use super::options::{FollowOptions, OnBadRow, SlotOptions};
use super::pipe::Pipe;
use super::rows::GrowingForm;
#[cfg(feature = "postgres")]
use super::slot::{Peeked, ReplicationSlot};
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::file::is_standard_input;
use crate::snapshot::Followed;
use crate::source::{
    Format, KeyForm, PartOfSource, SkippedRow, TextForm, changes_in, format_of_changes,
    has_packed_name,
};
use crate::update::{DeltaReport, Draft};

/// Maximum number of bytes of a file or of standard input that become one version: 1 MiB.
const MOST_AT_ONCE: usize = 1 << 20;
/// Lower bound of this number when it is reduced, since a delta may have no more changes: 4 KiB.
const LEAST_AT_ONCE: usize = 4 << 10;

/// One step of following.
#[derive(Debug, Default)]
pub struct Step {
    /// The version that was published; `None` if nothing arrived that changes the database.
    pub published: Option<DeltaReport>,
    /// Rows that were skipped.
    pub skipped: Vec<SkippedRow>,
    /// Set if rows arrived, published or not: there may be more.
    pub arrived: bool,
    /// A temporary failure of the source, which is tried again.
    pub trouble: Option<String>,
}

/// Follows one source.
pub struct Follower {
    options: FollowOptions,
    form: GrowingForm,
    source: ChangeSource,
    /// Maximum number of bytes of a file or of standard input that become one version.
    at_once: usize,
    /// The place after the last rows. If they changed nothing, no version states it.
    passed: Option<Followed>,
}

/// A source of changes.
enum ChangeSource {
    File(Places),
    Pipe(Pipe),
    #[cfg(feature = "postgres")]
    Slot(Box<ReplicationSlot>),
}

/// Places in a file.
#[derive(Default)]
struct Places {
    /// The file when it had no more whole rows.
    read_up_to: Option<FileState>,
    /// The beginning of a row at its end.
    waiting: Option<TornRow>,
    /// Number of bytes before the place that the newest version stated.
    stated: u64,
}

/// News of a source.
enum Taken {
    /// Rows of standard input.
    FromPipe(Arrived),
    /// A file that has changed.
    Changed(FileState),
    /// Messages of a slot.
    #[cfg(feature = "postgres")]
    FromSlot(Peeked),
}

#[cfg(feature = "postgres")]
fn slot_source(options: &FollowOptions, slot: &SlotOptions) -> Result<ChangeSource> {
    let file = &options.update.file;

    // Locked until the slot is checked: another update would move the place that it is checked at.
    let _lock = lock_deltas(file)?;
    let stated = Draft::open(file, options.update.sign.as_ref())?.followed;

    let slot = ReplicationSlot::open(slot.clone(), file, stated)?;
    Ok(ChangeSource::Slot(Box::new(slot)))
}

#[cfg(not(feature = "postgres"))]
fn slot_source(_: &FollowOptions, slot: &SlotOptions) -> Result<ChangeSource> {
    let found = slot.login.shown();
    Err(Error::MissingFeature {
        found,
        kind: "a PostgreSQL server",
        support: "PostgreSQL",
        feature: "postgres",
    })
}

/// Refuses a form of text or keys for a slot, whose rows have columns.
fn check_slot(options: &FollowOptions) -> Result<()> {
    let any_key = KeyForm {
        binary: true,
        ..KeyForm::default()
    };
    let update = &options.update;
    if update.text == TextForm::default() && update.keys == any_key {
        return Ok(());
    }
    Err(Error::options(
        "a form of text or keys for a replication slot",
        "a file or standard input",
    ))
}

/// Refuses text that cannot grow row by row, or has another form than its format.
fn check_text(options: &FollowOptions, format: Format) -> Result<()> {
    let update = &options.update;
    update.text.check(format)?;
    if !update.more.is_empty() {
        return Err(Error::options("several files to follow", "one"));
    }

    if has_packed_name(&update.changes) {
        let reason = "a compressed file: expected text, to which rows are appended \
                      (`papir update --delta` reads compressed files)";
        return Err(Error::unreadable(&update.changes, reason));
    }
    Ok(())
}

impl Follower {
    /// Prepares to follow a source.
    ///
    /// # Errors
    /// [`crate::Error::Options`] for a source that is no text, or not one file, and
    /// [`crate::Error::Unreadable`] for a compressed file. For a slot, errors of the database, of
    /// the connection to the server, and of a slot that does not continue the database.
    pub fn new(options: FollowOptions) -> Result<Self> {
        let path = &options.update.changes;
        if let Some(slot) = &options.slot {
            check_slot(&options)?;
            let source = slot_source(&options, slot)?;
            return Ok(Self::of(options, Format::JsonLines, source));
        }

        let format = format_of_changes(path, options.update.format)?;
        check_text(&options, format)?;
        let source = if is_standard_input(path) {
            ChangeSource::Pipe(Pipe::new(stdin()))
        } else {
            ChangeSource::File(Places::default())
        };
        Ok(Self::of(options, format, source))
    }

    fn of(options: FollowOptions, format: Format, source: ChangeSource) -> Self {
        Self {
            form: GrowingForm::new(format, &options.update.text),
            options,
            source,
            at_once: MOST_AT_ONCE,
            passed: None,
        }
    }

    /// Returns whether the source has ended. Only standard input does.
    pub fn has_ended(&self) -> bool {
        matches!(&self.source, ChangeSource::Pipe(pipe) if pipe.has_ended())
    }

    /// Returns whether the source is a stream, whose last row is whole once it has ended.
    pub fn is_stream(&self) -> bool {
        matches!(&self.source, ChangeSource::Pipe(_))
    }

    /// The beginning of a row of a file or of standard input whose end has not arrived, after a
    /// step without rows.
    pub fn waiting(&self) -> Option<TornRow> {
        match &self.source {
            ChangeSource::File(places) => places.waiting,
            ChangeSource::Pipe(pipe) => pipe.waiting(),
            #[cfg(feature = "postgres")]
            ChangeSource::Slot(_) => None,
        }
    }

    /// Publishes one version with the whole rows that have arrived, if there are any.
    ///
    /// # Errors
    /// Errors of [`crate::update_delta()`]; [`crate::Error::Unreadable`] for a file or a slot that
    /// is not the one that was followed, for a database that was rolled back or built again
    /// meanwhile, and for changes of a slot that do not state what happens to every key. Rows that
    /// were not published arrive again at the next call.
    pub fn step(&mut self, run: &mut Run<'_>) -> Result<Step> {
        // Without the database: most looks find nothing, and opening it reads its delta.
        let Some(taken) = self.take()? else {
            return Ok(Step {
                trouble: self.trouble(),
                ..Step::default()
            });
        };

        // Locked before the delta is read: a delta that another update publishes between the
        // reading and the writing would be lost.
        let _lock = lock_deltas(&self.options.update.file)?;
        let mut draft = Draft::open(&self.options.update.file, self.options.update.sign.as_ref())?;
        let Some(arrived) = self.arrived(taken, &draft)? else {
            return Ok(Step {
                arrived: self.has_more(),
                ..Step::default()
            });
        };

        // A delta that is too long although it has these changes only would be too long after a
        // merge as well.
        let was_empty = draft.is_empty();
        let outcome = self.publish(&mut draft, &arrived, run);
        match outcome {
            Ok(step) => {
                self.pass(&arrived, step.published.is_some());
                #[cfg(feature = "postgres")]
                self.acknowledge(step.published.is_some())?;
                Ok(step)
            }
            Err(error) => self.refused(error, was_empty),
        }
    }

    /// Moves on after rows that are in a version, or changed nothing.
    fn pass(&mut self, arrived: &Arrived, published: bool) {
        self.passed.clone_from(&arrived.after);

        match (&mut self.source, &arrived.after) {
            (ChangeSource::Pipe(pipe), _) => drop(pipe.pass(arrived.rows.len())),
            (ChangeSource::File(places), Some(after)) if published => places.stated = after.bytes,
            _ => {}
        }
    }

    /// Handles rows that were not published. More than a delta may have even after a merge are
    /// taken in smaller parts.
    fn refused(&mut self, error: Error, was_empty: bool) -> Result<Step> {
        // Beside other changes, a merge makes room, and the caller decides on it.
        let too_many = was_empty && matches!(error, Error::DeltaFull { .. });
        if too_many && self.take_less() {
            return Ok(Step {
                arrived: true,
                ..Step::default()
            });
        }
        Err(error)
    }

    /// Takes fewer rows at once from now on. Returns false if it cannot be fewer.
    fn take_less(&mut self) -> bool {
        match &mut self.source {
            #[cfg(feature = "postgres")]
            ChangeSource::Slot(slot) => slot.take_less(),
            _ => {
                let some_are_left = self.at_once > LEAST_AT_ONCE;
                self.at_once = (self.at_once / 2).max(LEAST_AT_ONCE);
                some_are_left
            }
        }
    }

    /// Looks for something new, without opening the database.
    fn take(&mut self) -> Result<Option<Taken>> {
        match &mut self.source {
            ChangeSource::File(places) => {
                let path = &self.options.update.changes;
                let state = FileState::of(path)?;
                // Length, time and number of the file: one that was replaced by another of the same
                // length is new, too.
                let is_new = places.read_up_to.as_ref() != Some(&state);
                Ok(is_new.then_some(Taken::Changed(state)))
            }
            ChangeSource::Pipe(pipe) => {
                Ok(pipe.arrived(self.form, self.at_once)?.map(Taken::FromPipe))
            }
            #[cfg(feature = "postgres")]
            ChangeSource::Slot(slot) => Ok(slot.peek()?.map(Taken::FromSlot)),
        }
    }

    /// The rows after the place that the database states.
    fn arrived(&mut self, taken: Taken, draft: &Draft) -> Result<Option<Arrived>> {
        let stated = draft.followed.as_ref();
        let from = later(self.passed.as_ref(), stated);

        match (taken, &mut self.source) {
            (Taken::Changed(state), ChangeSource::File(places)) => {
                let path = &self.options.update.changes;
                // A database that states an earlier place than before lost changes that were
                // reported as published.
                let now = stated.map_or(0, |stated| stated.bytes);
                if now < places.stated {
                    return Err(Error::unreadable(path, REPLACED));
                }
                places.stated = now;

                match file::arrived(path, self.form, from, self.at_once)? {
                    TextAfter::Rows(arrived) => {
                        places.waiting = None;
                        Ok(Some(arrived))
                    }
                    TextAfter::Waiting(waiting) => {
                        places.waiting = waiting;
                        places.read_up_to = Some(state);
                        Ok(None)
                    }
                }
            }
            (Taken::FromPipe(arrived), _) => Ok(Some(arrived)),
            #[cfg(feature = "postgres")]
            (Taken::FromSlot(peeked), ChangeSource::Slot(slot)) => {
                let FollowOptions { update, .. } = &self.options;
                let format = self.form.format;
                let columns = update.columns(format, draft.metadata(), draft.longest())?;
                slot.accept(&peeked, from, stated, &columns)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether a source without new rows may have some at once.
    fn has_more(&self) -> bool {
        match &self.source {
            #[cfg(feature = "postgres")]
            ChangeSource::Slot(slot) => slot.has_more(),
            _ => false,
        }
    }

    /// A temporary failure of the source.
    fn trouble(&mut self) -> Option<String> {
        match &mut self.source {
            #[cfg(feature = "postgres")]
            ChangeSource::Slot(slot) => slot.take_trouble(),
            _ => None,
        }
    }

    /// Tells a slot that rows are in a durable version, or changed nothing: it need not keep them.
    #[cfg(feature = "postgres")]
    fn acknowledge(&mut self, published: bool) -> Result<()> {
        match (&mut self.source, &self.passed) {
            (ChangeSource::Slot(slot), Some(at)) if published => slot.published(at),
            (ChangeSource::Slot(slot), Some(at)) => slot.unchanged(at.bytes)?,
            _ => {}
        }
        Ok(())
    }

    fn publish(&self, draft: &mut Draft, arrived: &Arrived, run: &mut Run<'_>) -> Result<Step> {
        let skipped = self.add(draft, arrived)?;

        // In the same version as the rows: after a crash, none of them is missing or in twice.
        if arrived.after.is_some() {
            draft.followed.clone_from(&arrived.after);
        }

        let published = draft.publish(self.options.most, run)?;
        Ok(Step {
            published,
            skipped,
            arrived: true,
            trouble: None,
        })
    }

    /// Adds the rows that have arrived. Returns the skipped rows.
    fn add(&self, draft: &mut Draft, arrived: &Arrived) -> Result<Vec<SkippedRow>> {
        let FollowOptions { update, on_bad, .. } = &self.options;
        let format = self.form.format;
        let columns = update.columns(format, draft.metadata(), draft.longest())?;

        let Arrived {
            header,
            rows,
            lines,
            ..
        } = arrived;
        let part = PartOfSource {
            path: &update.changes,
            format,
            header,
            rows,
            lines: *lines,
        };

        let skips = *on_bad == OnBadRow::Skip;
        let (rows, mut skipped) = changes_in(&part, &columns, skips)?;
        if skips {
            draft.add_fitting(rows, &update.changes, |line, reason| {
                skipped.push(SkippedRow {
                    place: format!("line {line}"),
                    reason,
                });
            })?;
        } else {
            draft.add(rows, &update.changes)?;
        }
        Ok(skipped)
    }
}

/// The later of two places: the one after the last rows, and the one that the database states.
fn later<'a>(passed: Option<&'a Followed>, stated: Option<&'a Followed>) -> Option<&'a Followed> {
    passed
        .filter(|passed| stated.is_none_or(|stated| passed.bytes >= stated.bytes))
        .or(stated)
}
