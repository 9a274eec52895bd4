//! How a message gets there.

use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use std::time::Duration;

/// What the collector has not taken of a message that it has taken.
pub(super) struct Taken {
    pub(super) rejected: u64,
    pub(super) why: String,
}

impl From<ExportMetricsServiceResponse> for Taken {
    fn from(response: ExportMetricsServiceResponse) -> Self {
        let part = response.partial_success.unwrap_or_default();
        Taken {
            rejected: u64::try_from(part.rejected_data_points).unwrap_or(0),
            why: part.error_message,
        }
    }
}

/// Why a message has not been taken.
pub(super) struct Refusal {
    /// Whether to try again soon: not where the next message would be refused all the same.
    pub(super) is_passing: bool,
    /// Not before then, the collector says.
    pub(super) after: Option<Duration>,
    pub(super) why: String,
}

pub(super) trait Transport: Send {
    fn send(&mut self, request: &ExportMetricsServiceRequest) -> Result<Taken, Refusal>;
}
