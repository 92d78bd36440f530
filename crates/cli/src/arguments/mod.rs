//! Options that several commands share, and the values that they take.

pub(crate) mod authority;
pub(crate) mod changes;
pub(crate) mod connecting;
pub(crate) mod duration;
pub(crate) mod network;
pub(crate) mod owner_key;
pub(crate) mod prefilter;
pub(crate) mod proxy;
pub(crate) mod remote;
pub(crate) mod secret_file;
pub(crate) mod servers;
pub(crate) mod sign;
pub(crate) mod source_form;
pub(crate) mod state;
pub(crate) mod trust;
