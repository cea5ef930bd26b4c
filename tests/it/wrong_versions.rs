//! Each of the host's interfaces at versions that are not served, and under names that are nearly right: refused by name under
//! both roles before anything runs, and nothing is reached.

use crate::support::World;
use ringfence::authority::{
    Access, Capability, CapabilitySet, Ceiling, Denial, DenialKind, Directories, Flags, Grant, Hosts,
    Profile, Rights, Role,
};
use ringfence::sandbox::{Asker, Call, CallError, Component, Limits, Sandbox, objections};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Every interface of the host that can be called, and one function of it.
const INTERFACES: [(&str, &str); 6] = [
    ("message", "send"),
    ("spawn", "start"),
    ("tasks", "list-all"),
    ("cron", "list-all"),
    ("exec", "sessions"),
    ("log", "write"),
];

const WRONG_VERSIONS: [&str; 3] = ["0.0.9", "0.2.0", "1.0.0"];

const NEAR_MISSES: [&str; 12] = [
    "messages",
    "msg",
    "spawns",
    "spawner",
    "task",
    "tasks-all",
    "crons",
    "cron-jobs",
    "execs",
    "exe",
    "logs",
    "logger",
];

/// Everything that can be granted by name.
const EVERYTHING: &[&str] = &["files", "message", "spawn", "tasks", "cron", "exec", "log"];

/// A tool that would call the import at once if it were ever started.
fn text(import: &str, function: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-tools/hostile/wat/core_tricks.wat");
    let tool = std::fs::read_to_string(file).unwrap();
    let calls = format!(
        r#"(component
  (import "{import}" (instance $door (export "{function}" (func))))
  (core func $door (canon lower (func $door "{function}")))
  (core module $Starts (import "door" "open" (func $open)) (start $open))
  (core instance (instantiate $Starts (with "door" (instance (export "open" (func $door))))))
"#
    );
    tool.replacen("(component\n", &calls, 1)
}

fn component(import: &str, function: &str) -> Vec<u8> {
    wat::parse_str(text(import, function)).unwrap_or_else(|error| panic!("{import}: {error}"))
}

fn written(w: &World, import: &str, function: &str) -> PathBuf {
    let path = w.outside().join("wanting.wasm");
    std::fs::write(&path, component(import, function)).unwrap();
    path
}

/// What stands in the way of it for a role that leaves all it can have, with everything granted.
fn judged(bytes: &[u8], role: Role) -> Vec<Denial> {
    let component = Component::read(bytes).unwrap();
    let everything = Rights {
        capabilities: CapabilitySet::ALL,
        directories: Directories::everywhere(Access::ReadWrite),
        hosts: Hosts::none(),
    };
    let ceiling = Ceiling(Rights { capabilities: role.capabilities(), ..everything.clone() });
    let profile = Profile::plain(role);
    let (grant, flags) = (Grant(everything.clone()), Flags(everything));
    let asker = Asker { tool: "wanting", profile: &profile, ceiling: &ceiling, grant: &grant, flags: &flags };
    objections(&component.survey, asker)
}

fn assert_refused(import: &str, function: &str, kind: DenialKind) {
    let w = World::new();
    let path = written(&w, import, function);
    for role in Role::ALL {
        let denials = judged(&std::fs::read(&path).unwrap(), role);
        let [denial] = &denials[..] else { panic!("{import} as {role}: {denials:?}") };
        assert_eq!((denial.kind, denial.subject.as_str()), (kind, import), "as {role}");
        assert_eq!(denial.role, role.name());
    }
    // It is not taken whatever is granted, and by its tools' names there is nothing to call then.
    for grants in [&[][..], EVERYTHING] {
        let denial = w.component_denied(&path, grants);
        assert_eq!((denial.kind, denial.subject.as_str()), (kind, import));
        assert!(denial.to_string().contains(import), "{denial}");
    }
    for role in Role::ALL {
        assert_eq!(w.call_as(role, "say", json!({})).outcome(), "unknown", "{import} as {role}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new(), "{import}");
}

#[test]
fn no_interface_is_served_at_another_version() {
    for (interface, function) in INTERFACES {
        for version in WRONG_VERSIONS {
            let import = format!("ringfence:host/{interface}@{version}");
            assert_refused(&import, function, DenialKind::OtherVersion);
        }
    }
}

#[test]
fn no_interface_is_served_under_a_name_that_is_nearly_right() {
    for interface in NEAR_MISSES {
        for version in ["0.1.0", "0.2.0"] {
            let import = format!("ringfence:host/{interface}@{version}");
            assert_refused(&import, "open", DenialKind::UnknownImport);
        }
    }
    for package in ["ringfence:hosts", "ringfence:tool", "evil:host", "ringfenc:host"] {
        for (interface, function) in INTERFACES {
            assert_refused(&format!("{package}/{interface}@0.1.0"), function, DenialKind::UnknownImport);
        }
    }
}

/// The walls do not stand on the verdict alone: asked for directly, the linkers have nothing by those names.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_verdict_refuses_the_linkers_do_not_have() {
    let limits = Limits::default();
    let sandbox = Sandbox::start(None, limits.memory).unwrap();
    let wrong = INTERFACES
        .iter()
        .flat_map(|(interface, function)| {
            let at = |version: &str| (format!("ringfence:host/{interface}@{version}"), *function);
            [at("0.2.0"), at("1.0.0")]
        })
        .chain([
            ("ringfence:host/spawns@0.1.0".to_owned(), "start"),
            ("ringfence:host/task@0.1.0".to_owned(), "open"),
        ]);
    for (import, function) in wrong {
        let component = Component::read(component(&import, function)).unwrap();
        let heard = crate::support::Recorder::default();
        let main = Call {
            component: &component,
            capabilities: CapabilitySet::ALL,
            preopens: Arc::default(),
            ports: Arc::new(heard.main_ports()),
            bearer: Arc::new(ringfence::sandbox::ports::Bearer::nobody()),
            limits: &limits,
            tool: "say",
            arguments: "{}".to_owned(),
        };
        let as_main = sandbox.call_main(main).await.answer;
        let subagent = Call {
            component: &component,
            capabilities: CapabilitySet::ALL,
            preopens: Arc::default(),
            ports: Arc::new(heard.shared_ports()),
            bearer: Arc::new(ringfence::sandbox::ports::Bearer::nobody()),
            limits: &limits,
            tool: "say",
            arguments: "{}".to_owned(),
        };
        let as_subagent = sandbox.call_subagent(subagent).await.answer;
        for answer in [as_main, as_subagent] {
            assert!(matches!(answer, Err(CallError::Load(_))), "{import}: {answer:?}");
        }
        assert_eq!(heard.everything(), Vec::<String>::new(), "{import}");
    }
}

/// The same component flips with nothing but the version: what is refused above is refused for that alone.
#[test]
fn the_versions_that_are_served_are_judged_by_role_and_grant() {
    for (interface, function) in INTERFACES {
        let bytes = component(&format!("ringfence:host/{interface}@0.1.0"), function);
        assert_eq!(judged(&bytes, Role::Main), [], "{interface}");
        let capability = Capability::from_name(interface).unwrap();
        let as_subagent = judged(&bytes, Role::Subagent);
        if Role::Subagent.capabilities().contains(capability) {
            assert_eq!(as_subagent, [], "{interface}");
        } else {
            assert_eq!(as_subagent[0].kind, DenialKind::NotForRole, "{interface}");
        }
    }
}
