//! Role × capability: a component that wants the interface *tries* it. Refused means refused with the right kind and nothing
//! done; with the right role and the grant the same attempt does arrive, exactly as it was sent.

use crate::attack::raw;
use crate::support::{self, Recorder, World};
use ringfence::authority::{DenialKind, Profile, Remedy, Role};
use serde_json::json;

/// One interface and the component that wants it.
struct Case {
    capability: &'static str,
    component: &'static str,
    tool: &'static str,
    /// What arrived behind the interface.
    arrived: fn(&Recorder) -> Vec<String>,
    /// Whether a subagent may ever hold it.
    for_subagents: bool,
}

const CASES: [Case; 6] = [
    Case {
        capability: "message",
        component: "role_message",
        tool: "grab_message",
        arrived: Recorder::messages,
        for_subagents: false,
    },
    Case {
        capability: "spawn",
        component: "role_spawn",
        tool: "grab_spawn",
        arrived: Recorder::spawned,
        for_subagents: false,
    },
    Case {
        capability: "tasks",
        component: "role_tasks",
        tool: "grab_tasks",
        arrived: Recorder::tasks_asked,
        for_subagents: false,
    },
    Case {
        capability: "cron",
        component: "role_cron",
        tool: "grab_cron",
        arrived: Recorder::jobs,
        for_subagents: false,
    },
    Case {
        capability: "exec",
        component: "role_exec",
        tool: "grab_exec",
        arrived: Recorder::executed,
        for_subagents: true,
    },
    Case {
        capability: "log",
        component: "role_log",
        tool: "grab_log",
        arrived: Recorder::log_lines,
        for_subagents: true,
    },
];

/// Every capability that can be granted by name.
const EVERYTHING: &[&str] = &["files", "message", "spawn", "tasks", "cron", "exec", "log"];

fn installed(component: &str, grants: &[&str]) -> World {
    let w = World::new();
    w.component(&support::hostile(component), grants);
    w
}

/// Everything that arrived anywhere.
fn arrivals(w: &World) -> Vec<String> {
    CASES.iter().flat_map(|case| (case.arrived)(w.ports())).collect()
}

impl Case {
    fn payload(&self) -> String {
        match self.capability {
            // Another text names no run, and would not be handed on.
            "tasks" => "a1b2c3d4".to_owned(),
            other => format!("payload of {other}"),
        }
    }

    fn assert_denied(&self, role: Role, grants: &[&str], kind: DenialKind) {
        let w = installed(self.component, grants);
        let reply = w.call_as(role, self.tool, json!({ "text": self.payload() }));
        let denial = reply.denial();
        assert_eq!(denial.kind, kind, "{} as {role}: {denial}", self.tool);
        let told = denial.to_string();
        assert!(told.contains(self.tool) || told.contains(self.component), "{told}");
        assert!(told.contains(role.name()) && told.contains(self.capability), "{told}");
        assert_eq!(arrivals(&w), Vec::<String>::new(), "{} as {role}", self.tool);
    }

    fn assert_arrives(&self, role: Role, grants: &[&str]) {
        let w = installed(self.component, grants);
        w.call_as(role, self.tool, json!({ "text": self.payload() })).text();
        let arrived = (self.arrived)(w.ports());
        assert_eq!(arrived, [self.payload()], "{} as {role}", self.tool);
        assert_eq!(arrivals(&w).len(), 1, "{} as {role}: {:?}", self.tool, arrivals(&w));
    }
}

#[test]
fn escape_134_a_subagent_never_has_what_belongs_to_main() {
    for case in CASES.iter().filter(|case| !case.for_subagents) {
        // Not by its own grant, not by all grants, and the role is the reason before the grant is.
        case.assert_denied(Role::Subagent, &[case.capability], DenialKind::NotForRole);
        case.assert_denied(Role::Subagent, EVERYTHING, DenialKind::NotForRole);
        case.assert_denied(Role::Subagent, &[], DenialKind::NotForRole);
    }
}

#[test]
fn main_has_what_was_granted() {
    for case in &CASES {
        case.assert_arrives(Role::Main, &[case.capability]);
        case.assert_arrives(Role::Main, EVERYTHING);
    }
}

#[test]
fn main_does_not_have_what_was_not_granted() {
    for case in &CASES {
        case.assert_denied(Role::Main, &[], DenialKind::NotGranted);
        let others: Vec<&str> = EVERYTHING.iter().copied().filter(|c| *c != case.capability).collect();
        case.assert_denied(Role::Main, &others, DenialKind::NotGranted);
    }
}

