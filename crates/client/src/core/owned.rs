//! Tasks that own their session.
//!
//! Transports that move tasks between threads use them. A task returns its session together with
//! the outcome. If the task is dropped, the caller still has its own session from before the task,
//! and the next task finds the task's changes in the storage.

use papir_lookup::Wanted;
use zeroize::Zeroizing;

use super::lookups::FoundValue;
use super::session::Session;
use super::task::Task;
use crate::error::Result;

/// A key or an index to look up, wiped when dropped.
pub enum OwnedWanted {
    /// Looks up the value of this key.
    Key(Zeroizing<Vec<u8>>),
    /// Looks up the record at this index.
    Index(Zeroizing<u64>),
}

impl OwnedWanted {
    pub(super) fn borrowed(&self) -> Wanted<'_> {
        match self {
            Self::Key(key) => Wanted::Key(key),
            Self::Index(index) => Wanted::Index(**index),
        }
    }
}

impl Session {
    /// Like [`Session::register`], for an owned session.
    pub fn register_owned(mut self) -> Task<'static, (Self, Result<()>)> {
        Task::new(|io| async move {
            let registered = self.ensure_registered(&io).await;
            (self, registered)
        })
    }

    /// Like [`Session::prepare_ahead`], for an owned session.
    pub fn prepare_ahead_owned(mut self, lookups: usize) -> Task<'static, (Self, Result<()>)> {
        Task::new(move |io| async move {
            let prepared = self.prepare_lookups(&io, lookups).await;
            (self, prepared)
        })
    }

    /// Like [`Session::hold_ahead`], for an owned session.
    pub fn hold_ahead_owned(mut self, lookups: usize) -> Task<'static, (Self, Result<usize>)> {
        Task::new(move |io| async move {
            let held = self.hold_keys(&io, lookups).await;
            (self, held)
        })
    }

    /// Like [`Session::get`], for an owned session.
    #[expect(clippy::type_complexity, reason = "the session and the values")]
    pub fn get_owned(
        mut self,
        wanted: Vec<OwnedWanted>,
    ) -> Task<'static, (Self, Result<Vec<Option<Vec<u8>>>>)> {
        Task::new(|io| async move {
            let borrowed: Vec<_> = wanted.iter().map(OwnedWanted::borrowed).collect();
            let values = self.look_up(&io, &borrowed).await;
            drop(borrowed);
            (self, values)
        })
    }

    /// Like [`Session::get_each`], for an owned session.
    pub fn get_each_owned(
        mut self,
        wanted: Vec<OwnedWanted>,
    ) -> Task<'static, (Self, Result<Vec<FoundValue>>)> {
        Task::new(|io| async move {
            let borrowed: Vec<_> = wanted.iter().map(OwnedWanted::borrowed).collect();
            let found = self.look_up_each(&io, &borrowed).await;
            drop(borrowed);
            (self, found)
        })
    }

    /// Like [`Session::get_each_owned`], for the lookups of one request of a schedule. Every key is
    /// sent, also one that a filter excludes. Unlike [`Session::begin_schedule`], it leaves the
    /// session as it is for other lookups.
    pub fn get_scheduled_owned(
        mut self,
        wanted: Vec<OwnedWanted>,
    ) -> Task<'static, (Self, Result<Vec<FoundValue>>)> {
        Task::new(|io| async move {
            let before = std::mem::replace(&mut self.scheduled, true);
            let borrowed: Vec<_> = wanted.iter().map(OwnedWanted::borrowed).collect();
            let found = self.look_up_each(&io, &borrowed).await;
            drop(borrowed);

            self.scheduled = before;
            (self, found)
        })
    }
}
