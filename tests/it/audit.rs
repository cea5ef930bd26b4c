//! One row for every call of a tool, whatever became of it; and the commands that look at rows and sessions.

use crate::attack::world;
use crate::sessions::{Kept, calls, results, says, user};
use crate::support;
use futures_util::FutureExt as _;
use ringfence::authority::{Profile, Role};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{AuditFilter, AuditRow, Store};
use ringfence::toolbox::{self, AuditSink};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default, Clone)]
struct Rows(Arc<Mutex<Vec<toolbox::AuditRow>>>);

impl AuditSink for Rows {
    fn row(&self, row: &toolbox::AuditRow) {
        self.0.lock().unwrap().push(row.clone());
    }
}

impl Rows {
    fn one(&self) -> toolbox::AuditRow {
        let mut rows = self.0.lock().unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }
}

#[test]
fn every_call_has_its_row_before_its_result_is_seen() {
    let w = world();
    let rows = Rows::default();
    w.record(Arc::new(rows.clone()));

    w.call("read_file", json!({ "path": "honest.txt" })).text();
    let row = rows.one();
    assert_eq!((row.who.as_str(), row.role.as_str(), row.tool.as_str()), ("test", "main", "read_file"));
    assert_eq!((row.outcome, row.kind, row.refusals), ("done", None, 0));
    assert!(row.package.unwrap().starts_with("sha256:"));
    assert!(row.grant.contains("files") && row.bytes > 0);

    w.call("read_file", json!({ "path": "missing.txt" }));
    let row = rows.one();
    assert_eq!((row.outcome, row.kind), ("failed", Some("not-found")));

    w.call("read_file", json!({ "path": "../outside/secret.txt" }));
    let row = rows.one();
    assert_eq!((row.outcome, row.bytes), ("denied", 0));
    assert!(row.kind.is_some());

    w.call("read_file", json!({}));
    assert_eq!(rows.one().outcome, "arguments");

    w.call(&format!("no\u{1b}[2Jtool{}", "x".repeat(9_000)), json!({}));
    let row = rows.one();
    assert_eq!((row.outcome, row.package, row.grant.as_str()), ("unknown", None, ""));
    assert!(row.tool.len() < 600 && !row.tool.chars().any(char::is_control), "{:?}", row.tool);

    w.call_as(Role::Subagent, "message", json!({ "content": "hello" }));
    let row = rows.one();
    assert_eq!((row.role.as_str(), row.tool.as_str(), row.outcome), ("subagent", "message", "denied"));
    assert!(w.ports().messages().is_empty());
}

#[test]
fn a_call_that_is_not_waited_for_has_its_row_too() {
    let w = world().with_timeout(std::time::Duration::from_millis(300));
    w.component(&support::hostile("limits_time"), &[]);
    let rows = Rows::default();
    w.record(Arc::new(rows.clone()));
    let agent = w.agent(Profile::plain(Role::Main));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let toolbox = w.toolbox().read().unwrap();
    let reply = runtime.block_on(async { toolbox.call(&agent, "spin", "{}").now_or_never() });
    assert!(reply.is_none());
    let row = rows.one();
    assert_eq!((row.tool.as_str(), row.outcome, row.kind), ("spin", "cancelled", None));
}

fn row(session: &str, tool: &str, outcome: &str, refusals: u64) -> AuditRow {
    AuditRow {
        at: 0,
        session: session.to_owned(),
        who: session.to_owned(),
        role: "main".to_owned(),
        tool: tool.to_owned(),
        package: Some("sha256:00".to_owned()),
        grant: "files".to_owned(),
        outcome: outcome.to_owned(),
        kind: (outcome == "denied").then(|| "read-only".to_owned()),
        ms: 3,
        bytes: u64::MAX,
        refusals,
        walls: None,
    }
}

