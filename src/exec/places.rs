//! Which directories no command is given: this program's own state, the person's secrets, and what is the system's.
//!
//! Places are compared by device and inode, and by where they lie in their file systems: a link, a `..`, another case or another
//! mount of a directory is that directory. Both directions count, since a command that sees a directory sees all below it.

use super::ExecError;
use super::mounts::Mounts;
use super::spec::{Place, Settings};
use crate::config;
use std::path::{Path, PathBuf};

/// What a directory is, whatever it is called: device and inode.
pub type Identity = (u64, u64);

/// How a place stands to one that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Is,
    Contains,
    LiesIn,
    /// It is the same under another name, or a part of it.
    Touches,
}

impl Relation {
    fn words(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::Contains => "contains",
            Self::LiesIn => "lies in",
            Self::Touches => "is, contains or lies in another name of",
        }
    }
}

/// How much around a place is kept with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Itself, what contains it, and all below it.
    Whole,
    /// Itself and what contains it. Directories below it can be given.
    Itself,
}

/// The system's places that no configuration hands over, and why.
const SYSTEM: &[(&str, Scope, &str)] = &[
    ("/", Scope::Itself, "which no command sees as a whole; name directories in it"),
    ("/proc", Scope::Whole, "of which a command has its own"),
    ("/sys", Scope::Whole, "which no command sees"),
    ("/dev", Scope::Whole, "of which a command has its own"),
    ("/run", Scope::Whole, "where the sockets of services are"),
    ("/etc", Scope::Itself, "which no command sees as a whole; name directories in it"),
    ("/var", Scope::Itself, "which no command sees as a whole; name directories in it"),
    ("/tmp", Scope::Itself, "of which a command has its own"),
    ("/var/tmp", Scope::Itself, "of which a command has its own"),
    ("/usr", Scope::Itself, "which every command sees already, read-only"),
    ("/bin", Scope::Itself, "which every command sees already, read-only"),
    ("/sbin", Scope::Itself, "which every command sees already, read-only"),
    ("/lib", Scope::Itself, "which every command sees already, read-only"),
    ("/lib64", Scope::Itself, "which every command sees already, read-only"),
];

/// Where the system keeps secrets.
const SYSTEM_SECRETS: &[&str] =
    &["/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d", "/etc/wireguard"];

/// Where people and their programs keep keys, passwords and what they are logged in with, below the home directory.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/op",
    ".config/Bitwarden",
    ".config/sops",
    ".config/age",
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker",
    ".config/containers",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/git/credentials",
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
];

/// Refuses places that are, contain or lie in this program's own state. Whatever they are for: a workspace too.
///
/// # Errors
///
/// For the first of these, and for one that is not there.
pub fn refuse_state(places: &[Place], state: &[PathBuf]) -> Result<(), ExecError> {
    let mounts = Mounts::read();
    places.iter().try_for_each(|place| refuse_state_at(&Spot::of(&place.path)?, state, &mounts))
}

fn refuse_state_at(spot: &Spot, state: &[PathBuf], mounts: &Mounts) -> Result<(), ExecError> {
    for own in state {
        if let Some(relation) = spot.relation(own, mounts) {
            return Err(spot.refused(relation, own, "where this program keeps its own state or a key"));
        }
    }
    Ok(())
}

/// Refuses directories that a configuration names and that no command is given: the person's home as a whole, places of the
/// system, and places where secrets are. Those that are not there hold none.
///
/// # Errors
///
/// For the first of these, and for one that is not there.
pub fn refuse_secrets(places: &[Place], home: Option<&Path>) -> Result<(), ExecError> {
    let mounts = Mounts::read();
    places.iter().try_for_each(|place| refuse_secrets_at(&Spot::of(&place.path)?, home, &mounts))
}

