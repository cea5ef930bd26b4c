//! Components made ready: compiled or taken from the cache once, linked once for each set of capabilities.

use super::bindings::BoundPre;
use super::cache::CodeCache;
use super::compiler::Compiler;
use super::digest::Digest;
use super::error::LoadError;
use super::state::RoleState;
use crate::authority::CapabilitySet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

/// How much longer than the compiler may take a caller waits, so that the compiler's own word comes first.
const GRACE: Duration = Duration::from_secs(5);

/// The compiled components of this process.
pub(super) struct Components {
    engine: Engine,
    cache: Arc<CodeCache>,
    pub(super) compiler: Compiler,
    ready: Mutex<HashMap<Digest, Component>>,
    /// One at a time: a compilation uses every core by itself, and one that runs away holds up no more than others.
    compiling: Arc<Semaphore>,
}

impl Components {
    pub(super) fn new(engine: &Engine, cache: CodeCache) -> Self {
        Self {
            engine: engine.clone(),
            cache: Arc::new(cache),
            compiler: Compiler::default(),
            ready: Mutex::default(),
            compiling: Arc::new(Semaphore::new(1)),
        }
    }

    fn known(&self, digest: &Digest) -> Option<Component> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// The compiled component with this digest.
    pub(super) async fn get(&self, digest: Digest, bytes: &Arc<[u8]>) -> Result<Component, LoadError> {
        if let Some(component) = self.known(&digest) {
            return Ok(component);
        }
        let broken = |text: &str| LoadError::Broken(text.to_owned());
        let time = self.compiler.bounds.time + GRACE;
        let turn = tokio::time::timeout(time, Arc::clone(&self.compiling).acquire_owned());
        let turn =
            turn.await.map_err(|_| LoadError::Costly("another compilation takes too long".to_owned()))?;
        let turn = turn.map_err(|_| broken("the host is shutting down"))?;
        if let Some(component) = self.known(&digest) {
            return Ok(component);
        }
        let (engine, cache, bytes) = (self.engine.clone(), Arc::clone(&self.cache), Arc::clone(bytes));
        let compiler = self.compiler.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if let Some(component) = cache.load(&engine, &digest) {
                return Ok(component);
            }
            let code = compiler.compile(&engine, &bytes)?;
            cache.store(&digest, &code);
            // SAFETY: the code was made a moment ago, by this program, for an engine set up as this one is.
            let component = unsafe { Component::deserialize(&engine, &code) };
            component.map_err(|error| LoadError::broken(&error.root_cause().to_string()))
        });
        let component = match tokio::time::timeout(time, work).await {
            Ok(Ok(component)) => component?,
            Ok(Err(_)) => return Err(broken("the compiler failed on it")),
            Err(_) => {
                let text = format!("it takes longer than {} seconds", time.as_secs());
                return Err(LoadError::Costly(text));
            }
        };
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, component.clone());
        Ok(component)
    }
}

/// What is linked for one role: a linker for each set of capabilities, and each component linked with each of them.
pub(super) struct Linked<S: RoleState> {
    linkers: Mutex<HashMap<CapabilitySet, Arc<Linker<S>>>>,
    ready: Mutex<HashMap<(Digest, CapabilitySet), BoundPre<S>>>,
}

impl<S: RoleState> Linked<S> {
    pub(super) fn new() -> Self {
        Self { linkers: Mutex::default(), ready: Mutex::default() }
    }

    pub(super) fn known(&self, digest: Digest, capabilities: CapabilitySet) -> Option<BoundPre<S>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(&(digest, capabilities)).cloned()
    }

    /// Links a component with exactly `capabilities`.
    pub(super) fn link(
        &self,
        engine: &Engine,
        digest: Digest,
        component: &Component,
        capabilities: CapabilitySet,
    ) -> Result<BoundPre<S>, LoadError> {
        let broken = |error: wasmtime::Error| LoadError::broken(&format!("{error:#}"));
        let linker = {
            let mut linkers = self.linkers.lock().unwrap_or_else(PoisonError::into_inner);
            match linkers.get(&capabilities) {
                Some(linker) => Arc::clone(linker),
                None => {
                    let linker = Arc::new(super::linkers::build::<S>(engine, capabilities).map_err(broken)?);
                    linkers.insert(capabilities, Arc::clone(&linker));
                    linker
                }
            }
        };
        let pre = linker.instantiate_pre(component).and_then(BoundPre::new).map_err(broken)?;
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.insert((digest, capabilities), pre.clone());
        Ok(pre)
    }
}
