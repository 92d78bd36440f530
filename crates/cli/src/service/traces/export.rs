//! Spans over OTLP/HTTP, in batches from one thread.
//!
//! The queue of spans is bounded, and a full one drops spans: a collector that hangs or is away
//! takes neither time nor memory from requests.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Link, SpanKind, TraceContextExt, TraceId, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SamplingDecision, SamplingResult,
    SdkTracerProvider, ShouldSample,
};
use papir_client::{HttpSender, Options};
use papir_server::{TRACE_TARGET, TraceObserver};
use tracing::{Level, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::Share;
use crate::arguments::network::Network;
use crate::failure::Failure;

/// The collector's path for traces.
const PATH: &str = "/v1/traces";
/// Most spans that wait to be sent.
const QUEUE: usize = 2048;
/// Most spans of one message.
const BATCH: usize = 512;
/// Time after which spans are sent, however few.
const DELAY: Duration = Duration::from_secs(1);
/// Time limit of one message to the collector.
const SEND_TIME: Duration = Duration::from_secs(5);
/// Time for the last spans when the service stops.
const FINISH_TIME: Duration = Duration::from_secs(2);
/// Longest response of the collector that is read, in bytes.
const RESPONSE_BYTES: u64 = 64 << 10;

/// The running export.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts the thread that sends spans to the collector at `url`. Nothing is sent yet. Fails if
    /// the address is invalid, or if a proxy or certificates apply that cannot be used.
    pub(crate) fn start(url: &str, share: Share, network: &Network) -> Result<Self, Failure> {
        if !["http://", "https://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            return Err(invalid(
                url,
                "expected an address like http://127.0.0.1:4318",
            ));
        }

        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::new(url, network)?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint(url))
            .build()
            .map_err(|error| invalid(url, error))?;

        let config = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(DELAY)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(config)
            .build();

        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(Sampling(share))
            .with_resource(resource())
            .build();
        Ok(Self { provider })
    }

    /// The layer that receives the server's spans, and nothing of the log.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("papir"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(Targets::new().with_target(TRACE_TARGET, Level::TRACE))
    }

    /// Makes spans children of those that requests name. A header that does not parse is ignored.
    pub(crate) fn observer(&self) -> TraceObserver {
        Arc::new(|span, parent| {
            let carrier = HashMap::from([("traceparent".to_owned(), parent.to_owned())]);
            let parent = TraceContextPropagator::new().extract(&carrier);

            if parent.has_active_span() {
                // It fails only if the span is not exported.
                let _ = span.set_parent(parent);
            }
        })
    }

    /// Sends the last spans, for a limited time.
    pub(crate) fn finish(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FINISH_TIME) {
            tracing::debug!(%error, "the last traces were not sent");
        }
    }
}

/// The failure for the address of a collector.
fn invalid(url: &str, reason: impl Display) -> Failure {
    Failure::new(format!("invalid collector `{url}`: {reason}"))
}

/// The address for traces, from a collector's address with or without the path.
fn endpoint(url: &str) -> String {
    let base = url.trim_end_matches('/');
    if base.ends_with(PATH) {
        base.to_owned()
    } else {
        format!("{base}{PATH}")
    }
}

/// Properties of the service. No host, process or user.
fn resource() -> Resource {
    Resource::builder_empty()
        .with_service_name("papir")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Decides which requests are traced.
///
/// A caller that does not trace is followed. A caller that does is not: any client could otherwise
/// have all of its requests traced.
#[derive(Clone, Debug)]
struct Sampling(Share);

impl ShouldSample for Sampling {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let caller = parent
            .filter(|parent| parent.has_active_span())
            .map(|parent| parent.span().span_context().clone());

        let followed = match &caller {
            Some(caller) if caller.is_remote() && caller.is_sampled() => None,
            Some(caller) => Some(caller.is_sampled()),
            None => None,
        };
        let sampler = match followed {
            Some(true) => Sampler::AlwaysOn,
            Some(false) => Sampler::AlwaysOff,
            None => Sampler::TraceIdRatioBased(self.0.get()),
        };

        let SamplingResult { decision, .. } =
            sampler.should_sample(None, id, name, kind, attributes, links);
        debug_assert_ne!(decision, SamplingDecision::RecordOnly);
        SamplingResult {
            decision,
            attributes: Vec::new(),
            trace_state: Default::default(),
        }
    }
}

/// The HTTP client of the export.
#[derive(Debug)]
struct Collector {
    sender: HttpSender,
    failing: AtomicBool,
}

impl Collector {
    fn new(url: &str, network: &Network) -> Result<Self, Failure> {
        let options = Options {
            proxy: network.proxy.clone(),
            ca: network.ca.clone(),
            ..Options::default()
        };

        Ok(Self {
            sender: HttpSender::new(url, &options)?,
            failing: AtomicBool::new(false),
        })
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let mut headers = Vec::new();
        for (name, value) in &head.headers {
            headers.push((name.as_str(), value.as_bytes()));
        }

        let url = head.uri.to_string();
        let received = self
            .sender
            .post(&url, &headers, &body, SEND_TIME, RESPONSE_BYTES)?;

        // The exporter reads `retry-after`, among others.
        let mut response = Response::builder().status(received.status);
        for (name, value) in received.headers {
            response = response.header(name, value);
        }
        Ok(response.body(received.body.into())?)
    }

    /// Logs the first failure, and the end of failures.
    fn note(&self, failure: Option<String>) {
        let failed = failure.is_some();
        if self.failing.swap(failed, Ordering::Relaxed) == failed {
            return;
        }

        match failure {
            Some(reason) => {
                tracing::warn!(reason, "the collector takes no traces: they are dropped")
            }
            None => tracing::info!("the collector takes traces again"),
        }
    }
}

#[async_trait]
impl HttpClient for Collector {
    // Called from the thread of the export only, which waits for the response anyway.
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);

        self.note(match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(response.status().to_string()),
            Err(error) => Some(error.to_string()),
        });
        sent
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceState};

    use super::*;

    #[test]
    fn the_path_is_added_once() {
        for url in [
            "http://a:4318",
            "http://a:4318/",
            "http://a:4318/v1/traces",
            "http://a:4318/v1/traces/",
        ] {
            assert_eq!(endpoint(url), "http://a:4318/v1/traces");
        }
        assert_eq!(endpoint("https://a/otlp"), "https://a/otlp/v1/traces");
    }

    #[test]
    fn a_caller_can_prevent_a_trace_but_not_force_one() {
        let decide = |share: &str, caller: Option<(TraceFlags, bool)>| {
            let sampling = Sampling(share.parse().unwrap_or_default());
            let id = TraceId::from(u128::MAX >> 1);
            let parent = caller.map(|(flags, remote)| {
                let caller =
                    SpanContext::new(id, SpanId::from(7), flags, remote, TraceState::default());
                Context::new().with_remote_span_context(caller)
            });
            let result =
                sampling.should_sample(parent.as_ref(), id, "", &SpanKind::Server, &[], &[]);
            result.decision == SamplingDecision::RecordAndSample
        };

        let on = TraceFlags::SAMPLED;
        let off = TraceFlags::default();

        assert!(decide("1", None) && !decide("0", None));
        assert!(decide("1", Some((on, true))) && !decide("0", Some((on, true))));
        assert!(!decide("1", Some((off, true))));
        // Stages follow their request.
        assert!(decide("0", Some((on, false))) && !decide("1", Some((off, false))));
    }
}
