//! OTLP over HTTP, in protobuf.

use super::settings::Settings;
use super::transport::{Refusal, Taken, Transport};
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use prost::Message as _;
use std::io::{Read as _, Write as _};
use std::time::Duration;

/// An answer is some bytes, or a sentence.
const ANSWER: u64 = 64 * 1024;

pub(super) struct Http {
    agent: ureq::Agent,
    endpoint: String,
    headers: Vec<(String, String)>,
    has_gzip: bool,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .http_status_as_error(false)
            .build();
        Http {
            agent: config.into(),
            endpoint: settings.endpoint.clone(),
            headers: settings.headers.clone(),
            has_gzip: settings.has_gzip,
        }
    }

    fn body(&self, request: &ExportMetricsServiceRequest) -> Vec<u8> {
        let body = request.encode_to_vec();
        if !self.has_gzip {
            return body;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Into memory, which cannot fail.
        let _ = encoder.write_all(&body);
        encoder.finish().unwrap_or_default()
    }
}

impl Transport for Http {
    fn send(&mut self, message: &ExportMetricsServiceRequest) -> Result<Taken, Refusal> {
        let mut request = self
            .agent
            .post(&self.endpoint)
            .header("Content-Type", "application/x-protobuf");
        if self.has_gzip {
            request = request.header("Content-Encoding", "gzip");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let passing = |error: ureq::Error| Refusal {
            is_passing: !matches!(error, ureq::Error::Http(_) | ureq::Error::BadUri(_)),
            after: None,
            why: error.to_string(),
        };
        let mut answer = request.send(self.body(message)).map_err(passing)?;
        let status = answer.status().as_u16();
        let after = answer.headers().get("Retry-After");
        let after = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
        let mut body = Vec::new();
        let read = answer
            .body_mut()
            .as_reader()
            .take(ANSWER)
            .read_to_end(&mut body);
        if (200..300).contains(&status) {
            // It has been taken, whatever else it says.
            let response = read
                .ok()
                .and_then(|_| ExportMetricsServiceResponse::decode(&*body).ok());
            return Ok(response.unwrap_or_default().into());
        }
        Err(Refusal {
            is_passing: matches!(status, 429 | 502 | 503 | 504),
            after: after.map(Duration::from_secs),
            why: format!("{} answers {status}", self.endpoint),
        })
    }
}
