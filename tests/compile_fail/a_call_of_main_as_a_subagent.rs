use ringfence::sandbox::{Call, MainState, Sandbox, SubagentState};

fn main_as_subagent(sandbox: &Sandbox, call: Call<'_, MainState>) {
    let _ = sandbox.call_subagent(call);
}

fn subagent_as_main(sandbox: &Sandbox, call: Call<'_, SubagentState>) {
    let _ = sandbox.call_main(call);
}

fn main() {}
