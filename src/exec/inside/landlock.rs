//! Landlock: the rules for files once more, independent of the mounts, and no TCP, no abstract sockets, no signals outside.

use super::{At as _, Failure, Step, system, wrong};
use crate::exec::wire::{Namespaces, Plan};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::io::Errno;
use std::path::Path;

/// The oldest version that counts as a wall: it knows truncation.
pub(super) const LEAST: i32 = 3;

/// The newest that the library knows.
const NEWEST: ABI = ABI::V10;

/// What may be done below a path.
#[derive(Clone, Copy)]
enum May {
    /// Read, list and run.
    Use,
    /// Read and list.
    Look,
    /// List.
    List,
    /// Everything but making devices.
    Change,
    /// Read, write and control, as with a terminal, and make nothing.
    Devices,
}

impl May {
    fn rights(self) -> BitFlags<AccessFs> {
        let all = AccessFs::from_all(NEWEST);
        match self {
            Self::Use => AccessFs::from_read(NEWEST),
            Self::List => AccessFs::ReadDir.into(),
            Self::Look => AccessFs::ReadFile | AccessFs::ReadDir,
            Self::Change => all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev),
            Self::Devices => {
                AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev
            }
        }
    }
}

/// What is allowed in a view, which holds nothing of the host's that it should not.
const OF_VIEW: [(&str, May); 7] = [
    ("/", May::List),
    ("/proc", May::Look),
    ("/etc", May::Use),
    ("/dev", May::Devices),
    ("/dev/shm", May::Change),
    ("/tmp", May::Change),
    ("/var/tmp", May::Change),
];

/// What is allowed of the host's own files where there is no view: what programs need to start, and no place that is shared.
const OF_HOST: [(&str, May); 14] = [
    ("/proc", May::Look),
    ("/etc/ld.so.cache", May::Look),
    ("/etc/ld.so.conf", May::Look),
    ("/etc/localtime", May::Look),
    ("/etc/passwd", May::Look),
    ("/etc/group", May::Look),
    ("/etc/nsswitch.conf", May::Look),
    ("/etc/hosts", May::Look),
    ("/dev/null", May::Devices),
    ("/dev/zero", May::Devices),
    ("/dev/full", May::Devices),
    ("/dev/random", May::Devices),
    ("/dev/urandom", May::Devices),
    ("/dev/tty", May::Devices),
];

/// Stands behind the mounts, for this process and all after it.
pub(super) fn stand(plan: &Plan) -> Step {
    let mut rules = ruleset().map_err(|error| failed(&error))?;
    let fixed: &[(&str, May)] = if plan.namespaces == Namespaces::None { &OF_HOST } else { &OF_VIEW };
    for (path, may) in fixed.iter().copied() {
        rules = allow(rules, Path::new(path), may)?;
    }
    for path in system::visible() {
        rules = allow(rules, &path, May::Use)?;
    }
    rules = allow(rules, &plan.home, May::Change)?;
    for place in &plan.places {
        rules = allow(rules, &place.path, if place.writable { May::Change } else { May::Use })?;
    }
    let status = rules.restrict_self().map_err(|error| failed(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return wrong("landlock", "nothing of it is enforced");
    }
    Ok(())
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    // What counts as the wall is required; what newer kernels add is taken where it is there.
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()
}

/// A rule for a path; none for one that is not there.
fn allow(rules: RulesetCreated, path: &Path, may: May) -> Step<RulesetCreated> {
    let Ok(there) = PathFd::new(path) else { return Ok(rules) };
    let about = rustix::fs::stat(path).at_with("landlock", || path.display().to_string())?;
    let directory = rustix::fs::FileType::from_raw_mode(about.st_mode) == rustix::fs::FileType::Directory;
    let rights = if directory { may.rights() } else { may.rights() & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(there, rights)).map_err(|error| failed(&error))
}

fn failed(error: &RulesetError) -> Failure {
    Failure { step: "landlock", errno: Errno::PERM, detail: error.to_string() }
}
