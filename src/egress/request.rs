//! What goes out and what comes back.

use super::EgressError;
use super::client::failed;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// A header of a request.
#[derive(Debug, Clone)]
pub enum Header {
    /// One that anybody may see.
    Plain(String, String),
    /// One with a secret: the text before it, and the secret. It is marked, so that no library logs or indexes it.
    Secret(&'static str, &'static str, SecretString),
}

impl Header {
    pub(super) fn name(&self) -> Result<HeaderName, EgressError> {
        let name = match self {
            Self::Plain(name, _) => name.as_str(),
            Self::Secret(name, ..) => name,
        };
        name.parse().map_err(|_| EgressError::Request(format!("`{}` is no header", name.escape_debug())))
    }

    pub(super) fn value(&self) -> Result<HeaderValue, EgressError> {
        match self {
            Self::Plain(name, value) => {
                let mut value: HeaderValue = value.parse().map_err(|_| {
                    EgressError::Request(format!("the header `{name}` has a value that cannot be sent"))
                })?;
                // People put into headers what no log should hold.
                value.set_sensitive(true);
                Ok(value)
            }
            Self::Secret(name, before, secret) => {
                let text = SecretString::from(format!("{before}{}", secret.expose_secret()));
                let mut value: HeaderValue = text.expose_secret().parse().map_err(|_| {
                    EgressError::Request(format!("the key cannot be sent as the header `{name}`"))
                })?;
                value.set_sensitive(true);
                Ok(value)
            }
        }
    }
}

/// A request.
#[derive(Debug)]
pub struct Request<'a> {
    /// Where.
    pub url: &'a str,
    /// Headers beyond those that HTTP itself needs.
    pub headers: Vec<Header>,
    /// What.
    pub body: Vec<u8>,
    /// How long the reply may take to begin.
    pub patience: Duration,
}

/// A reply whose headers are there and whose body comes in.
#[derive(Debug)]
pub struct Reply {
    response: reqwest::Response,
    host: String,
    taken: usize,
}

impl Reply {
    pub(super) fn new(response: reqwest::Response, host: String) -> Self {
        Self { response, host, taken: 0 }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The headers that are text, in no order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.response.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// The next bytes of the body; `None` at its end. `most` is for the whole body.
    ///
    /// # Errors
    ///
    /// When the connection breaks, nothing comes for `patience`, or there is more than `most`.
    pub async fn chunk(&mut self, most: usize, patience: Duration) -> Result<Option<Vec<u8>>, EgressError> {
        match tokio::time::timeout(patience, self.response.chunk()).await {
            Err(_) => Err(EgressError::Silent { host: self.host.clone(), time: patience }),
            Ok(Err(error)) => Err(failed(&self.host, error)),
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(bytes))) => {
                self.taken += bytes.len();
                if self.taken > most {
                    return Err(EgressError::TooLarge { host: self.host.clone(), most });
                }
                Ok(Some(bytes.to_vec()))
            }
        }
    }

    /// The beginning of the body as text, at most that many bytes of it: for error messages. What breaks ends it.
    pub async fn beginning(mut self, most: usize, patience: Duration) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            match self.chunk(usize::MAX, patience).await {
                Ok(Some(more)) => bytes.extend_from_slice(&more),
                _ => break,
            }
        }
        bytes.truncate(most);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
