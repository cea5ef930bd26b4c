//! The event stream: what programs are told is what `docs/events.md` says.

use super::support::Program;
use ringfence::agent::{Event, VERSION, What};
use ringfence::provider::Usage;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One of each, with every field that there can be.
fn all() -> Vec<What> {
    let text = || "t".to_owned();
    let usage = Usage { input: 3, cached: 1, output: 2 };
    let all = vec![
        What::SessionStarted {
            provider: text(),
            model: text(),
            role: text(),
            workspace: text(),
            messages: 1,
        },
        What::TurnStarted { prompt: text() },
        What::TextDelta { text: text() },
        What::ReasoningDelta { text: text() },
        What::TextRestart {},
        What::ToolStarted { id: text(), name: text(), arguments: text() },
        What::ToolFinished {
            id: text(),
            name: text(),
            ok: false,
            outcome: text(),
            kind: Some(text()),
            ms: 1,
            bytes: 1,
            truncated: false,
            summary: text(),
        },
        What::Usage { usage },
        What::Retry { ms: 1, reason: text() },
        What::Compaction { before: 2, after: 1 },
        What::TaskUpdated { id: text(), label: text(), state: text(), text: text() },
        What::Notice { text: text() },
        What::Error {
            kind: text(),
            message: text(),
            status: Some(500),
            request_id: Some(text()),
            retryable: true,
        },
        What::TurnFinished { outcome: text(), text: text(), iterations: 1, usage, denied: vec![text()] },
        What::TaskUpdated { id: text(), label: text(), state: text(), text: text() },
    ];
    let known = all.iter().map(number).collect::<BTreeSet<_>>();
    assert_eq!(known, (0..14).collect(), "one of each");
    all
}

/// Does not compile when there is a type that this test has never heard of.
fn number(what: &What) -> usize {
    match what {
        What::SessionStarted { .. } => 0,
        What::TurnStarted { .. } => 1,
        What::TextDelta { .. } => 2,
        What::ReasoningDelta { .. } => 3,
        What::TextRestart {} => 4,
        What::ToolStarted { .. } => 5,
        What::ToolFinished { .. } => 6,
        What::Usage { .. } => 7,
        What::Retry { .. } => 8,
        What::Compaction { .. } => 9,
        What::Notice { .. } => 10,
        What::Error { .. } => 11,
        What::TurnFinished { .. } => 12,
        What::TaskUpdated { .. } => 13,
    }
}

type Fields = BTreeMap<String, String>;

/// The documented types with their fields; those of every line under the empty name.
fn documented() -> BTreeMap<String, Fields> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md")).unwrap();
    let mut types = BTreeMap::from([(String::new(), Fields::new())]);
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            current = name.to_owned();
            types.insert(current.clone(), Fields::new());
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let field = cells[0].trim_matches('`').to_owned();
            types.get_mut(&current).unwrap().insert(field, cells[1].to_owned());
        }
    }
    types
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn the_page_has_every_type_and_field_and_no_other() {
    let mut written = BTreeMap::new();
    let mut common = Fields::new();
    for what in all() {
        let event = Event {
            v: VERSION,
            seq: 1,
            ts: "t".into(),
            session: "s".into(),
            turn: Some("t".into()),
            what: what.clone(),
        };
        let own: Fields = match serde_json::to_value(&what).unwrap() {
            Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), kind(v).to_owned())).collect(),
            other => panic!("{other}"),
        };
        let Value::Object(line) = serde_json::to_value(&event).unwrap() else { panic!("no object") };
        let name = line["type"].as_str().unwrap().to_owned();
        common = line
            .iter()
            .filter(|(field, _)| *field == "type" || !own.contains_key(*field))
            .map(|(k, v)| (k.clone(), kind(v).to_owned()))
            .collect();
        written.insert(name, own.into_iter().filter(|(field, _)| field != "type").collect::<Fields>());
    }
    written.insert(String::new(), common);
    assert_eq!(documented(), written);
}

#[test]
fn a_run_is_a_stream_of_valid_versioned_lines_without_gaps() {
    let program = Program::scripted(
        r#"
[[reply]]
thinking = "hm"
text = "Let me look."
calls = [{ name = "read_file", arguments = { path = "a.txt" } }]
usage = { input = 5, output = 1 }
[[reply]]
text = "It says x."
"#,
    );
    program.file("a.txt", "x\n");
    let ran = program.run(&["run", "-s", "streamed", "-o", "jsonl", "what does it say?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = ran.lines();
    let documented = documented();
    for (n, line) in (1..).zip(&lines) {
        assert_eq!(line["v"], 1);
        assert_eq!(line["seq"], n);
        assert_eq!(line["session"], "cli:streamed");
        let ts = line["ts"].as_str().unwrap();
        assert!(ts.len() == 24 && ts.ends_with('Z'), "{ts}");
        ts.parse::<jiff::Timestamp>().unwrap();
        let known = &documented[line["type"].as_str().unwrap()];
        for field in line.as_object().unwrap().keys() {
            assert!(known.contains_key(field) || documented[""].contains_key(field), "{field}: {line}");
        }
    }
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types[..2], ["session.started", "turn.started"]);
    assert_eq!(types.last(), Some(&"turn.finished"));
    let at = |wanted: &str| {
        types.iter().position(|t| *t == wanted).unwrap_or_else(|| panic!("no {wanted}: {types:?}"))
    };
    assert!(at("text.delta") < at("tool.started") && at("tool.started") < at("tool.finished"));
    assert!(types.contains(&"reasoning.delta") && types.contains(&"usage"));
    assert!(lines[0].get("turn").is_none());
    let turns: BTreeSet<String> = lines[1..].iter().map(|line| line["turn"].to_string()).collect();
    assert_eq!(turns.len(), 1, "{turns:?}");
    let (started, finished) = (&lines[at("tool.started")], &lines[at("tool.finished")]);
    assert_eq!(started["id"], finished["id"]);
    assert_eq!(finished["ok"], true);
    let last = lines.last().unwrap();
    assert_eq!((&last["text"], &last["outcome"]), (&"It says x.".into(), &"completed".into()));
}

#[test]
fn a_failure_is_an_event_within_a_turn_and_without_one() {
    let program = Program::scripted(
        "[[reply]]\nrepeat = true\nfault = { kind = \"rejected\", message = \"no\", status = 400 }\n",
    );
    let ran = program.run(&["run", "-o", "jsonl", "hi"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let lines = ran.lines();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types[types.len() - 2..], ["error", "turn.finished"], "{types:?}");
    let error = &lines[lines.len() - 2];
    assert_eq!((&error["kind"], &error["status"]), (&"rejected".into(), &400.into()));
    assert_eq!(lines.last().unwrap()["outcome"], "failed");

    let ran = Program::bare().run(&["run", "-o", "jsonl", "hi"]);
    let lines = ran.lines();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert_eq!((&lines[0]["type"], &lines[0]["seq"]), (&"error".into(), &1.into()));
}
