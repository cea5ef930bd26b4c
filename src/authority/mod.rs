//! Who may do what, as plain values: no I/O, no async, nothing of wasmtime.
//!
//! `effective = ceiling ∩ grant ∩ parent ∩ flags`, and nothing else: see [`Effective::of`].

mod capability;
mod denial;
mod directing;
mod directories;
mod effective;
mod hosts;
mod level;
mod rights;
mod role;
mod text;

pub use capability::{Capability, CapabilitySet};
pub use denial::{Denial, DenialKind, Remedy};
pub use directing::{DIRECTORIES, INSTRUCTIONS, SKILL, SKILLS, folded};
pub use directories::{Access, Directories};
pub(crate) use effective::missing;
pub use effective::{Ceiling, Effective, Flags, Grant};
pub use hosts::{HostPattern, HostRule, Hosts, InvalidHost};
pub use level::Level;
pub use rights::Rights;
pub use role::{Profile, Role};
pub use text::InvalidRights;
