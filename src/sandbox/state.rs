//! The data behind a store: one Rust type a role.
//!
//! [`MainState`] holds a courier, a spawner and a scheduler. [`SubagentState`] has no such fields, and does not implement
//! the host traits that need them, so that linking them for it does not compile.

use super::fence::{Fence, Preopens, Refusals, Temporaries};
use super::limits::{Limits, Meter};
use super::ports::{Bearer, Courier, Executor, MainPorts, Scheduler, SharedPorts, Spawner};
use super::wasi::Dice;
use crate::authority::{CapabilitySet, Role};
use std::sync::Arc;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::random::WasiRandomCtx;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// What the data of every role has.
pub struct Shared {
    wasi: WasiCtx,
    table: ResourceTable,
    files: WasiFilesystemCtx,
    preopens: Arc<Preopens>,
    random: WasiRandomCtx,
    random_most: u64,
    pub(super) meter: Meter,
    pub(super) refusals: Refusals,
    temporaries: Temporaries,
    pub(super) notes: Notes,
    pub(super) executor: Arc<dyn Executor>,
    pub(super) bearer: Arc<Bearer>,
    /// Which walls stood around native commands, where there were any.
    pub(super) walls: Option<String>,
}

/// A line that a tool left for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How much it matters: `debug`, `info`, `warn` or `error`; [`Note::NOTICE`] for one of the host's own.
    pub level: &'static str,
    /// The line.
    pub message: String,
}

/// The lines of one call.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) lines: Vec<Note>,
    pub(super) dropped: u64,
    most: usize,
    longest: usize,
}

impl Note {
    /// A line of the host's own, which the person is to see.
    pub const NOTICE: &'static str = "notice";
}

impl Notes {
    /// A line of the host's own, which counts for nobody.
    pub(super) fn of_host(&mut self, message: String) {
        self.lines.push(Note { level: Note::NOTICE, message });
    }

    pub(super) fn push(&mut self, level: &'static str, mut message: String) {
        if self.lines.len() >= self.most {
            self.dropped += 1;
            return;
        }
        message.truncate(message.floor_char_boundary(self.longest));
        // What was cut off goes now: a thousand lines of megabytes would stay until the call ends.
        message.shrink_to_fit();
        self.lines.push(Note { level, message });
    }
}

impl Shared {
    pub(super) fn new(
        limits: &Limits,
        preopens: Arc<Preopens>,
        ports: &SharedPorts,
        bearer: Arc<Bearer>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        // No arguments, no environment, closed stdin, stdout and stderr that go nowhere, no addresses.
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        if let Some(cwd) = &preopens.cwd {
            // A name, not a right: it says where relative paths begin.
            wasi.initial_cwd(cwd);
        }
        let wasi = wasi.build();
        Self {
            wasi,
            table,
            files: WasiFilesystemCtx::default(),
            preopens,
            random: WasiRandomCtx::default(),
            random_most: limits.random,
            meter: Meter::new(limits),
            refusals: Refusals::default(),
            temporaries: Temporaries::default(),
            notes: Notes { lines: Vec::new(), dropped: 0, most: limits.log_lines, longest: limits.log_line },
            executor: Arc::clone(&ports.executor),
            bearer,
            walls: None,
        }
    }

    pub(super) fn fence(&mut self) -> Fence<'_> {
        Fence {
            wasi: WasiFilesystemCtxView { ctx: &mut self.files, table: &mut self.table },
            preopens: &self.preopens,
            refusals: &mut self.refusals,
            temporaries: &mut self.temporaries,
        }
    }

    pub(super) fn dice(&mut self) -> Dice<'_> {
        Dice { inner: &mut self.random, most: self.random_most }
    }
}

impl WasiView for Shared {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The data of a store under one role.
pub trait RoleState: Sized + Send + 'static {
    /// The role.
    const ROLE: Role;
    /// What the role is given ports for.
    type Ports: Send + Sync;
    /// Data for one call.
    fn new(shared: Shared, ports: &Self::Ports) -> Self;
    /// The ports that every role has.
    fn shared_ports(ports: &Self::Ports) -> &SharedPorts;
    /// What every role has.
    fn shared(&mut self) -> &mut Shared;
    /// Links what the role has beyond that, as far as `capabilities` holds it.
    ///
    /// # Errors
    ///
    /// When an interface is linked twice.
    fn link_own(linker: &mut Linker<Self>, capabilities: CapabilitySet) -> wasmtime::Result<()>;
}

/// The data behind a store of the main role.
pub struct MainState {
    shared: Shared,
    pub(super) courier: Arc<dyn Courier>,
    pub(super) spawner: Arc<dyn Spawner>,
    pub(super) scheduler: Arc<dyn Scheduler>,
}

/// The data behind a store of the subagent role: no courier, no spawner, no scheduler.
pub struct SubagentState {
    shared: Shared,
}

impl RoleState for MainState {
    const ROLE: Role = Role::Main;
    type Ports = MainPorts;

    fn new(shared: Shared, ports: &MainPorts) -> Self {
        Self {
            shared,
            courier: Arc::clone(&ports.courier),
            spawner: Arc::clone(&ports.spawner),
            scheduler: Arc::clone(&ports.scheduler),
        }
    }

    fn shared_ports(ports: &MainPorts) -> &SharedPorts {
        &ports.shared
    }

    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    fn link_own(linker: &mut Linker<Self>, capabilities: CapabilitySet) -> wasmtime::Result<()> {
        super::linkers::link_main(linker, capabilities)
    }
}

impl RoleState for SubagentState {
    const ROLE: Role = Role::Subagent;
    type Ports = SharedPorts;

    fn new(shared: Shared, _: &SharedPorts) -> Self {
        Self { shared }
    }

    fn shared_ports(ports: &SharedPorts) -> &SharedPorts {
        ports
    }

    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    fn link_own(_: &mut Linker<Self>, _: CapabilitySet) -> wasmtime::Result<()> {
        Ok(())
    }
}
