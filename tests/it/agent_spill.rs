//! Results that are too long: a view for the model, and all of it in a file that its tools can read and nobody can write.

use crate::support::{Stage, World};
use ringfence::agent::What;
use ringfence::authority::{Access, DenialKind, Directories, Grant, Profile, Rights, Role};
use ringfence::toolbox::{Agent, Outcome, Reply, Spill, VIEW, text_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workspace, and the host's state beside it.
struct Setting {
    w: World,
    data: PathBuf,
}

impl Setting {
    fn new() -> Self {
        let w = World::new();
        let data = w.outside().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("state.db"), "everything").unwrap();
        let line = |n: usize| format!("needle {n:04} {}\n", "x".repeat(100));
        w.file("big.txt", (0..240).map(line).collect::<String>());
        Self { w, data }
    }

    fn agent(&self, role: Role, session: &str) -> Agent {
        let spill = Spill::open(&self.data.join("spill"), session).unwrap();
        self.w.agent(Profile::plain(role)).spilling(Arc::new(spill))
    }

    fn call(&self, agent: &Agent, tool: &str, arguments: Value) -> Reply {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let toolbox = self.w.toolbox().read().unwrap();
        runtime.block_on(toolbox.call(agent, tool, &arguments.to_string()))
    }

    /// What a turn shows of a search with a long result, and the file that the view names.
    fn long_result(&self, agent: &Agent) -> (String, PathBuf) {
        let mut stage = Stage::new(
            "[[reply]]\ncalls = [{ name = \"grep\", arguments = { pattern = \"needle\", output_mode = \"content\" } }]\n\
             [[reply]]\ntext = \"done\"",
        );
        stage.play(&self.w, agent, "go");
        let truncated =
            stage.events().iter().any(|what| matches!(what, What::ToolFinished { truncated: true, .. }));
        assert!(truncated, "{:?}", stage.outcomes());
        let (view, _) = stage.results().remove(0);
        let at = view.find(self.data.to_str().unwrap()).expect("it names the file");
        let path = view[at..].split(':').next().unwrap();
        (view.clone(), PathBuf::from(path))
    }
}

fn text(reply: &Reply) -> String {
    match &reply.outcome {
        Outcome::Done(output) => text_of(&output.content),
        other => panic!("{other:?}"),
    }
}

fn denied(reply: &Reply) -> DenialKind {
    match &reply.outcome {
        Outcome::Denied(denial) => denial.kind,
        other => panic!("not denied: {other:?}"),
    }
}

#[test]
fn both_roles_can_page_through_what_was_left_out() {
    let s = Setting::new();
    for role in Role::ALL {
        let agent = s.agent(role, role.name());
        let (view, path) = s.long_result(&agent);
        assert!(view.chars().count() <= VIEW, "{}", view.chars().count());
        assert!(view.contains("read_file") && view.contains("left out"));
        let whole = std::fs::read_to_string(&path).unwrap();
        assert!(
            whole.contains("needle 0000") && whole.contains("needle 0120") && whole.contains("needle 0239")
        );
        assert!(!view.contains("needle 0150"), "the middle is left out");
        let lines = whole.lines().position(|line| line.contains("needle 0150")).unwrap();
        let page = s.call(&agent, "read_file", json!({ "path": path, "offset": lines + 1, "limit": 1 }));
        assert!(text(&page).contains("needle 0150"), "{}", text(&page));
        let found =
            s.call(&agent, "grep", json!({ "pattern": "0150", "path": path, "output_mode": "content" }));
        assert!(text(&found).contains("needle 0150"));
    }
}

