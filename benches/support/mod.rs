//! What both benchmarks measure: the same component bare and through the toolbox.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each benchmark uses its part of a module of its own"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a benchmark that fails is over")]
#![allow(clippy::disallowed_methods, reason = "a benchmark lays out its own workspace")]

use ringfence::authority::{Access, CapabilitySet, Directories, Flags, Hosts, Profile, Rights, Role};
use ringfence::sandbox::ports::Unavailable;
use ringfence::sandbox::{Limits, Opened};
use ringfence::toolbox::{Agent, Outcome, Ports, Toolbox, text_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

wasmtime::component::bindgen!({
    inline: "
        package ringfence:bench;
        world bare { export ringfence:tool/tool@0.1.0; }
    ",
    path: "wit/ringfence-tool",
    world: "ringfence:bench/bare",
});

/// The arguments of the call that is measured: 4 KiB of text, read anew each time.
pub const ARGUMENTS: &str = r#"{"path":"4k.txt","force":true}"#;

/// A workspace with a file of 4 KiB.
pub fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
    std::fs::write(dir.path().join("4k.txt"), line.repeat(64)).unwrap();
    dir
}

/// Where benchmarks keep native code.
pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-code")
}

/// The floor: bare wasmtime, the engine set up the same way, a fresh store from a prepared instance, called on this thread.
pub struct Floor {
    engine: Engine,
    pre: BarePre<State>,
    workspace: PathBuf,
}

pub struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Floor {
    pub fn new(workspace: &Path) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(64).total_memories(64).linear_memory_keep_resident(128 << 10);
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool)).epoch_interruption(true);
        config.concurrency_support(false);
        let engine = Engine::new(&config).unwrap();
        let wasm = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("guest-tools/target/wasm32-wasip2/release/read_file.wasm");
        let component = Component::from_file(&engine, wasm).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
        let pre = BarePre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        Self { engine, pre, workspace: std::fs::canonicalize(workspace).unwrap() }
    }

    pub fn call(&self) -> usize {
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true);
        wasi.preopened_dir(&self.workspace, self.workspace.to_str().unwrap(), FsPerms::ReadOnly).unwrap();
        let mut store = Store::new(&self.engine, State { wasi: wasi.build(), table: ResourceTable::new() });
        store.set_epoch_deadline(1_000_000);
        let floor = self.pre.instantiate(&mut store).unwrap();
        let answer =
            floor.ringfence_tool_tool().call_call(&mut store, "read_file", ARGUMENTS).unwrap().unwrap();
        match answer.content.first() {
            Some(exports::ringfence::tool::tool::Content::Text(text)) => text.len(),
            other => panic!("{other:?}"),
        }
    }
}

/// The toolbox, as a program holds it.
pub struct Whole {
    pub runtime: Runtime,
    pub toolbox: Arc<Toolbox>,
    pub agent: Arc<Agent>,
}

impl Whole {
    pub fn new(workspace: &Path, limits: Limits) -> Self {
        let workspace = std::fs::canonicalize(workspace).unwrap();
        let opened = Opened::open(&workspace, &[], &[]).unwrap();
        let toolbox = Toolbox::new(opened, Some(&cache()), limits).unwrap();
        let flags = Flags(Rights {
            capabilities: CapabilitySet::ALL,
            directories: Directories::of([(workspace.clone(), Access::ReadWrite)]),
            hosts: Hosts::none(),
        });
        let ports = Ports::Main(Arc::new(Unavailable::main()));
        let agent = Agent::new("bench", Profile::plain(Role::Main), &workspace, flags, ports).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        Self { runtime, toolbox: Arc::new(toolbox), agent: Arc::new(agent) }
    }

    pub fn call(&self) -> usize {
        self.runtime.block_on(call(&self.toolbox, &self.agent))
    }
}

/// One call through the toolbox; the length of its text.
pub async fn call(toolbox: &Toolbox, agent: &Agent) -> usize {
    match toolbox.call(agent, "read_file", ARGUMENTS).await.outcome {
        Outcome::Done(output) => text_of(&output.content).len(),
        other => panic!("{other:?}"),
    }
}
