//! The one engine of a process and the clock that interrupts its guests.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use wasmtime::{Config, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often guests are looked at: a timeout ends at most this late.
pub const TICK: Duration = Duration::from_millis(10);

/// Calls at once; more wait for their turn.
pub(super) const CALLS: u32 = 64;

/// Core instances, memories and tables that one component may consist of.
const PARTS: u32 = 16;

/// Bytes of wasm stack of one call.
const STACK: usize = 512 << 10;

/// Builds the engine: pooled instances, epochs, and only the parts of wasm that toolchains emit.
pub(super) fn build(largest_memory: usize) -> wasmtime::Result<Engine> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(CALLS)
        .total_stacks(CALLS)
        .total_core_instances(CALLS * PARTS)
        .total_memories(CALLS * 4)
        .total_tables(CALLS * PARTS)
        .max_core_instances_per_component(PARTS)
        .max_memories_per_component(4)
        .max_tables_per_component(PARTS)
        .max_memories_per_module(4)
        .max_memory_size(largest_memory)
        .table_elements(20_000)
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        // Zeroing these few pages by hand is cheaper than giving them back and faulting them in again.
        .linear_memory_keep_resident(128 << 10)
        .table_keep_resident(16 << 10)
        .async_stack_keep_resident(32 << 10);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        .async_stack_size(STACK + (512 << 10))
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_wide_arithmetic(false);
    Engine::new(&config)
}

/// Advances the engine's epoch while calls are under way, and sleeps while there are none.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    closed: bool,
}

impl Ticker {
    pub(super) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let (theirs, engine) = (Arc::clone(&shared), engine.weak());
        std::thread::Builder::new().name("ringfence-ticker".into()).spawn(move || run(&theirs, &engine))?;
        Ok(Self { shared })
    }

    /// Keeps the clock going until dropped.
    pub(super) fn guard(&self) -> Ticking {
        let (state, wake) = &*self.shared;
        state.lock().unwrap_or_else(PoisonError::into_inner).running += 1;
        wake.notify_one();
        Ticking(Arc::clone(&self.shared))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        let (state, wake) = &*self.shared;
        state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        wake.notify_one();
    }
}

/// A call under way.
#[derive(Debug)]
pub(super) struct Ticking(Arc<(Mutex<State>, Condvar)>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}

fn run((state, wake): &(Mutex<State>, Condvar), engine: &EngineWeak) {
    loop {
        let idle = state.lock().unwrap_or_else(PoisonError::into_inner);
        let state =
            wake.wait_while(idle, |s| s.running == 0 && !s.closed).unwrap_or_else(PoisonError::into_inner);
        // Not before the last guest has ended: one that runs on with nobody waiting for it is stopped by the epoch alone.
        if state.closed && state.running == 0 {
            return;
        }
        drop(state);
        std::thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
    }
}