fn refuse_secrets_at(spot: &Spot, home: Option<&Path>, mounts: &Mounts) -> Result<(), ExecError> {
    let home_itself =
        home.map(|home| (home.to_owned(), Scope::Itself, "your home, of which a command has its own"));
    let system = SYSTEM.iter().map(|(path, scope, why)| (PathBuf::from(path), *scope, *why));
    for (kept, scope, why) in home_itself.into_iter().chain(system) {
        let relation = spot.relation(&kept, mounts);
        if let Some(relation) = relation.filter(|relation| scope.holds(*relation, &spot.path, &kept, mounts))
        {
            return Err(spot.refused(relation, &kept, why));
        }
    }
    let below_home = home.into_iter().flat_map(|home| SECRETS.iter().map(|secret| home.join(secret)));
    for secret in SYSTEM_SECRETS.iter().map(PathBuf::from).chain(below_home) {
        if identity_of(&secret).is_none() {
            continue;
        }
        if let Some(relation) = spot.relation(&secret, mounts) {
            return Err(spot.refused(relation, &secret, "where secrets are kept"));
        }
    }
    Ok(())
}

/// Refuses what is to be handed to a command and was opened for it: what counts is what was opened, whatever lies at its path by
/// now. None of it may be of this program's state, and what the configuration names no secret either. It is asked each time,
/// since what lies where can change while a program runs.
///
/// # Errors
///
/// For the first place that no command is given.
pub fn refuse_opened<'p>(
    settings: &Settings,
    places: impl IntoIterator<Item = (&'p Path, Identity)>,
) -> Result<(), ExecError> {
    let mounts = Mounts::read();
    for (path, identity) in places {
        let configured = settings.places.iter().any(|place| place.path == path);
        let path = config::absolute(path).unwrap_or_else(|_| path.to_owned());
        let spot = Spot { path, identity };
        refuse_state_at(&spot, &settings.state, &mounts)?;
        if configured {
            refuse_secrets_at(&spot, settings.home.as_deref(), &mounts)?;
        }
    }
    Ok(())
}

/// A place that is there.
struct Spot {
    /// Its own name: absolute, links resolved.
    path: PathBuf,
    identity: Identity,
}

impl Spot {
    fn of(path: &Path) -> Result<Self, ExecError> {
        let place = |problem: String| ExecError::Place { path: path.to_owned(), problem };
        let real = config::canonical(path).map_err(|error| place(error.to_string()))?;
        let identity = identity_of(&real).ok_or_else(|| place("it cannot be looked at".to_owned()))?;
        Ok(Self { path: real, identity })
    }

    /// How it stands to `own`, which may be a file, and need not be there.
    fn relation(&self, own: &Path, mounts: &Mounts) -> Option<Relation> {
        let own_identity = identity_of(own);
        // A link to a place is as telling as the place: who can change it decides where it leads.
        let real = config::absolute(own).unwrap_or_else(|_| own.to_owned());
        let above = |path: &Path| path.ancestors().any(|above| identity_of(above) == Some(self.identity));
        if own_identity == Some(self.identity) {
            Some(Relation::Is)
        } else if above(own) || above(&real) {
            Some(Relation::Contains)
        } else if own_identity.is_some()
            && self.path.ancestors().any(|above| identity_of(above) == own_identity)
        {
            Some(Relation::LiesIn)
        } else {
            mounts.touches(&self.path, &real).then_some(Relation::Touches)
        }
    }

    fn refused(&self, relation: Relation, own: &Path, why: &str) -> ExecError {
        ExecError::Place {
            path: self.path.clone(),
            problem: format!("no command is given it: it {} {}, {why}", relation.words(), own.display()),
        }
    }
}

impl Scope {
    /// Whether a place in this relation to one that is kept is kept as well.
    fn holds(self, relation: Relation, place: &Path, kept: &Path, mounts: &Mounts) -> bool {
        match (self, relation) {
            (Self::Whole, _) | (Self::Itself, Relation::Is | Relation::Contains) => true,
            (Self::Itself, Relation::LiesIn) => false,
            // Everything below the root has its origin in something that the root has.
            (Self::Itself, Relation::Touches) => mounts.covers(place, kept),
        }
    }
}

fn identity_of(path: &Path) -> Option<Identity> {
    rustix::fs::stat(path).ok().map(|about| (about.st_dev, about.st_ino))
}
