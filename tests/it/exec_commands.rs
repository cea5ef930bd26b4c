//! Commands as an agent has them: what they answer, and what holds around them.

use crate::exec_launch::{program, settings};
use ringfence::authority::{Access, Level};
use ringfence::exec::{Caller, Commands, ExecError, Input, Outcome, Place, Request, Settings};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub struct Ground {
    _root: TempDir,
    pub workspace: PathBuf,
    pub commands: Commands,
}

impl Ground {
    pub fn new() -> Self {
        Self::with(|settings| settings)
    }

    pub fn with(change: impl FnOnce(Settings) -> Settings) -> Self {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        let workspace = real.join("ws");
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(real.join("quarantine")).unwrap();
        let settings = change(Settings { quarantine: real.join("quarantine"), ..settings(&real) });
        Self { _root: root, workspace, commands: Commands::new(program(), settings) }
    }

    pub fn caller(&self, owner: &str) -> Caller {
        let place = Place { path: self.workspace.clone(), access: Access::ReadWrite };
        Caller { owner: owner.to_owned(), places: vec![place] }
    }

    pub async fn run(&self, line: &str) -> Outcome {
        self.ask(request(line)).await.unwrap()
    }

    pub async fn ask(&self, request: Request) -> Result<Outcome, ExecError> {
        self.commands.run(&self.caller("cli:a"), request).await
    }

    pub fn outside(&self) -> &Path {
        self.workspace.parent().unwrap()
    }
}

pub fn request(line: &str) -> Request {
    Request {
        line: line.to_owned(),
        directory: None,
        shell: None,
        timeout: None,
        yield_after: None,
        most_output: None,
        terminal: false,
    }
}

pub fn poll(session: &str) -> Input {
    Input {
        session: session.to_owned(),
        text: String::new(),
        close: false,
        terminate: false,
        wait_for: None,
        wait: Some(Duration::from_secs(60)),
        most_output: None,
    }
}

#[tokio::test]
async fn parity_e01_a_command_says_what_it_says_and_how_it_ended() {
    let ground = Ground::new();
    let outcome = ground.run("echo hello").await;
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("hello\n", Some(0)));
    assert_eq!(outcome.level, Level::Full, "this kind of machine gives every wall");
}

#[tokio::test]
async fn parity_e02_a_failing_command_is_an_outcome() {
    let ground = Ground::new();
    let outcome = ground.run("echo out; echo err >&2; exit 7").await;
    assert_eq!(outcome.exit_code, Some(7));
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
}

#[tokio::test]
async fn parity_e05_the_whole_tree_is_gone_when_time_is_over() {
    let ground = Ground::new();
    let line =
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do date +%s%N > beat; done' &) ; sleep 100";
    let mut slow = request(line);
    slow.timeout = Some(Duration::from_secs(1));
    let outcome = ground.ask(slow).await.unwrap();
    assert!(outcome.timed_out, "{outcome:?}");
    assert!(outcome.ended_because.unwrap().contains("1 seconds"));
    let beat = || std::fs::read(ground.workspace.join("beat")).unwrap();
    let last = beat();
    // Another command takes its time; a survivor would have written many times meanwhile.
    ground.run("sleep 0.2").await;
    assert_eq!(last, beat());
}

#[tokio::test]
async fn parity_e10_only_what_is_listed_is_in_the_environment() {
    let ground = Ground::with(|settings| Settings {
        environment: vec![("LISTED".to_owned(), "shown".into())],
        ..settings
    });
    let outcome = ground.run("env; echo; cat /proc/*/environ | tr '\\0' '\\n'").await;
    assert!(outcome.stdout.contains("LISTED=shown"));
    let known = ["HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PWD", "CI", "SHLVL", "_"];
    let mut looked = 0;
    for (name, value) in std::env::vars().filter(|(name, value)| {
        !known.contains(&name.as_str()) && !name.contains('\n') && value.len() > 3 && !value.contains('\n')
    }) {
        looked += 1;
        assert!(!outcome.stdout.contains(&format!("{name}={value}")), "{name} in {}", outcome.stdout);
    }
    assert!(looked > 0, "this process has variables of its own");
}

#[tokio::test]
async fn parity_e11_what_is_added_to_the_path_is_data() {
    let odd = ["/opt/a;touch made", "/opt/$(touch made)", "/opt/`touch made`"];
    let ground = Ground::with(|settings| Settings {
        path: (vec![PathBuf::from("/first")], odd.map(PathBuf::from).to_vec()),
        ..settings
    });
    let outcome = ground.run("printf %s \"$PATH\"").await;
    assert!(outcome.stdout.starts_with("/first:"), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with(&odd.join(":")), "{}", outcome.stdout);
    assert!(!ground.workspace.join("made").exists());
}

