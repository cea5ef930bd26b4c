//! What belongs to main cannot even be written down for a subagent: each file in `tests/compile_fail/` must not compile, for
//! the reason beside it. Set `TRYBUILD=overwrite` to write the reasons anew, and read what changed.

use ringfence::authority::Role;
use ringfence::sandbox::ports::{MainPorts, SharedPorts, Unavailable};
use ringfence::sandbox::{
    MainState, RoleState, SubagentState, link_cron, link_message, link_spawn, link_tasks,
};
use wasmtime::Engine;
use wasmtime::component::Linker;

#[test]
fn a_subagent_cannot_be_given_what_belongs_to_main() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}

/// The same lines with main's data do compile and do link, so that it is the data that decides.
#[test]
fn main_can_be_given_what_belongs_to_main() {
    let engine = Engine::default();
    let mut linker = Linker::<MainState>::new(&engine);
    type Link = fn(&mut Linker<MainState>) -> wasmtime::Result<()>;
    for link in [link_message as Link, link_spawn, link_tasks, link_cron] {
        link(&mut linker).unwrap();
        assert!(link(&mut linker).is_err(), "it is linked already");
    }
}

/// And the ports of each role are its own, of a type of their own.
#[test]
fn each_role_has_ports_of_its_own_type() {
    fn ports_of<S: RoleState<Ports = P>, P>(_: P) -> Role {
        S::ROLE
    }
    assert_eq!(ports_of::<MainState, MainPorts>(Unavailable::main()), Role::Main);
    assert_eq!(ports_of::<SubagentState, SharedPorts>(Unavailable::shared()), Role::Subagent);
}