#[test]
fn rows_are_found_by_session_tool_and_denial_and_outlive_their_session() {
    let kept = Kept::new();
    kept.session("a").append(user("a")).unwrap();
    let rows = [
        row("cli:a", "read_file", "done", 0),
        row("cli:a", "grep", "done", 2),
        row("cli:b", "read_file", "denied", 0),
        row("cli:b", "read_file", "failed", 0),
    ];
    for row in &rows {
        kept.store.add_audit(row).unwrap();
    }
    let entry = ringfence::session::list(&kept.store, None).unwrap().remove(0);
    ringfence::session::remove(&kept.store, &entry).unwrap();
    let outcomes = |filter: AuditFilter| -> Vec<String> {
        let found = kept.store.audit(&filter).unwrap();
        assert!(found.iter().all(|row| row.at > 0));
        found.into_iter().map(|row| format!("{} {}", row.tool, row.outcome)).collect()
    };
    let any = AuditFilter::default;
    assert_eq!(outcomes(any()).len(), 4);
    let in_a = AuditFilter { session: Some("cli:a".to_owned()), ..any() };
    assert_eq!(outcomes(in_a), ["read_file done", "grep done"]);
    assert_eq!(outcomes(AuditFilter { denied: true, ..any() }), ["grep done", "read_file denied"]);
    let tool = AuditFilter { tool: Some("read_file".to_owned()), limit: Some(2), ..any() };
    assert_eq!(outcomes(tool), ["read_file denied", "read_file failed"]);
}

