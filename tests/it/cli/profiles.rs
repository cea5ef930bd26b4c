//! Profiles at the command line: the one that is built in, what is said of configured ones, and what they limit.

use super::context::Context;
use super::text;
use crate::support::{self, Program};
use serde_json::{Value, json};

/// What cron takes away is told before anything runs, with the command that runs it as main.
#[test]
fn as_cron_nothing_is_scheduled_and_as_main_it_is_asked_for() {
    let c = Context::new();
    let component = support::hostile("role_cron");
    let call = ["--component", text(&component), "--allow", "cron", "grab_cron", "text=later"];
    let run = |more: &[&str]| c.run(&[["tools", "run"].as_slice(), more, &call].concat());
    let ran = run(&["--role", "cron"]);
    let stderr = ran.ended(5);
    assert!(
        stderr.starts_with(
            "denied: tool `grab_cron` needs ringfence:host/cron@0.1.0, which this run as cron takes away\n"
        ),
        "{stderr}"
    );
    let (lead, command) = stderr.lines().nth(1).unwrap().split_once(": ").unwrap();
    assert_eq!(lead, "  to run it as main");
    assert!(!command.contains("--role") && command.contains("--allow cron"), "{command}");
    let object = run(&["--role", "cron", "-o", "json"]).json();
    assert_eq!(object["kind"], "withheld", "{object}");
    // Nothing stands in the way of the same as main; what becomes of it is the scheduler's business.
    for ran in [c.shell(command), run(&[])] {
        assert_ne!(ran.code, 5, "{ran:?}");
        assert!(!ran.stderr.contains("denied"), "{ran:?}");
    }
}

#[test]
fn cron_has_everything_else_of_main() {
    let c = Context::new();
    let ran = c.run(&["tools", "run", "--role", "cron", "message", "content=hello"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "message: hello\n"));
    c.run(&["tools", "run", "--role", "cron", "write_file", "path=a.txt", "content=x"]).done();
    assert_eq!(c.read("ws/a.txt"), "x");
    // Of a tool that wants several things, the one that is missing is named, and nothing is done.
    let all = support::hostile("role_all");
    let allowed = ["message", "spawn", "tasks", "cron"].map(|capability| ["--allow", capability]);
    let mut call = vec!["tools", "run", "--role", "cron", "--component", text(&all)];
    call.extend(allowed.concat());
    call.extend(["grab_all", "text=hello"]);
    let ran = c.run(&call);
    let stderr = ran.ended(5);
    assert!(stderr.contains("ringfence:host/cron@0.1.0") && !stderr.contains("message: hello"), "{stderr}");
}

#[test]
fn list_says_what_cron_can_call() {
    let c = Context::new();
    let callable = |role: &str| {
        let listed = c.run(&["tools", "list", "--role", role, "--json"]).json();
        assert_eq!(listed["role"], role);
        let tools = listed["tools"].as_array().unwrap().clone();
        let callable = |tool: &Value| tool["callable"] == true;
        tools.iter().filter(|tool| callable(tool)).map(|tool| tool["name"].clone()).collect::<Vec<_>>()
    };
    let main = callable("main");
    assert!(main.contains(&json!("message")), "{main:?}");
    let without: Vec<Value> = main.into_iter().filter(|tool| tool != "cron").collect();
    assert_eq!(callable("cron"), without);
    // It is offered where a name is not known.
    assert!(c.run(&["tools", "list", "--role", "crone"]).ended(2).contains("did you mean cron?"));
    assert!(
        c.run(&["tools", "list", "--role", "nobody"]).ended(2).contains("there are main, subagent, cron")
    );
}

#[test]
fn cron_cannot_be_configured() {
    let c = Context::new();
    c.config("[profiles.cron]\nrole = \"main\"\n");
    for typed in [["config", "validate"].as_slice(), &["tools", "list", "--role", "cron"]] {
        let stderr = c.run(typed).ended(3).to_owned();
        assert!(stderr.contains("profiles.cron: `cron` is a profile that is built in"), "{stderr}");
    }
}