#[tokio::test]
async fn parity_e20_a_directory_outside_is_refused_and_one_inside_is_not() {
    let ground = Ground::new();
    std::fs::create_dir(ground.workspace.join("sub")).unwrap();
    std::fs::write(ground.outside().join("victim"), "alive").unwrap();
    std::os::unix::fs::symlink("/etc", ground.workspace.join("link")).unwrap();
    for outside in ["/etc", "..", "sub/../..", "link", "/", ground.outside().to_str().unwrap()] {
        let asked = Request { directory: Some(outside.to_owned()), ..request("rm -f victim; touch ran") };
        let refused = ground.ask(asked).await.unwrap_err();
        assert!(matches!(refused, ExecError::Place { .. }), "{outside}: {refused:?}");
    }
    assert!(ground.outside().join("victim").exists() && !ground.workspace.join("ran").exists());
    for inside in ["sub", ".", "sub/..", ground.workspace.to_str().unwrap()] {
        let asked = Request { directory: Some(inside.to_owned()), ..request("pwd") };
        assert_eq!(ground.ask(asked).await.unwrap().exit_code, Some(0), "{inside}");
    }
}

#[tokio::test]
async fn parity_e28_an_absolute_path_elsewhere_in_the_workspace_works() {
    let ground = Ground::new();
    std::fs::create_dir(ground.workspace.join("sub")).unwrap();
    std::fs::write(ground.workspace.join("note"), "here").unwrap();
    let line = format!("cat {}/note", ground.workspace.display());
    let asked = Request { directory: Some("sub".to_owned()), ..request(&line) };
    assert_eq!(ground.ask(asked).await.unwrap().stdout, "here");
}

#[tokio::test]
async fn parity_e31_a_slow_command_becomes_a_session_and_takes_input() {
    let ground = Ground::new();
    let asked = Request { yield_after: Some(Duration::ZERO), ..request("read a; echo \"got $a\"; exit 3") };
    let outcome = ground.ask(asked).await.unwrap();
    let session = outcome.session.unwrap();
    assert!(session.len() == 12 && session.chars().all(|c| c.is_ascii_hexdigit()), "{session}");
    assert_eq!(ground.commands.sessions("cli:a").len(), 1);
    let ended =
        ground.commands.interact("cli:a", Input { text: "ping\n".to_owned(), ..poll(&session) }).await;
    let ended = ended.unwrap();
    assert_eq!((ended.stdout.as_str(), ended.exit_code), ("got ping\n", Some(3)));
    assert!(ground.commands.sessions("cli:a").is_empty());
}

#[tokio::test]
async fn parity_e32_closing_and_terminating() {
    let ground = Ground::new();
    let asked = || Request { yield_after: Some(Duration::ZERO), ..request("cat; echo over") };
    let session = ground.ask(asked()).await.unwrap().session.unwrap();
    let ended = ground
        .commands
        .interact("cli:a", Input { text: "x".to_owned(), close: true, ..poll(&session) })
        .await;
    let ended = ended.unwrap();
    assert_eq!((ended.stdout.as_str(), ended.exit_code), ("xover\n", Some(0)));
    let session = ground.ask(asked()).await.unwrap().session.unwrap();
    let ended = ground.commands.interact("cli:a", Input { terminate: true, ..poll(&session) }).await.unwrap();
    assert_eq!(ended.exit_code, Some(128 + 15), "{ended:?}");
    assert_eq!(ended.ended_because.as_deref(), Some("it was asked to end"));
}

#[tokio::test]
async fn parity_e34_what_an_ended_session_said_is_told_once() {
    let ground = Ground::new();
    let asked = Request { yield_after: Some(Duration::ZERO), ..request("read a; echo said") };
    let session = ground.ask(asked).await.unwrap().session.unwrap();
    let first = Input { text: "go\n".to_owned(), wait_for: Some("said".to_owned()), ..poll(&session) };
    let mut text = ground.commands.interact("cli:a", first).await.unwrap();
    if text.exit_code.is_none() {
        assert_eq!(text.stdout, "said\n");
        text = ground.commands.interact("cli:a", poll(&session)).await.unwrap();
        assert_eq!(text.stdout, "", "it was told");
    }
    assert_eq!(text.exit_code, Some(0));
    let gone = ground.commands.interact("cli:a", poll(&session)).await.unwrap_err();
    assert!(matches!(gone, ExecError::NoSession(_)), "{gone:?}");
}

