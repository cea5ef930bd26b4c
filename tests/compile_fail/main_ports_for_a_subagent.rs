use ringfence::sandbox::ports::MainPorts;
use ringfence::sandbox::{Call, SubagentState};
use std::sync::Arc;

fn hand_over(call: &mut Call<'_, SubagentState>, ports: Arc<MainPorts>) {
    call.ports = ports;
}

fn main() {}
