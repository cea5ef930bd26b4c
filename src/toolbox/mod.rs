//! The toolbox: packages and their definitions, what each role sees of them, and the way of one call.

mod agent;
mod arguments;
mod audit;
mod builtin;
mod definition;
mod dispatch;
mod name;
mod nature;
mod outcome;
mod outside;
mod package;
mod recall;
mod schema;
mod spill;

pub use crate::sandbox::{Content, ErrorKind, Note, Output, ToolError};
pub use agent::{Agent, Ports, RoleMismatch};
pub use arguments::{ArgumentError, prepare};
pub use audit::{AuditRow, AuditSink, TARGET as AUDIT_TARGET};
pub use definition::{Definition, DefinitionError};
pub use name::{MAX_NAME, escape_controls, invisible, is_name, look, nearest, one_line};
pub use outcome::{Outcome, Reply, VIEW, text_of, view};
pub use package::{Origin, Package};
pub use spill::{Spill, Spilled};

use crate::authority::{Ceiling, Denial, Flags, Grant, Profile, Rights, Role};
use crate::sandbox::{
    Asker, CallError, CompileBounds, Component, Limits, LoadError, Opened, Sandbox, SetupError, objections,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The packages of a process and the sandbox that runs them.
pub struct Toolbox {
    sandbox: Sandbox,
    packages: Vec<Package>,
    /// From a tool's name to its package and its place among the package's definitions.
    index: BTreeMap<String, (usize, usize)>,
    opened: Opened,
    limits: Limits,
}

/// A package that is refused.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// It is no tool component.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It imports what no role could be given.
    #[error(transparent)]
    Denied(Box<Denial>),
    /// It does not say what its tools are.
    #[error("its definitions cannot be read: {0}")]
    Definitions(#[source] CallError),
    /// What it says of its tools is refused.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// One of its tools is called, or looks, like another.
    #[error("its tool `{tool}` would be taken for `{other}`, which is here already")]
    Taken {
        /// Its tool.
        tool: String,
        /// The other.
        other: String,
    },
}

/// One tool as an agent sees it.
#[derive(Debug)]
pub struct Offer<'t> {
    /// Its definition.
    pub definition: &'t Definition,
    /// Its package.
    pub package: &'t Package,
    /// What stands in the way of calling it; nothing when it can be called.
    pub objections: Vec<Denial>,
}

impl Toolbox {
    /// The tools that come with the program, for these directories. Starts the engine and runs no guest.
    ///
    /// # Errors
    ///
    /// When the engine does not start.
    pub fn new(opened: Opened, cache: Option<&Path>, limits: Limits) -> Result<Self, SetupError> {
        let sandbox = Sandbox::start(cache, limits.memory)?;
        let mut toolbox = Self { sandbox, packages: Vec::new(), index: BTreeMap::new(), opened, limits };
        for package in Package::built_in() {
            toolbox.insert(package);
        }
        Ok(toolbox)
    }

    /// Has components compiled by `program`, this program's own binary, in a process of its own.
    pub fn compile_with(&mut self, program: PathBuf, bounds: CompileBounds) {
        self.sandbox.compile_with(program, bounds);
    }

    /// Adds the tools of a component that a person named. Its definitions are asked for with nothing in its hands.
    ///
    /// # Errors
    ///
    /// When it is no tool component, its definitions are not as the contract says, or a name is taken. Nothing is added.
    pub async fn add(&mut self, path: PathBuf, bytes: Vec<u8>, grant: Grant) -> Result<(), PackageError> {
        let component = Component::read(bytes)?;
        let named = path.display().to_string();
        if let Some(denial) = hopeless(&component, &named) {
            return Err(PackageError::Denied(Box::new(denial)));
        }
        let raw = self.sandbox.definitions(&component).await.map_err(PackageError::Definitions)?;
        let definitions = Definition::check_all(raw)?;
        for definition in &definitions {
            let wanted = name::look(&definition.name);
            if let Some(other) = self.names().find(|other| name::look(other) == wanted) {
                return Err(PackageError::Taken { tool: definition.name.clone(), other: other.to_owned() });
            }
        }
        self.insert(Package::third_party(path, component, definitions, grant));
        Ok(())
    }

    fn insert(&mut self, package: Package) {
        let at = self.packages.len();
        for (place, definition) in package.definitions.iter().enumerate() {
            self.index.insert(definition.name.clone(), (at, place));
        }
        self.packages.push(package);
    }

    /// The tool of that name, whoever asks.
    pub fn find(&self, tool: &str) -> Option<(&Package, &Definition)> {
        let (at, place) = self.index.get(tool)?;
        let package = self.packages.get(*at)?;
        Some((package, package.definitions.get(*place)?))
    }

    /// Every tool's name, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }

    /// Every tool as an agent sees it, sorted by name. Those with objections are answered with a denial when called.
    pub fn offers(&self, agent: &Agent) -> Vec<Offer<'_>> {
        self.names().filter_map(|tool| self.offer(agent, tool)).collect()
    }

    /// One tool as an agent sees it.
    pub fn offer(&self, agent: &Agent, tool: &str) -> Option<Offer<'_>> {
        let (package, definition) = self.find(tool)?;
        let objections = match package.component() {
            Ok(component) => self.objections(agent, package, tool, component),
            Err(_) => Vec::new(),
        };
        Some(Offer { definition, package, objections })
    }

    /// The definitions that a model is shown: those of the tools that link for this agent.
    pub fn view<'t>(&'t self, agent: &Agent) -> impl Iterator<Item = &'t Definition> {
        self.offers(agent)
            .into_iter()
            .filter(|offer| offer.objections.is_empty())
            .map(|offer| offer.definition)
    }

    /// Asks a component for its definitions, with nothing in its hands.
    ///
    /// # Errors
    ///
    /// When it imports what no role could be given, does not load, or does not answer.
    pub async fn probe(&self, component: &Component) -> Result<Vec<Definition>, PackageError> {
        if let Some(denial) = hopeless(component, "it") {
            return Err(PackageError::Denied(Box::new(denial)));
        }
        let raw = self.sandbox.definitions(component).await.map_err(PackageError::Definitions)?;
        Ok(Definition::check_all(raw)?)
    }

    /// Compiles a tool, or takes it from the cache, so that its first call need not.
    ///
    /// # Errors
    ///
    /// When it does not load.
    pub async fn compile(&self, package: &Package) -> Result<(), LoadError> {
        self.sandbox.compile(package.component()?).await
    }
}

/// What stands in the way of a component whoever asks, with every capability granted.
fn hopeless(component: &Component, named: &str) -> Option<Denial> {
    let (profile, ceiling) = (Profile::plain(Role::Main), Ceiling(Rights::all()));
    let (grant, flags) = (Grant(Rights::all()), Flags(Rights::all()));
    let asker = Asker { tool: named, profile: &profile, ceiling: &ceiling, grant: &grant, flags: &flags };
    objections(&component.survey, asker).into_iter().next()
}

/// The stable name of a tool's error kind, for programs.
pub const fn error_kind_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidArguments => "invalid-arguments",
        ErrorKind::NotFound => "not-found",
        ErrorKind::Denied => "denied",
        ErrorKind::Conflict => "conflict",
        ErrorKind::TooLarge => "too-large",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Unavailable => "unavailable",
        ErrorKind::Failed => "failed",
    }
}
