//! Every name, in several spellings.

use super::{Yard, about, gone, moved, pinned};
use std::fs;

/// What is protected at the root of a workspace: a file below it, or the file itself, and what of it is the place.
const PROTECTED: &[(&str, &str)] = &[
    (".vscode/tasks.json", ".vscode"),
    (".idea/workspace.xml", ".idea"),
    (".devcontainer/devcontainer.json", ".devcontainer"),
    (".devcontainer.json", ".devcontainer.json"),
    (".envrc", ".envrc"),
    (".mcp.json", ".mcp.json"),
    (".ringfence/settings", ".ringfence"),
    ("AGENTS.md", "AGENTS.md"),
    ("CLAUDE.md", "CLAUDE.md"),
    ("CLAUDE.local.md", "CLAUDE.local.md"),
    ("GEMINI.md", "GEMINI.md"),
    (".cursorrules", ".cursorrules"),
    (".cursor/rules/x.mdc", ".cursor"),
    (".windsurfrules", ".windsurfrules"),
    (".windsurf/x", ".windsurf"),
    (".clinerules", ".clinerules"),
    (".github/copilot-instructions.md", ".github/copilot-instructions.md"),
    (".claude/settings.json", ".claude"),
    (".codex/config.toml", ".codex"),
    (".gemini/settings.json", ".gemini"),
    (".agents/skills/x/SKILL.md", ".agents"),
    ("skills/x/SKILL.md", "skills"),
    (".git/config.worktree", ".git/config.worktree"),
    (".git/commondir", ".git/commondir"),
    (".git/gitdir", ".git/gitdir"),
    (".git/config", ".git/config"),
    (".git/hooks/pre-commit", ".git/hooks/pre-commit"),
    (".git/worktrees/x/gitdir", ".git/worktrees/x/gitdir"),
    (".git/worktrees/x/commondir", ".git/worktrees/x/commondir"),
    (".git/worktrees/x/config.worktree", ".git/worktrees/x/config.worktree"),
    (".git/modules/x/config", ".git/modules/x/config"),
    (".git/modules/x/y/hooks/update", ".git/modules/x/y/hooks/update"),
    (".git/modules/x/commondir", ".git/modules/x/commondir"),
    (".git", ".git"),
];

/// What is listed anywhere.
const LISTED: &[&str] = &[
    ".github/workflows/x.yml",
    ".forgejo/workflows/x.yml",
    ".gitea/workflows/x.yml",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker/x.yml",
    "build.rs",
    "Makefile",
    "GNUmakefile",
    "makefile",
    ".cargo/config",
    ".cargo/config.toml",
    "CMakeLists.txt",
    "justfile",
    "Taskfile.yml",
    "Rakefile",
    "setup.py",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "x.pth",
    "noxfile.py",
    "tox.ini",
    "package.json",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "gulpfile.js",
    "Gruntfile.js",
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "gradlew",
    "mvnw",
    ".mvn/jvm.config",
    "WORKSPACE",
    "BUILD.bazel",
    ".bazelrc",
    "flake.nix",
    "shell.nix",
    "default.nix",
    "Dockerfile",
    "Dockerfile.dev",
    "docker-compose.yml",
    "docker-compose.prod.yml",
    "compose.yaml",
    ".env",
    ".tool-versions",
    ".mise.toml",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".gitconfig",
    ".gitattributes",
    ".gitmodules",
    "Vagrantfile",
    "x.desktop",
    "SKILL.md",
    // Protected at a root, and told elsewhere.
    ".envrc",
    "AGENTS.md",
    "CLAUDE.md",
    ".vscode/tasks.json",
    ".idea/x/y.xml",
    ".claude/settings.json",
    ".cursorrules",
    ".mcp.json",
    ".github/copilot-instructions.md",
];

/// A name as it is, in capitals, in lower case, and with characters that count for nothing or fold to letters.
fn spellings(name: &str) -> Vec<String> {
    let folds = name.replace(['k', 'K'], "\u{212A}").replace(['s', 'S'], "\u{17F}");
    // Within the part that counts: behind the first letter of each name.
    let unseen = name.split('/').map(|part| {
        let at = part.char_indices().nth(1).map_or(part.len(), |(at, _)| at);
        format!("{}\u{200D}{}", &part[..at], &part[at..])
    });
    let unseen = unseen.collect::<Vec<_>>().join("/");
    let mut all = vec![name.to_owned(), name.to_uppercase(), name.to_lowercase(), folds, unseen];
    all.sort();
    all.dedup();
    all
}

