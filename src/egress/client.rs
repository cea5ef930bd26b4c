//! The HTTP client.

use super::{EgressError, Reply, Request};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// Who we say we are.
const AGENT: &str = concat!("ringfence/", env!("CARGO_PKG_VERSION"));

/// The HTTP client of the whole program. Making one costs nothing; certificates and proxies are read at the first request.
#[derive(Debug, Clone, Default)]
pub struct Client {
    made: Arc<Made>,
}

#[derive(Debug, Default)]
struct Made {
    /// For everything: certificates of the system, proxies of the environment.
    outside: OnceLock<Result<reqwest::Client, EgressError>>,
    /// For plain HTTP to this machine: it needs neither, and a proxy could not reach it anyway.
    inside: OnceLock<Result<reqwest::Client, EgressError>>,
}

impl Client {
    /// A client.
    pub fn new() -> Self {
        Self::default()
    }

    /// Posts, and returns once the reply's headers are there. Redirects are not followed: they could lead a key elsewhere.
    ///
    /// # Errors
    ///
    /// When no reply begins.
    pub async fn post(&self, request: Request<'_>) -> Result<Reply, EgressError> {
        let url = reqwest::Url::parse(request.url)
            .map_err(|error| EgressError::Request(format!("`{}` is no address: {error}", request.url)))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let client = if url.scheme() == "http" && is_loopback(&host) {
            self.made.inside.get_or_init(|| make(true))
        } else {
            self.made.outside.get_or_init(|| make(false))
        };
        let client = client.as_ref().map_err(Clone::clone)?;
        let mut builder = client.post(url);
        for header in &request.headers {
            builder = builder.header(header.name()?, header.value()?);
        }
        let sent = tokio::time::timeout(request.patience, builder.body(request.body).send()).await;
        match sent {
            Err(_) => Err(EgressError::Silent { host, time: request.patience }),
            Ok(Err(error)) => Err(failed(&host, error)),
            Ok(Ok(response)) => Ok(Reply::new(response, host)),
        }
    }
}

fn make(inside: bool) -> Result<reqwest::Client, EgressError> {
    // The process has one; whoever comes second finds the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(AGENT)
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_keepalive(Duration::from_secs(30));
    if inside {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    builder.build().map_err(|error| EgressError::Setup(chain(&error)))
}

/// Whether a host, as it stands in an address, is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

pub(super) fn failed(host: &str, error: reqwest::Error) -> EgressError {
    let host = host.to_owned();
    let error = error.without_url();
    let problem = chain(&error);
    if error.is_builder() {
        return EgressError::Request(problem);
    }
    if error.is_connect() {
        return EgressError::Connect { host, problem, refused: is_refused(&error) };
    }
    EgressError::Broken { host, problem }
}

fn is_refused(error: &reqwest::Error) -> bool {
    let mut behind: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = behind {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        behind = error.source();
    }
    false
}

/// The last cause, which says most, after the first words.
fn chain(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
