//! Rights to hosts on the network.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;

/// Which hosts a rule is about. Names are compared in lower case, without a trailing dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostPattern {
    /// Every host.
    Any,
    /// Every host below this name, but not the name itself (`*.example.org`).
    Below(String),
    /// This host.
    Exact(String),
}

/// A host pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as api.example.org, or *.example.org, with an optional :port"
)]
pub struct InvalidHost(pub String);

/// One rule: hosts, and one port or all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostRule {
    /// Which hosts.
    pub pattern: HostPattern,
    /// Which port; every port where absent.
    pub port: Option<u16>,
}

impl HostRule {
    /// Reads `name`, `*.name`, each with an optional `:port`. A missing port means 443. An IPv4 address in its usual spelling
    /// is a name here; an IPv6 address is not.
    ///
    /// # Errors
    ///
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let (name, port) = match text.split_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => {
                (name, port.parse::<NonZeroU16>().map_err(|_| invalid())?.get())
            }
            Some(_) => return Err(invalid()),
            None => (text, 443),
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let pattern = match name.strip_prefix("*.") {
            Some(rest) => HostPattern::Below(rest.to_owned()),
            None => HostPattern::Exact(name),
        };
        if pattern.is_canonical() { Ok(Self { pattern, port: Some(port) }) } else { Err(invalid()) }
    }

    /// Whether it covers a host and port. `host` is in the one spelling that rules compare: a name in lower case without a
    /// trailing dot, or an address. Anything else is no host, and no rule covers it.
    pub fn covers(&self, host: &str, port: u16) -> bool {
        is_host(host)
            && self.port.is_none_or(|p| p == port)
            && match &self.pattern {
                HostPattern::Any => true,
                HostPattern::Exact(name) => name == host,
                HostPattern::Below(name) => below(host, name),
            }
    }

    fn is_within(&self, other: &Self) -> bool {
        self.meet(other).as_ref() == Some(self)
    }

    fn meet(&self, other: &Self) -> Option<Self> {
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        use HostPattern::{Any, Below, Exact};
        let pattern = match (&self.pattern, &other.pattern) {
            (Any, p) | (p, Any) => p.clone(),
            (Exact(a), Exact(b)) if a == b => Exact(a.clone()),
            (Exact(a), Below(b)) | (Below(b), Exact(a)) if below(a, b) => Exact(a.clone()),
            (Below(a), Below(b)) if a == b || below(a, b) => Below(a.clone()),
            (Below(a), Below(b)) if below(b, a) => Below(b.clone()),
            _ => return None,
        };
        Some(Self { pattern, port })
    }
}

impl HostPattern {
    /// Whether it can cover anything: its name is spelled as hosts are compared.
    fn is_canonical(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(name) => is_host(name),
            Self::Below(name) => is_name(name),
        }
    }
}

/// Whether `host` lies below `name`, at a dot. Nothing lies below a part of an address.
fn below(host: &str, name: &str) -> bool {
    is_name(host) && host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
}

fn is_host(text: &str) -> bool {
    // An address has one spelling here; zone ids, octal and hexadecimal parts are none.
    is_name(text) || text.parse::<IpAddr>().is_ok_and(|address| address.to_string() == text)
}

/// What ends in a number is an address to whoever resolves it, and never a name.
fn is_name(text: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len()) && l.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
    };
    let number = |l: &str| match l.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => l.bytes().all(|b| b.is_ascii_digit()),
    };
    text.len() <= 253 && text.split('.').all(label) && !text.rsplit('.').next().is_some_and(number)
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            HostPattern::Any => f.write_str("*")?,
            HostPattern::Below(name) => write!(f, "*.{name}")?,
            HostPattern::Exact(name) => f.write_str(name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Hosts that may be spoken to. Kept in one normal form: sorted, without rules that another one covers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<HostRule>);

impl Hosts {
    /// No host.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every host, every port.
    pub fn everywhere() -> Self {
        Self(vec![HostRule { pattern: HostPattern::Any, port: None }])
    }

    /// These hosts. A rule whose name is not spelled as hosts are compared gives nothing.
    pub fn of(rules: impl IntoIterator<Item = HostRule>) -> Self {
        let mut rules: Vec<HostRule> = rules.into_iter().filter(|rule| rule.pattern.is_canonical()).collect();
        rules.sort();
        rules.dedup();
        let kept =
            rules.iter().filter(|rule| !rules.iter().any(|other| other != *rule && rule.is_within(other)));
        Self(kept.cloned().collect())
    }

    /// Whether a host and port may be spoken to; `host` as in [`HostRule::covers`].
    pub fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|rule| rule.covers(host, port))
    }

    /// What both give.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self::of(self.0.iter().flat_map(|a| other.0.iter().filter_map(|b| a.meet(b))))
    }

    /// Whether `other` gives everything that this gives.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|rule| other.0.iter().any(|o| rule.is_within(o)))
    }

    /// The rules, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &HostRule> {
        self.0.iter()
    }
}
