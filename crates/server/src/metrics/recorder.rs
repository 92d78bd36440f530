//! Recorder of metrics by name and labels.

use std::io;
use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::table::{ALL, Metric, MetricType};
use crate::error::Error;

/// Upper bounds of the histogram buckets, in seconds.
const BUCKETS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];
const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// Records metrics and renders them as text.
pub(crate) struct Recorder {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Recorder {
    /// An empty recorder. Fails if the exporter rejects its settings.
    pub(crate) fn new() -> Result<Self, Error> {
        let builder = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .map_err(|error| Error::Io {
                what: "preparing metrics",
                source: io::Error::other(error),
            })?;

        let recorder = builder.build_recorder();
        for Metric { name, kind, help } in ALL {
            match kind {
                MetricType::Counter => {
                    recorder.describe_counter((*name).into(), None, (*help).into())
                }
                MetricType::Gauge => recorder.describe_gauge((*name).into(), None, (*help).into()),
                MetricType::Histogram => {
                    recorder.describe_histogram((*name).into(), None, (*help).into())
                }
            }
        }

        let handle = recorder.handle();
        Ok(Self { recorder, handle })
    }

    /// Adds to a counter.
    pub(crate) fn count(&self, metric: Metric, labels: &[(&'static str, &str)], more: u64) {
        self.recorder
            .register_counter(&key(metric, labels), &METADATA)
            .increment(more);
    }

    /// Sets a gauge.
    pub(crate) fn gauge(&self, metric: Metric, labels: &[(&'static str, &str)], value: f64) {
        self.recorder
            .register_gauge(&key(metric, labels), &METADATA)
            .set(value);
    }

    /// Sets a gauge to 1 or 0.
    pub(crate) fn flag(&self, metric: Metric, labels: &[(&'static str, &str)], is_set: bool) {
        self.gauge(metric, labels, if is_set { 1.0 } else { 0.0 });
    }

    /// Adds a time to a histogram.
    pub(crate) fn time(&self, metric: Metric, labels: &[(&'static str, &str)], time: Duration) {
        self.recorder
            .register_histogram(&key(metric, labels), &METADATA)
            .record(time.as_secs_f64());
    }

    /// Moves recorded times into histogram buckets.
    pub(crate) fn tidy(&self) {
        self.handle.run_upkeep();
    }

    /// Renders all metrics with help texts and types.
    pub(crate) fn render(&self) -> String {
        self.handle.render()
    }
}

fn key(metric: Metric, labels: &[(&'static str, &str)]) -> Key {
    let labels: Vec<Label> = labels
        .iter()
        .map(|(name, value)| Label::new(*name, (*value).to_owned()))
        .collect();
    Key::from_parts(metric.name, labels)
}