#[test]
fn validate_warns_of_tools_that_are_not_there() {
    let c = Context::new();
    c.config("[profiles.reader]\nrole = \"subagent\"\ntools = [\"read_file\", \"read_fil\", \"launch\"]\n");
    let ran = c.run(&["config", "validate"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.ends_with("config.toml: can be used\n"), "{ran:?}");
    assert_eq!(
        ran.stderr.lines().collect::<Vec<_>>(),
        [
            "warning: profiles.reader.tools: no tool `read_fil` comes with this program; did you mean `read_file`?",
            "warning: profiles.reader.tools: no tool `launch` comes with this program; to see which there are: \
             ringfence tools list",
        ]
    );
    c.config("[profiles.reader]\nrole = \"subagent\"\ntools = [\"read_file\", \"grep\"]\n");
    c.run(&["config", "validate"]).done();
    c.config("[tasks]\nrunning = 5000\n");
    let stderr = c.run(&["config", "validate"]).ended(3).to_owned();
    assert!(stderr.contains("tasks.running: expected a whole number from 1 to 1024"), "{stderr}");
}

#[test]
fn show_tells_limits_and_where_they_come_from() {
    let c = Context::new();
    c.config(
        "[tasks]\nrunning = 8\n[cron]\ngrace = \"10m\"\n\
         [profiles.quick]\nrole = \"main\"\nmodel = \"small\"\nmax_iterations = 5\ntimeout = \"2m\"\n",
    );
    let shown = c.run(&["config", "show", "--json"]).json();
    for (key, value, origin) in [
        ("tasks.running", json!(8), "file"),
        ("tasks.running_per_session", json!(4), "default"),
        ("tasks.queued", json!(16), "default"),
        ("tasks.per_session", json!(64), "default"),
        ("tasks.timeout_seconds", json!(900), "default"),
        ("tasks.max_tokens", json!(200_000), "default"),
        ("cron.jobs_per_session", json!(32), "default"),
        ("cron.jobs", json!(256), "default"),
        ("cron.grace_seconds", json!(600), "file"),
        ("cron.timeout_seconds", json!(1800), "default"),
        ("cron.failures", json!(10), "default"),
        ("agent.main_iterations", json!(40), "default"),
        ("agent.max_tokens", Value::Null, "default"),
        ("profiles.quick.model", json!("small"), "file"),
        ("profiles.quick.max_iterations", json!(5), "file"),
        ("profiles.quick.timeout_seconds", json!(120), "file"),
    ] {
        assert_eq!(shown[key], json!({ "value": value, "origin": origin }), "{key}");
    }
    assert_eq!(shown["profiles.quick.max_tokens"], Value::Null, "what is not limited is not shown");
}

/// A model that calls for ever is ended where the profile says, and nothing that is typed gives more.
#[test]
fn a_profile_ends_a_turn_where_it_says() {
    let script =
        "[[reply]]\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nrepeat = true\n";
    let program = Program::scripted(script);
    let own = std::fs::read_to_string(program.home().join("config/config.toml")).unwrap();
    program.configure(&format!("{own}[profiles.quick]\nrole = \"main\"\nmax_iterations = 2\n"));
    let iterations = |typed: &[&str]| {
        let ran = program.run(&[["run", "-o", "json"].as_slice(), typed, &["look"]].concat());
        assert_eq!(ran.code, 6, "{ran:?}");
        ran.json()["iterations"].as_u64().unwrap()
    };
    // The call beyond is the one for closing words.
    assert_eq!(iterations(&["--role", "quick"]), 3);
    assert_eq!(iterations(&["--role", "quick", "--max-turns", "9"]), 3);
    assert_eq!(iterations(&["--role", "quick", "--max-turns", "1"]), 2);
    assert_eq!(iterations(&["--max-turns", "4"]), 5);
}

/// The command that goes on says what was typed about rights, in words that are read as they were.
#[test]
fn what_was_typed_about_rights_is_typed_again() {
    let script =
        "[[reply]]\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nrepeat = true\n";
    let program = Program::scripted(script);
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("odd:rw");
    std::fs::create_dir(&dir).unwrap();
    for name in ["sub", "-dash"] {
        std::fs::create_dir(program.workspace().join(name)).unwrap();
    }
    let typed = [
        "run",
        "--max-turns",
        "1",
        "--role=main",
        "-C",
        "sub",
        "--dir",
        &format!("{}:ro", dir.display()),
        "--dir=-dash:rw",
        "--deny",
        "message",
        "--read-only",
        "-s",
        "mine",
        "look",
    ];
    let ran = program.run(&typed);
    assert_eq!(ran.code, 6, "{ran:?}");
    let line = ran.stderr.lines().find(|line| line.contains("ringfence run ")).unwrap();
    let words = shlex::split(&line[line.find("ringfence run ").unwrap()..]).unwrap();
    let dir = format!("{}:ro", dir.display());
    let expected = [
        "ringfence",
        "run",
        "-C",
        "sub",
        "--dir",
        &dir,
        "--dir=-dash:rw",
        "--deny",
        "message",
        "--read-only",
        "-s",
        "cli:mine",
        "go on",
    ];
    assert_eq!(words, expected);
    // It is a command, and it has the same rights.
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let again = program.run(&words);
    assert_eq!(again.code, 6, "{again:?}");
    assert!(!again.stderr.contains("error: unexpected"), "{again:?}");
}
