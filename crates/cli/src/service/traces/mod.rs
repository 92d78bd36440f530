//! Export of traces to an OpenTelemetry collector.

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod export;
mod share;

#[cfg(not(feature = "otlp"))]
pub(crate) use absent::Traces;
#[cfg(feature = "otlp")]
pub(crate) use export::Traces;
pub(crate) use share::Share;
