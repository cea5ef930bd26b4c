//! What a command must not change in a workspace, and what it leaves there: by effect, with everything in it hostile.

mod config;
mod copies;
mod hostile;
mod links;
mod names;

use crate::support::Snapshot;
use ringfence::exec::{Before, Finding, Findings};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A workspace, a quarantine that is not there yet, and a place outside that nothing may touch.
struct Yard {
    dir: tempfile::TempDir,
    workspace: OwnedFd,
}

impl Yard {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["ws", "outside"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let workspace = fs::File::open(dir.path().join("ws")).unwrap().into();
        Self { dir, workspace }
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join("ws").join(path)
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn quarantine(&self) -> PathBuf {
        self.dir.path().join("state/quarantine")
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn look(&self) -> Before {
        Before::look(&self.workspace).unwrap()
    }

    fn after(&self, before: &Before) -> Findings {
        before.after(&self.workspace, &self.quarantine())
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.at(""), Path::new("/nowhere"))
    }

    fn git(&self, at: &str, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(self.at(at))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Paths of what is pinned.
fn pinned(before: &Before) -> Vec<String> {
    before.pins.iter().map(|pin| pin.path.to_str().unwrap().to_owned()).collect()
}

/// The one finding about a path.
fn about<'a>(findings: &'a Findings, path: &str) -> &'a Finding {
    let mut found = findings.files.iter().filter(|finding| finding.path == Path::new(path));
    let finding = found.next().unwrap_or_else(|| panic!("nothing is said of {path}: {findings:#?}"));
    assert!(found.next().is_none(), "{path} is told twice: {findings:#?}");
    finding
}

/// Where something lies that was moved away: in the quarantine, and no longer in the workspace.
fn moved(yard: &Yard, findings: &Findings, path: &str) -> PathBuf {
    let to = about(findings, path).moved_to.clone().unwrap_or_else(|| panic!("{path} stayed: {findings:#?}"));
    assert!(to.starts_with(yard.quarantine()) && to.ends_with(path), "{path} went to {}", to.display());
    to
}

fn gone(yard: &Yard, path: &str) -> bool {
    fs::symlink_metadata(yard.at(path)).is_err()
}

#[test]
fn an_untouched_workspace_gives_no_findings_and_stays_as_it_is() {
    let y = Yard::new();
    y.git("", &["init", "-q"]);
    y.write("AGENTS.md", "be kind");
    y.write(".vscode/tasks.json", "{}");
    y.write(".vscode/deep/er.json", "{}");
    y.write("src/Makefile", "all:");
    y.write("sub/.vscode/tasks.json", "{}");
    y.write(".github/workflows/ci.yml", "on: push");
    y.git("", &["init", "-q", "nested"]);
    y.git("", &["init", "-q", "--bare", "bare"]);
    std::os::unix::fs::symlink("AGENTS.md", y.at("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", y.at("GEMINI.md")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, y.at(".envrc"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let was = y.snapshot();
    let mut before = y.look();
    assert_eq!(y.after(&before), Findings::default());
    before.keep_copies(&y.workspace).unwrap();
    assert_eq!(y.after(&before), Findings::default());
    assert!(was == y.snapshot());
    assert!(!y.quarantine().exists(), "nothing was moved, so nothing is made");
}

#[test]
fn places_of_repositories_are_pinned_wherever_they_lie() {
    let y = Yard::new();
    y.git("", &["init", "-q"]);
    y.git("", &["init", "-q", "node_modules/x"]);
    y.git("", &["init", "-q", "--bare", "target/bare"]);
    y.write(".git/config.worktree", "");
    y.write(".git/worktrees/one/commondir", "../..");
    y.write(".git/worktrees/one/gitdir", "/x/.git");
    y.write(".git/modules/a/b/config", "");
    y.write(".git/modules/a/b/hooks/pre-commit", "");
    y.write(".git/modules/a/modules/c/commondir", "");
    y.write(".git/objects/ab/.git/config", "not looked at");
    y.write("module/.git", "gitdir: ../.git/modules/a/b");
    y.write("module/AGENTS.md", "at the root of a repository");
    y.write("plain/AGENTS.md", "elsewhere");
    y.write("plain/config", "no repository's");
    y.write("plain/hooks/x", "no repository's");
    y.write("of-worktree/HEAD", "");
    y.write("of-worktree/commondir", "");
    y.write("of-worktree/config", "");
    let before = y.look();
    assert_eq!(
        pinned(&before),
        [
            ".git/config",
            ".git/config.worktree",
            ".git/hooks",
            ".git/modules/a/b/config",
            ".git/modules/a/b/hooks",
            ".git/modules/a/modules/c/commondir",
            ".git/worktrees/one/commondir",
            ".git/worktrees/one/gitdir",
            "module/.git",
            "module/AGENTS.md",
            "node_modules/x/.git/config",
            "node_modules/x/.git/hooks",
            "of-worktree/commondir",
            "of-worktree/config",
            "target/bare/config",
            "target/bare/hooks",
        ]
    );
    use std::os::unix::fs::MetadataExt as _;
    for pin in &before.pins {
        let there = fs::symlink_metadata(y.at(&pin.path)).unwrap();
        assert_eq!((pin.identity, pin.directory), ((there.dev(), there.ino()), there.is_dir()), "{pin:?}");
    }
}

#[test]
fn git_works_and_what_it_would_run_of_new_repositories_is_moved_away() {
    let y = Yard::new();
    let before = y.look();
    y.git("", &["init", "-q"]);
    y.write("a.txt", "a");
    y.git("", &["add", "-A"]);
    y.git("", &["commit", "-qm", "one"]);
    y.git("", &["init", "-q", "--bare", "x/bare"]);
    y.git("", &["init", "-q", "sub"]);
    y.git("sub", &["remote", "add", "origin", "git@github.com:a/b.git"]);
    y.git("sub", &["config", "user.name", "A. Person"]);
    assert_eq!(y.after(&before), Findings::default());
    y.git("", &["status"]);

    let before = Yard::look(&y);
    y.git("", &["init", "-q", "evil"]);
    y.git("evil", &["config", "core.fsmonitor", "touch pwned"]);
    y.write("evil/.git/hooks/pre-commit", "#!/bin/sh\n");
    y.write("evil/.git/commondir", "..");
    y.write("evil/AGENTS.md", "obey");
    y.git("", &["init", "-q", "--bare", "evil2"]);
    y.write("evil2/hooks/post-checkout", "#!/bin/sh\n");
    std::os::unix::fs::symlink("/bin/sh", y.at("evil2/hooks/update")).unwrap();
    y.write("file/.git", "gitdir: ../evil/.git");
    let found = y.after(&before);
    for path in [
        "evil/.git/config",
        "evil/.git/hooks/pre-commit",
        "evil/.git/commondir",
        "evil/AGENTS.md",
        "evil2/hooks/post-checkout",
        "evil2/hooks/update",
        "file/.git",
    ] {
        assert!(fs::symlink_metadata(moved(&y, &found, path)).is_ok());
        assert!(gone(&y, path), "{path}");
        assert!(!about(&found, path).changed);
    }
    assert_eq!(found.files.len(), 7, "{found:#?}");
    assert_eq!(about(&found, "evil/.git/config").what, "git configuration");
    assert_eq!(about(&found, "evil2/hooks/update").what, "git hook");
    assert_eq!(fs::read_to_string(moved(&y, &found, "evil/AGENTS.md")).unwrap(), "obey");
    assert!(y.at("evil/.git/hooks/pre-commit.sample").exists() || y.at("evil/.git/hooks").exists());
    assert!(y.at("evil2/config").exists(), "what is harmless stays");
}

#[test]
fn a_directory_that_becomes_a_repository_is_judged_as_a_new_one() {
    let y = Yard::new();
    y.write("x/config", "[core]\n\tfsmonitor = touch pwned\n");
    y.write("x/hooks/pre-commit", "#!/bin/sh\n");
    let before = y.look();
    assert_eq!(pinned(&before), [""; 0]);
    y.write("x/HEAD", "ref: refs/heads/main\n");
    for dir in ["x/objects", "x/refs"] {
        fs::create_dir(y.at(dir)).unwrap();
    }
    let found = y.after(&before);
    for path in ["x/config", "x/hooks/pre-commit"] {
        moved(&y, &found, path);
        assert!(gone(&y, path));
    }
}

#[test]
fn findings_are_bounded_and_those_that_were_moved_come_first() {
    let y = Yard::new();
    let before = y.look();
    for n in 0..150 {
        y.write(format!("a{n}/Makefile"), "all:");
    }
    y.write(".vscode/tasks.json", "{}");
    let found = y.after(&before);
    assert_eq!((found.files.len(), found.more, found.partial), (100, 51, false));
    moved(&y, &found, ".vscode");
    assert!(found.files.windows(2).all(|pair| pair[0].path < pair[1].path));
}

#[test]
fn more_places_than_can_be_pinned_are_an_error_that_says_so() {
    let y = Yard::new();
    for n in 0..4_097 {
        y.write(format!("r{n}/.git"), "gitdir: x");
    }
    let error = Before::look(&y.workspace).unwrap_err().to_string();
    assert!(error.contains("more than 4096 places"), "{error}");
    fs::remove_file(y.at("r0/.git")).unwrap();
    assert_eq!(y.look().pins.len(), 4_096);
}
