//! The HTTP interface of papir, shared by client and server.
//!
//! | module | content |
//! |---|---|
//! | [`path`] | paths of the routes |
//! | [`header`], [`media`] | header names and media types |
//! | [`code`] | error codes |
//! | [`limit`] | limits that both sides must know |
//!
//! The types of this crate are the JSON bodies:
//!
//! | request | response |
//! |---|---|
//! | `GET /v1/databases` | [`DatabaseList`] |
//! | `GET /v1/databases/{name}` | [`DatabaseDetail`], which starts with a [`DatabaseInfo`] |
//! | `GET /v1/databases/{name}/clients` | [`ClientList`] |
//! | `POST …/clients`, `GET …/clients/{id}`, `PATCH …/clients/{id}/keys` | [`ClientStatus`] |
//! | `GET /v1/psi` | [`PsiInfo`] |
//! | every error response | [`ErrorBody`] |
//!
//! Field names and codes are part of the interface, and do not change. Fields may be added.

mod clients;
pub mod code;
mod databases;
mod error_body;
pub mod header;
pub mod limit;
pub mod media;
pub mod path;
mod psi;

pub use clients::{ClientList, ClientStatus, RegistryCounts};
pub use databases::{
    CheckpointInfo, DatabaseDetail, DatabaseInfo, DatabaseList, DatabaseSummary, DeltaInfo, Memory,
    PrefilterInfo, PreviousVersion, SizesInfo,
};
pub use error_body::ErrorBody;
pub use psi::PsiInfo;
