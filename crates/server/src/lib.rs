//! HTTP service.