#[test]
fn whatever_is_made_at_a_protected_place_is_moved_away_with_what_it_says() {
    for (file, place) in PROTECTED {
        for (spelled, at) in spellings(file).into_iter().zip(spellings_of_prefix(file, place)) {
            for root in ["", "nested/"] {
                let y = Yard::new();
                if !root.is_empty() {
                    y.write("nested/.git/description", "");
                }
                if *place == ".git" && !root.is_empty() {
                    fs::remove_dir_all(y.at("nested/.git")).unwrap();
                }
                if *place == "skills" && !root.is_empty() {
                    continue;
                }
                let before = y.look();
                y.write(format!("{root}{spelled}"), "[core]\n\teditor = touch pwned\n");
                let found = y.after(&before);
                let at = format!("{root}{at}");
                let to = moved(&y, &found, &at);
                assert!(gone(&y, &at), "{at:?}");
                let rest = format!("{root}{spelled}");
                let rest = rest.strip_prefix(&at).unwrap().trim_start_matches('/');
                let file = if rest.is_empty() { to } else { to.join(rest) };
                assert_eq!(fs::read_to_string(file).unwrap(), "[core]\n\teditor = touch pwned\n");
                assert_eq!(found.files.len(), 1, "{found:#?}");
            }
        }
    }
}

/// The spellings of a place, each as in the spelling of the file with the same number.
fn spellings_of_prefix(file: &str, place: &str) -> Vec<String> {
    let depth = place.split('/').count();
    let first = |spelled: String| spelled.split('/').take(depth).collect::<Vec<_>>().join("/");
    spellings(file).into_iter().map(first).collect()
}

#[test]
fn whatever_stands_at_a_protected_place_is_pinned() {
    for (file, place) in PROTECTED {
        for (spelled, at) in spellings(file).into_iter().zip(spellings_of_prefix(file, place)) {
            let y = Yard::new();
            y.write(&spelled, "x");
            let before = y.look();
            let pins = pinned(&before);
            assert_eq!(pins.len(), 1, "{spelled:?}: {pins:?}");
            assert!(at.starts_with(&pins[0]), "{spelled:?}: {pins:?}");
            // Changed in spite of everything, it is told.
            y.write(&spelled, "changed");
            let found = y.after(&before);
            assert_eq!(found.files.len(), 1, "{spelled:?}: {found:#?}");
            assert!(found.files[0].changed && found.files[0].moved_to.is_none(), "{found:#?}");
            assert_eq!(fs::read_to_string(y.at(&spelled)).unwrap(), "changed");
        }
    }
}

#[test]
fn whatever_runs_later_is_told_when_it_is_new_and_when_it_was_changed() {
    for name in LISTED {
        for spelled in spellings(name) {
            let y = Yard::new();
            y.write("some/dir/other.txt", "");
            let before = y.look();
            let path = format!("some/dir/{spelled}");
            y.write(&path, "one");
            y.write("some/dir/other.txt", "changed");
            for quiet in ["node_modules", "target", ".venv", "venv", "__pycache__", "some/Node_Modules"] {
                y.write(format!("{quiet}/{spelled}"), "not told");
            }
            y.write(".git/objects/evil/Makefile", "not told");
            let found = y.after(&before);
            assert_eq!(found.files.len(), 1, "{spelled:?}: {found:#?}");
            let finding = about(&found, &path);
            assert!(
                !finding.changed && finding.moved_to.is_none() && !finding.what.is_empty(),
                "{finding:?}"
            );

            let before = y.look();
            y.write(&path, "two");
            let found = y.after(&before);
            assert_eq!(found.files.len(), 1, "{spelled:?}: {found:#?}");
            assert!(about(&found, &path).changed);
            assert_eq!(fs::read_to_string(y.at(&path)).unwrap(), "two");
        }
    }
}

#[test]
fn names_that_only_look_like_these_are_nothing() {
    let y = Yard::new();
    let before = y.look();
    for name in [
        "agents.md.txt",
        "my.vscode/x",
        "xMakefile",
        "hooks/pre-commit",
        "config",
        "git/config",
        "a\nAGENTS.md",
    ] {
        y.write(name, "[core]\n\teditor = x\n");
    }
    let found = y.after(&before);
    assert!(found.files.is_empty(), "{found:#?}");
}
