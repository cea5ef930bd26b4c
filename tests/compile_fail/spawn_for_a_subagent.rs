use ringfence::sandbox::{SubagentState, link_spawn};
use wasmtime::component::Linker;

fn main() {
    let mut linker = Linker::<SubagentState>::new(&wasmtime::Engine::default());
    link_spawn(&mut linker).unwrap();
}
