use ringfence::sandbox::{SubagentState, link_cron};
use wasmtime::component::Linker;

fn main() {
    let mut linker = Linker::<SubagentState>::new(&wasmtime::Engine::default());
    link_cron(&mut linker).unwrap();
}
