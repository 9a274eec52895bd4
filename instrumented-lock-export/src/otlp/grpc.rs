//! OTLP over gRPC.

use super::settings::Settings;
use super::transport::{Refusal, Taken, Transport};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use std::error::Error as _;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tonic::codec::CompressionEncoding;
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

pub(super) struct Grpc {
    runtime: Runtime,
    /// Connects when there is something to send, and again after an error.
    client: MetricsServiceClient<Channel>,
    metadata: MetadataMap,
    timeout: Duration,
    endpoint: String,
}

impl Grpc {
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let endpoint = Endpoint::from_shared(settings.endpoint.clone()).map_err(invalid)?;
        let endpoint = endpoint.connect_timeout(settings.timeout);
        #[cfg(feature = "otlp-tls")]
        let endpoint = if settings.endpoint.starts_with("https://") {
            let tls = tonic::transport::ClientTlsConfig::new().with_webpki_roots();
            endpoint.tls_config(tls).map_err(invalid)?
        } else {
            endpoint
        };
        let channel = {
            // It starts a task.
            let _guard = runtime.enter();
            endpoint.connect_lazy()
        };
        let mut client = MetricsServiceClient::new(channel);
        if settings.has_gzip {
            client = client.send_compressed(CompressionEncoding::Gzip);
        }
        let mut metadata = MetadataMap::new();
        for (name, value) in &settings.headers {
            let name: AsciiMetadataKey = name.to_lowercase().parse().map_err(invalid)?;
            let value: AsciiMetadataValue = value.parse().map_err(invalid)?;
            metadata.insert(name, value);
        }
        Ok(Grpc {
            runtime,
            client,
            metadata,
            timeout: settings.timeout,
            endpoint: settings.endpoint.clone(),
        })
    }
}

fn invalid(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

/// What the collector has said, or what has kept it from saying anything.
fn reason(status: &Status, endpoint: &str) -> String {
    let Some(mut cause) = status.source() else {
        let (code, message) = (status.code(), status.message());
        return format!("{endpoint} answers {code:?}: {message}");
    };
    // The last one says most: that the connection was refused.
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("{endpoint}: {cause}")
}

impl Transport for Grpc {
    fn send(&mut self, message: &ExportMetricsServiceRequest) -> Result<Taken, Refusal> {
        let mut request = Request::new(message.clone());
        *request.metadata_mut() = self.metadata.clone();
        request.set_timeout(self.timeout);
        let client = &mut self.client;
        let answer = self.runtime.block_on(async {
            // The header asks the collector; this is for one that does not answer.
            tokio::time::timeout(self.timeout, client.export(request)).await
        });
        let refusal = |is_passing, why: String| Refusal {
            is_passing,
            after: None,
            why,
        };
        match answer {
            Ok(Ok(response)) => Ok(response.into_inner().into()),
            Ok(Err(status)) => {
                // As the protocol has it; or no answer at all, whatever that is called.
                let is_passing = status.source().is_some()
                    || matches!(
                        status.code(),
                        Code::Cancelled
                            | Code::DeadlineExceeded
                            | Code::ResourceExhausted
                            | Code::Aborted
                            | Code::OutOfRange
                            | Code::Unavailable
                            | Code::DataLoss
                    );
                Err(refusal(is_passing, reason(&status, &self.endpoint)))
            }
            Err(_) => {
                let why = format!(
                    "{} does not answer within {:?}",
                    self.endpoint, self.timeout
                );
                Err(refusal(true, why))
            }
        }
    }
}