#[tokio::test]
async fn parity_e35_a_session_belongs_to_one_agent() {
    let ground = Ground::new();
    let asked = Request { yield_after: Some(Duration::ZERO), ..request("cat > heard") };
    let session = ground.ask(asked).await.unwrap().session.unwrap();
    let theirs = Input { text: "intrusion".to_owned(), close: true, terminate: true, ..poll(&session) };
    let refused = ground.commands.interact("cli:b", theirs).await.unwrap_err();
    let unknown = ground.commands.interact("cli:b", poll("0123456789ab")).await.unwrap_err();
    assert_eq!(
        refused.to_string().replace(&session, "ID"),
        unknown.to_string().replace("0123456789ab", "ID"),
        "nobody learns that it is there"
    );
    assert!(ground.commands.sessions("cli:b").is_empty());
    assert_eq!(ground.commands.end_of("cli:b"), 0);
    assert_eq!(ground.commands.sessions("cli:a").len(), 1, "it runs on");
    let ended = ground.commands.interact("cli:a", Input { close: true, ..poll(&session) }).await.unwrap();
    assert_eq!(ended.exit_code, Some(0));
    assert_eq!(std::fs::read_to_string(ground.workspace.join("heard")).unwrap(), "");
}

#[tokio::test]
async fn parity_e37_an_unknown_session_is_told_on_one_line() {
    let ground = Ground::new();
    let refused = ground.commands.interact("cli:a", poll("x\ny")).await.unwrap_err().to_string();
    assert!(refused.contains("x\\ny") && !refused.contains('\n'), "{refused}");
}

#[tokio::test]
async fn parity_e38_shutting_down_ends_grandchildren_and_takes_nothing_new() {
    let ground = Ground::new();
    let line = "(setsid sh -c 'while :; do date +%s%N > beat; done' &); echo up; sleep 100";
    for _ in 0..2 {
        let asked = Request { yield_after: Some(Duration::ZERO), ..request(line) };
        let session = ground.ask(asked).await.unwrap().session.unwrap();
        let up = Input { wait_for: Some("up".to_owned()), ..poll(&session) };
        ground.commands.interact("cli:a", up).await.unwrap();
    }
    ground.commands.shut_down().await;
    let refused = ground.ask(request("touch ran")).await.unwrap_err();
    assert!(matches!(refused, ExecError::Unavailable(_)), "{refused:?}");
    let other = Ground::new();
    let beat = || std::fs::read(ground.workspace.join("beat")).unwrap();
    let last = beat();
    other.run("sleep 0.2").await;
    assert_eq!(last, beat());
    assert!(!ground.workspace.join("ran").exists());
}

#[tokio::test]
async fn parity_e40_ending_an_owners_commands_leaves_the_others() {
    let ground = Ground::new();
    for owner in ["cli:a", "cli:b"] {
        let asked = Request { yield_after: Some(Duration::ZERO), ..request("cat") };
        ground.commands.run(&ground.caller(owner), asked).await.unwrap();
    }
    assert_eq!(ground.commands.end_of("cli:a"), 1);
    assert!(ground.commands.sessions("cli:a").is_empty());
    assert_eq!(ground.commands.sessions("cli:b").len(), 1);
}

#[tokio::test]
async fn parity_e41_output_without_end_is_bounded_and_ended() {
    let ground = Ground::new();
    let outcome = ground.run("yes").await;
    assert!(outcome.ended_because.unwrap().contains("64 MiB"));
    assert!(outcome.stdout.chars().count() <= 10_100 && outcome.dropped > 1 << 20, "{}", outcome.dropped);
}

#[tokio::test]
async fn a_terminal_is_a_commands_own() {
    let ground = Ground::new();
    let line = "tty; test -t 0 && test -t 1 && echo yes; ls /dev/pts";
    let outcome = ground.ask(Request { terminal: true, ..request(line) }).await.unwrap();
    assert!(outcome.stdout.contains("/dev/pts/0\nyes\n"), "{}", outcome.stdout);
    assert_eq!(outcome.exit_code, Some(0));
}

#[tokio::test]
async fn a_command_whose_caller_goes_away_is_ended() {
    let ground = Ground::new();
    let line = "while :; do date +%s%N > beat; done";
    let running = ground.ask(request(line));
    let beats = async {
        while !ground.workspace.join("beat").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = running => panic!("it has no end"),
        () = beats => {}
    }
    // The order of its end is on its way; a command behind it is answered after it.
    ground.run("sleep 0.3").await;
    let beat = || std::fs::read(ground.workspace.join("beat")).unwrap();
    let last = beat();
    ground.run("sleep 0.3").await;
    assert_eq!(last, beat());
}