/// A home and a workspace, and the program in them.
struct Home {
    temp: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("ws")).unwrap();
        fs::write(temp.path().join("ws/a.txt"), "hello\n").unwrap();
        Self { temp }
    }

    fn workspace(&self) -> PathBuf {
        fs::canonicalize(self.temp.path().join("ws")).unwrap()
    }

    fn database(&self) -> PathBuf {
        self.temp.path().join("home/data/state.db")
    }

    fn store(&self) -> Arc<Store> {
        Store::open(&self.database()).unwrap()
    }

    fn run_in(&self, dir: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ringfence"))
            .args(arguments)
            .current_dir(dir)
            .env_clear()
            .env("RINGFENCE_HOME", self.temp.path().join("home"))
            .env("RINGFENCE_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.run_in(&self.workspace(), arguments)
    }

    fn out(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.out(arguments)).unwrap()
    }

    fn session(&self, workspace: &Path, name: &str) -> Session {
        Session::open_in(&self.store(), workspace, SessionKey::parse(name)).unwrap()
    }
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_tool_that_a_person_runs_is_in_the_audit() {
    let home = Home::new();
    assert_eq!(home.out(&["tools", "run", "read_file", "path=a.txt", "-o", "json"]).lines().count(), 1);
    assert_eq!(home.run(&["tools", "run", "read_file", "path=/etc/passwd"]).status.code(), Some(5));
    assert_eq!(home.run(&["tools", "run", "reed_file"]).status.code(), Some(2));

    let all = home.json(&["audit", "--json"]);
    let outcomes: Vec<&str> =
        all["calls"].as_array().unwrap().iter().map(|call| call["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["done", "denied", "unknown"]);
    let call = &all["calls"][0];
    assert_eq!(
        (&call["session"], &call["tool"], &call["role"]),
        (&json!("cli:direct"), &json!("read_file"), &json!("main"))
    );
    assert!(call["package"].as_str().unwrap().starts_with("sha256:"));

    assert_eq!(home.json(&["audit", "--json", "--denied"])["calls"].as_array().unwrap().len(), 1);
    assert_eq!(home.json(&["audit", "--json", "--tool", "reed_file"])["calls"][0]["outcome"], "unknown");
    assert_eq!(home.json(&["audit", "--json", "--session", "other"])["calls"], json!([]));
    let newest = home.json(&["audit", "--json", "--limit", "2"]);
    assert_eq!((newest["calls"].as_array().unwrap().len(), &newest["more"]), (2, &json!(true)));
    assert!(home.out(&["audit", "--denied"]).contains("read_file as main  denied ("));
}

#[test]
fn a_row_that_cannot_be_kept_is_warned_of_and_the_result_stands() {
    let home = Home::new();
    drop(home.store());
    let raw = rusqlite::Connection::open(home.database()).unwrap();
    raw.execute_batch(
        "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no space'); END",
    )
    .unwrap();
    let output = home.run(&["tools", "run", "read_file", "path=a.txt"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello"));
    assert!(err(&output).contains("no space") && err(&output).contains("audit"), "{}", err(&output));

    // The last to close it empties the write-ahead log.
    drop(raw);
    fs::write(home.database(), "no database at all ".repeat(100)).unwrap();
    let output = home.run(&["tools", "run", "read_file", "path=a.txt"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(err(&output).contains("damaged"), "{}", err(&output));
    // But who looks at the store is told, with its own code.
    for arguments in [["audit", "--json"], ["sessions", "list"]] {
        let output = home.run(&arguments);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(err(&output).contains("damaged"));
    }
}

#[test]
fn looking_makes_no_store() {
    let home = Home::new();
    assert_eq!(home.json(&["sessions", "list", "--json"])["sessions"], json!([]));
    assert_eq!(home.json(&["audit", "--json"])["calls"], json!([]));
    assert_eq!(home.run(&["sessions", "show", "a"]).status.code(), Some(2));
    assert!(!home.temp.path().join("home/data").exists());
}

#[test]
fn sessions_are_listed_by_workspace_and_the_list_says_so() {
    let home = Home::new();
    let other = home.temp.path().join("other");
    fs::create_dir(&other).unwrap();
    home.session(&home.workspace(), "here").append(user("mend the fence")).unwrap();
    home.session(&other, "there").append(user("paint the gate")).unwrap();

    let output = home.run(&["sessions", "list"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        text.contains("cli:here") && text.contains("mend the fence") && !text.contains("there"),
        "{text}"
    );
    assert!(err(&output).contains(&home.workspace().display().to_string()) && err(&output).contains("--all"));

    let text = home.out(&["sessions", "list", "--all"]);
    assert!(text.contains("cli:here") && text.contains("cli:there"), "{text}");
    let listed = home.json(&["sessions", "list", "--json", "-C", other.to_str().unwrap()]);
    assert_eq!(listed["sessions"][0]["session"], "cli:there");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);

    let output = home.run(&["sessions", "show", "there"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("other") && err(&output).contains("--all"), "{}", err(&output));
    assert!(home.out(&["sessions", "show", "there", "--all"]).contains("paint the gate"));
}

#[test]
fn a_session_is_shown_and_exported_whole() {
    let home = Home::new();
    let mut session = home.session(&home.workspace(), "work");
    let said = [user("mend\nthe ```fence```"), calls(&["1"]), results(&["1"]), says("mended \u{1b}[31m")];
    for message in &said {
        session.append(message.clone()).unwrap();
    }
    session.compact("short".to_owned(), 0).unwrap();
    let raw = rusqlite::Connection::open(home.database()).unwrap();
    session.append(user("lost")).unwrap();
    raw.execute("UPDATE messages SET blocks = '[{' WHERE seq = 5", []).unwrap();

    let shown = home.out(&["sessions", "show", "cli:work"]);
    assert!(shown.contains("user: mend\nthe") && shown.contains("read_file {\"path\":\"a\"}"), "{shown}");
    assert!(shown.contains("result: result of 1") && shown.contains("assistant: mended"), "{shown}");
    assert!(shown.contains("message 5 cannot be read") && !shown.contains('\u{1b}'), "{shown}");

    let markdown = home.out(&["sessions", "export", "work"]);
    assert!(markdown.starts_with("# mend\n") && markdown.contains("## Assistant"), "{markdown}");
    assert!(
        markdown.contains("```json\n{\"path\":\"a\"}\n```") && !markdown.contains('\u{1b}'),
        "{markdown}"
    );

    let lines: Vec<Value> = home
        .out(&["sessions", "export", "work", "--format", "jsonl"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        (&lines[0]["type"], &lines[0]["session"], &lines[0]["v"]),
        (&json!("session"), &json!("cli:work"), &json!(1))
    );
    for (line, message) in lines[1..5].iter().zip(&said) {
        assert_eq!(line["blocks"], serde_json::to_value(&message.blocks).unwrap());
        assert_eq!(line["speaker"], serde_json::to_value(message.speaker).unwrap());
    }
    assert_eq!((&lines[5]["type"], &lines[5]["raw"]), (&json!("unreadable"), &json!("[{")));
}

#[test]
fn sessions_are_removed_all_or_none_and_without_a_question_where_nobody_is_asked() {
    let home = Home::new();
    for name in ["a", "b", "c"] {
        home.session(&home.workspace(), name).append(user(name)).unwrap();
    }
    let left = || home.json(&["sessions", "list", "--json"])["sessions"].as_array().unwrap().len();
    assert_eq!(home.run(&["sessions", "rm", "a", "nobody", "-y"]).status.code(), Some(2));
    assert_eq!(left(), 3);
    home.out(&["sessions", "rm", "a", "cli:b"]);
    assert_eq!(left(), 1);
    home.out(&["sessions", "rm", "c", "-y"]);
    assert_eq!(left(), 0);
}