#[test]
fn nobody_can_write_it_by_any_tool() {
    let s = Setting::new();
    for role in Role::ALL {
        let agent = s.agent(role, role.name());
        let (_, path) = s.long_result(&agent);
        let before = std::fs::read(&path).unwrap();
        let beside = path.with_file_name("planted.txt");
        for (tool, arguments) in [
            ("write_file", json!({ "path": path, "content": "forged" })),
            ("write_file", json!({ "path": beside, "content": "forged" })),
            ("edit_file", json!({ "path": path, "old_text": "needle 0001", "new_text": "forged" })),
            (
                "apply_patch",
                json!({ "edits": [{ "path": path, "action": "replace", "old_text": "needle 0001", "new_text": "forged" }] }),
            ),
        ] {
            assert_eq!(denied(&s.call(&agent, tool, arguments)), DenialKind::ReadOnly, "{tool} as {role}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(!beside.exists());
    }
}

#[test]
fn nothing_else_of_the_state_comes_with_it() {
    let s = Setting::new();
    let (mine, other) = (s.agent(Role::Subagent, "mine"), s.agent(Role::Subagent, "other"));
    let (_, path) = s.long_result(&mine);
    let (_, theirs) = s.long_result(&other);
    let dir = path.parent().unwrap();
    std::os::unix::fs::symlink(s.data.join("state.db"), dir.join("link.txt")).unwrap();
    let look = |path: &Path| denied(&s.call(&mine, "read_file", json!({ "path": path })));
    for outside in [
        s.data.join("state.db"),
        dir.join("../../state.db"),
        dir.join("../../spill/../state.db"),
        dir.join("link.txt"),
        theirs.clone(),
        dir.join("..").join(theirs.parent().unwrap().file_name().unwrap()).join(theirs.file_name().unwrap()),
    ] {
        assert_eq!(look(&outside), DenialKind::OutsideWorkspace, "{}", outside.display());
    }
    let list = |path: &Path| s.call(&mine, "list_dir", json!({ "path": path }));
    assert_eq!(denied(&list(&s.data)), DenialKind::OutsideWorkspace);
    assert_eq!(denied(&list(&s.data.join("spill"))), DenialKind::OutsideWorkspace);
    // The same call by its owner works: it is the right that makes the difference.
    assert!(text(&s.call(&other, "read_file", json!({ "path": theirs }))).contains("needle"));
}

#[test]
fn a_profile_or_a_parent_that_takes_directories_away_leaves_it_readable_and_no_more() {
    let s = Setting::new();
    let mut profile = Profile::plain(Role::Subagent);
    profile.rights.directories = Directories::of([(s.w.root().to_owned(), Access::ReadOnly)]);
    let spill = |session| Arc::new(Spill::open(&s.data.join("spill"), session).unwrap());
    let parent = s.agent(Role::Main, "parent");
    let held = parent.effective(&Grant(Rights::all()));
    let agent = s.w.agent(profile).under(held).spilling(spill("child"));
    let (_, path) = s.long_result(&agent);
    assert!(text(&s.call(&agent, "read_file", json!({ "path": path }))).contains("needle"));
    let (_, theirs) = s.long_result(&parent);
    // The parent's results are the parent's, although the child holds them by what it was given.
    assert_eq!(denied(&s.call(&agent, "read_file", json!({ "path": theirs }))), DenialKind::OutsideWorkspace);
    // A tool that was not granted files everywhere is not handed it.
    let narrow = Grant(Rights {
        directories: Directories::of([(s.w.root().to_owned(), Access::ReadOnly)]),
        ..Rights::all()
    });
    let directories = agent.effective(&narrow).rights().directories.clone();
    assert_eq!(directories.iter().map(|(path, _)| path).collect::<Vec<_>>(), [s.w.root()]);
}

#[test]
fn a_caller_without_one_is_told_that_the_rest_is_gone() {
    let s = Setting::new();
    let agent = s.w.agent(Profile::plain(Role::Main));
    let mut stage = Stage::new(
        "[[reply]]\ncalls = [{ name = \"grep\", arguments = { pattern = \"needle\", output_mode = \"content\" } }]\n\
         [[reply]]\ntext = \"done\"",
    );
    stage.play(&s.w, &agent, "go");
    let (view, _) = stage.results().remove(0);
    assert!(view.chars().count() <= VIEW && view.contains("not kept"), "{}", &view[view.len() - 200..]);
}

#[test]
fn a_long_file_is_shown_as_pages_of_itself() {
    let s = Setting::new();
    let agent = s.agent(Role::Main, "a");
    let mut stage = Stage::new(
        "[[reply]]\ncalls = [{ name = \"read_file\", arguments = { path = \"big.txt\" } }]\n[[reply]]\ntext = \"done\"",
    );
    stage.play(&s.w, &agent, "go");
    let (view, _) = stage.results().remove(0);
    assert!(view.chars().count() <= VIEW);
    let next: usize = view.rsplit_once("offset=").unwrap().1.trim_end_matches(')').parse().unwrap();
    assert!(
        view.contains(&format!("needle {:04}", next - 2))
            && !view.contains(&format!("needle {:04}", next - 1))
    );
    let files = std::fs::read_dir(s.data.join("spill")).unwrap().flatten();
    let kept: usize = files
        .filter(|entry| entry.path().is_dir())
        .map(|dir| std::fs::read_dir(dir.path()).unwrap().count())
        .sum();
    assert_eq!(kept, 0, "what can be read on is not kept twice");
}
