use ringfence::sandbox::SubagentState;

fn fields(state: SubagentState) {
    let _ = state.courier;
    let _ = state.spawner;
    let _ = state.scheduler;
}

fn methods(state: &mut SubagentState) {
    state.courier();
    state.spawner();
    state.scheduler();
}

fn main() {}