#[test]
fn a_subagent_has_of_the_rest_what_was_granted() {
    for case in CASES.iter().filter(|case| case.for_subagents) {
        case.assert_arrives(Role::Subagent, &[case.capability]);
        case.assert_denied(Role::Subagent, &[], DenialKind::NotGranted);
    }
}

#[test]
fn escape_134_one_import_too_many_refuses_the_whole_component() {
    let all = ["message", "spawn", "tasks", "cron"];
    for missing in all {
        let grants: Vec<&str> = all.into_iter().filter(|c| *c != missing).collect();
        let w = installed("role_all", &grants);
        let denial = w.call("grab_all", json!({ "text": "x" })).denial();
        assert_eq!(denial.kind, DenialKind::NotGranted, "without {missing}: {denial}");
        assert!(denial.subject.contains(missing), "without {missing}: {denial}");
        assert_eq!(arrivals(&w), Vec::<String>::new(), "without {missing}");
    }
    let w = installed("role_all", &all);
    assert_eq!(
        w.call_as(Role::Subagent, "grab_all", json!({ "text": "x" })).denial().kind,
        DenialKind::NotForRole
    );
    assert_eq!(arrivals(&w), Vec::<String>::new());
    let grabbed = raw(&w, "grab_all", json!({ "text": "a1b2c3d4" }));
    assert_eq!(grabbed, json!({ "message": "ok", "spawn": "ok", "tasks": "ok", "cron": "ok" }));
    assert_eq!(arrivals(&w), ["a1b2c3d4"; 4]);
}

#[test]
fn the_built_in_message_tool_is_mains_alone() {
    let w = World::new();
    let denial = w.call_as(Role::Subagent, "message", json!({ "content": "to the user" })).denial();
    assert_eq!(denial.kind, DenialKind::NotForRole, "{denial}");
    assert_eq!(arrivals(&w), Vec::<String>::new());
    w.call("message", json!({ "content": "to the user" })).text();
    assert_eq!(arrivals(&w), ["to the user"]);
}

/// The ports behind it are main's, the scheduler included: what is not linked is not reached.
#[test]
fn as_cron_everything_of_main_arrives_but_a_job() {
    for case in &CASES {
        let w = installed(case.component, EVERYTHING);
        let cron = w.conversation_as(Profile::cron());
        let reply = cron.call(case.tool, json!({ "text": case.payload() }));
        if case.capability != "cron" {
            reply.text();
            assert_eq!(arrivals(&w), [case.payload()], "{}", case.tool);
            continue;
        }
        let denial = reply.denial();
        assert_eq!((denial.kind, denial.role.as_str()), (DenialKind::Withheld, "cron"), "{denial}");
        assert_eq!(denial.remedy, Remedy::UseRole(Role::Main));
        assert_eq!(arrivals(&w), Vec::<String>::new());
        w.call(case.tool, json!({ "text": case.payload() })).text();
        assert_eq!(w.ports().jobs(), [case.payload()]);
    }
}

#[test]
fn a_refusal_leaves_the_next_call_as_it_was() {
    let w = installed("role_message", &["message"]);
    for _ in 0..3 {
        let reply = w.call_as(Role::Subagent, "grab_message", json!({ "text": "from below" }));
        assert_eq!(reply.denial().kind, DenialKind::NotForRole);
        w.call("grab_message", json!({ "text": "from main" })).text();
    }
    assert_eq!(w.ports().messages(), ["from main"; 3]);
}

#[test]
fn a_component_without_files_holds_no_file() {
    let w = World::new();
    w.file("honest.txt", "honest");
    w.component(&support::hostile("escape_files"), &[]);
    for role in [Role::Main, Role::Subagent] {
        let asked = json!({ "path": "made", "flags": ["create"], "rights": ["write"], "write": "x" });
        let denial = w.call_as(role, "raw_open", asked).denial();
        assert_eq!(denial.kind, DenialKind::NotGranted, "{denial}");
        assert!(!w.exists("made"));
    }
    let w = World::new();
    w.component(&support::hostile("escape_files"), &["files:read"]);
    let asked = json!({ "path": "made", "flags": ["create"], "rights": ["write"], "write": "x" });
    assert_ne!(raw(&w, "raw_open", asked.clone())["outcome"], "ok");
    assert!(!w.exists("made"));
    let w = World::new();
    w.component(&support::hostile("escape_files"), &["files"]);
    assert_eq!(raw(&w, "raw_open", asked)["outcome"], "ok");
    assert_eq!(w.read("made"), "x");
}
