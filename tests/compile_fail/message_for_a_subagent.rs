use ringfence::sandbox::{SubagentState, link_message};
use wasmtime::component::Linker;

fn main() {
    let mut linker = Linker::<SubagentState>::new(&wasmtime::Engine::default());
    link_message(&mut linker).unwrap();
}
