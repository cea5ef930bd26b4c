use ringfence::sandbox::{SubagentState, link_tasks};
use wasmtime::component::Linker;

fn main() {
    let mut linker = Linker::<SubagentState>::new(&wasmtime::Engine::default());
    link_tasks(&mut linker).unwrap();
}
