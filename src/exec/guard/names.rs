//! What a name means: which are protected, which run later, and which are neither and not even looked at.

use crate::authority::{self, DIRECTORIES, INSTRUCTIONS};

/// What is at a protected place, or runs later, in words for people.
pub(super) type What = &'static str;

/// What hooks are called.
pub(super) const HOOK: What = "git hook";
/// What a repository's configuration is called.
pub(super) const CONFIGURATION: What = "git configuration";
/// What says where a repository's parts are.
pub(super) const POINTER: What = "git pointer";
const EDITOR: What = "editor settings";
/// What tells an agent what to do.
pub(super) const AGENTS: What = "agent instructions";
const SKILL: What = "agent skill";
const CI: What = "CI workflow";
const BUILD: What = "build script";
const PACKAGES: What = "package manager settings";
const PYTHON: What = "Python start-up file";
const START: What = "start-up file";
const CONTAINER: What = "container build";
const ENVIRONMENT: What = "environment file";
const GIT: What = "git settings";

/// A name's meaning, wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `.git`: what holds it is a repository's root.
    Repository,
    /// Means something within a repository's own directory.
    Part(Part),
    /// Protected at the roots of the workspace and of repositories, and runs later elsewhere.
    Guarded(What),
    /// Protected at the root of the workspace only.
    Own(What),
    /// A directory some parts of which count.
    Nest(Nest),
    /// A file that runs later.
    Listed(What),
    /// A directory with nothing but files that run later, or such a file.
    Below(What),
    /// A directory in which only repositories are looked for.
    Quiet,
}

/// What a name is within a repository's own directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Head,
    Objects,
    References,
    Configuration,
    WorktreeConfiguration,
    Hooks,
    CommonDirectory,
    Directory,
    Worktrees,
    Modules,
}

/// A directory some parts of which count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nest {
    /// `.github`: workflows, actions, and instructions for an agent.
    Hub,
    /// `.forgejo`, `.gitea`.
    Forge,
    /// `.cargo`.
    Cargo,
}

/// In the order of their bytes, each folded as [`authority::folded`] does.
const NAMES: &[(&str, Class)] = &[
    (".agents", Class::Guarded(AGENTS)),
    (".bash_login", Class::Listed(START)),
    (".bash_profile", Class::Listed(START)),
    (".bashrc", Class::Listed(START)),
    (".bazelrc", Class::Listed(BUILD)),
    (".cargo", Class::Nest(Nest::Cargo)),
    (".circleci", Class::Below(CI)),
    (".claude", Class::Guarded(AGENTS)),
    (".clinerules", Class::Guarded(AGENTS)),
    (".codex", Class::Guarded(AGENTS)),
    (".cursor", Class::Guarded(AGENTS)),
    (".cursorrules", Class::Guarded(AGENTS)),
    (".devcontainer", Class::Guarded(EDITOR)),
    (".devcontainer.json", Class::Guarded(EDITOR)),
    (".drone.yml", Class::Listed(CI)),
    (".env", Class::Listed(ENVIRONMENT)),
    (".envrc", Class::Guarded(ENVIRONMENT)),
    (".forgejo", Class::Nest(Nest::Forge)),
    (".gemini", Class::Guarded(AGENTS)),
    (".git", Class::Repository),
    (".gitattributes", Class::Listed(GIT)),
    (".gitconfig", Class::Listed(GIT)),
    (".gitea", Class::Nest(Nest::Forge)),
    (".github", Class::Nest(Nest::Hub)),
    (".gitlab-ci.yml", Class::Listed(CI)),
    (".gitmodules", Class::Listed(GIT)),
    (".husky", Class::Below(HOOK)),
    (".idea", Class::Guarded(EDITOR)),
    (".lefthook.yaml", Class::Listed(HOOK)),
    (".lefthook.yml", Class::Listed(HOOK)),
    (".mcp.json", Class::Guarded("tool servers")),
    (".mise.toml", Class::Listed(ENVIRONMENT)),
    (".mvn", Class::Below(BUILD)),
    (".npmrc", Class::Listed(PACKAGES)),
    (".pnpmfile.cjs", Class::Listed(PACKAGES)),
    (".pre-commit-config.yaml", Class::Listed(HOOK)),
    (".profile", Class::Listed(START)),
    (".ringfence", Class::Guarded(AGENTS)),
    (".tool-versions", Class::Listed(ENVIRONMENT)),
    (".travis.yml", Class::Listed(CI)),
    (".venv", Class::Quiet),
    (".vscode", Class::Guarded(EDITOR)),
    (".windsurf", Class::Guarded(AGENTS)),
    (".windsurfrules", Class::Guarded(AGENTS)),
    (".yarnrc", Class::Listed(PACKAGES)),
    (".yarnrc.yml", Class::Listed(PACKAGES)),
    (".zprofile", Class::Listed(START)),
    (".zshenv", Class::Listed(START)),
    (".zshrc", Class::Listed(START)),
    ("__pycache__", Class::Quiet),
    ("agents.md", Class::Guarded(AGENTS)),
    ("azure-pipelines.yml", Class::Listed(CI)),
    ("bitbucket-pipelines.yml", Class::Listed(CI)),
    ("build.bazel", Class::Listed(BUILD)),
    ("build.gradle", Class::Listed(BUILD)),
    ("build.gradle.kts", Class::Listed(BUILD)),
    ("build.rs", Class::Listed(BUILD)),
    ("claude.local.md", Class::Guarded(AGENTS)),
    ("claude.md", Class::Guarded(AGENTS)),
    ("cmakelists.txt", Class::Listed(BUILD)),
    ("commondir", Class::Part(Part::CommonDirectory)),
    ("config", Class::Part(Part::Configuration)),
    ("config.worktree", Class::Part(Part::WorktreeConfiguration)),
    ("conftest.py", Class::Listed(PYTHON)),
    ("default.nix", Class::Listed(BUILD)),
    ("flake.nix", Class::Listed(BUILD)),
    ("gemini.md", Class::Guarded(AGENTS)),
    ("gitdir", Class::Part(Part::Directory)),
    ("gnumakefile", Class::Listed(BUILD)),
    ("gradlew", Class::Listed(BUILD)),
    ("gradlew.bat", Class::Listed(BUILD)),
    ("head", Class::Part(Part::Head)),
    ("hooks", Class::Part(Part::Hooks)),
    ("jenkinsfile", Class::Listed(CI)),
    ("justfile", Class::Listed(BUILD)),
    ("lefthook.yaml", Class::Listed(HOOK)),
    ("lefthook.yml", Class::Listed(HOOK)),
    ("makefile", Class::Listed(BUILD)),
    ("mise.toml", Class::Listed(ENVIRONMENT)),
    ("module.bazel", Class::Listed(BUILD)),
    ("modules", Class::Part(Part::Modules)),
    ("mvnw", Class::Listed(BUILD)),
    ("mvnw.cmd", Class::Listed(BUILD)),
    ("node_modules", Class::Quiet),
    ("noxfile.py", Class::Listed(BUILD)),
    ("objects", Class::Part(Part::Objects)),
    ("package.json", Class::Listed(PACKAGES)),
    ("pom.xml", Class::Listed(BUILD)),
    ("rakefile", Class::Listed(BUILD)),
    ("refs", Class::Part(Part::References)),
    ("settings.gradle", Class::Listed(BUILD)),
    ("settings.gradle.kts", Class::Listed(BUILD)),
    ("setup.py", Class::Listed(BUILD)),
    ("shell.nix", Class::Listed(BUILD)),
    ("sitecustomize.py", Class::Listed(PYTHON)),
    ("skill.md", Class::Listed(SKILL)),
    ("skills", Class::Own(SKILL)),
    ("target", Class::Quiet),
    ("taskfile.yaml", Class::Listed(BUILD)),
    ("taskfile.yml", Class::Listed(BUILD)),
    ("tox.ini", Class::Listed(BUILD)),
    ("usercustomize.py", Class::Listed(PYTHON)),
    ("vagrantfile", Class::Listed(CONTAINER)),
    ("venv", Class::Quiet),
    ("workspace", Class::Listed(BUILD)),
    ("workspace.bazel", Class::Listed(BUILD)),
    ("worktrees", Class::Part(Part::Worktrees)),
];

/// What a name means. `room` is where it is folded, so that nothing is allocated for each.
pub(super) fn class(name: &[u8], room: &mut Vec<u8>) -> Option<Class> {
    fold(name, room);
    if let Ok(at) = NAMES.binary_search_by(|(known, _)| known.as_bytes().cmp(room.as_slice())) {
        return NAMES.get(at).map(|(_, class)| *class);
    }
    by_pattern(room).or_else(|| directing(room))
}

/// What `.github` and the like hold.
pub(super) fn in_nest(nest: Nest, name: &[u8], room: &mut Vec<u8>) -> Option<Class> {
    fold(name, room);
    match (nest, room.as_slice()) {
        (Nest::Hub | Nest::Forge, b"workflows" | b"actions") => Some(Class::Below(CI)),
        (Nest::Hub, b"copilot-instructions.md") => Some(Class::Guarded(AGENTS)),
        (Nest::Hub, b"instructions" | b"prompts" | b"chatmodes" | b"agents") => Some(Class::Below(AGENTS)),
        (Nest::Cargo, b"config" | b"config.toml") => Some(Class::Listed(BUILD)),
        _ => None,
    }
}

/// Names that begin or end in a certain way.
fn by_pattern(name: &[u8]) -> Option<Class> {
    let yaml = name.ends_with(b".yml") || name.ends_with(b".yaml");
    match name {
        [b'.', b'w', ..] if name.starts_with(b".woodpecker") => Some(Class::Below(CI)),
        [b'd', ..] if name.starts_with(b"dockerfile") => Some(Class::Listed(CONTAINER)),
        [b'd', ..] if yaml && name.starts_with(b"docker-compose") => Some(Class::Listed(CONTAINER)),
        [b'c', ..] if yaml && name.starts_with(b"compose") => Some(Class::Listed(CONTAINER)),
        [b'c', ..] if name.starts_with(b"containerfile") => Some(Class::Listed(CONTAINER)),
        [b'g', ..] if name.starts_with(b"gulpfile.") || name.starts_with(b"gruntfile.") => {
            Some(Class::Listed(BUILD))
        }
        [.., b'.', b'p', b't', b'h'] => Some(Class::Listed(PYTHON)),
        _ if name.ends_with(b".desktop") => Some(Class::Listed(START)),
        _ => None,
    }
}

/// What directs this program's own agent, should the table not name it.
fn directing(name: &[u8]) -> Option<Class> {
    let named = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
    let known = DIRECTORIES.iter().any(named) || named(&INSTRUCTIONS);
    known.then_some(Class::Own(AGENTS))
}

/// A name as file systems that fold case compare it.
fn fold(name: &[u8], room: &mut Vec<u8>) {
    room.clear();
    if name.is_ascii() {
        room.extend(name.iter().map(u8::to_ascii_lowercase));
    } else {
        room.extend_from_slice(authority::folded(&String::from_utf8_lossy(name)).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<Class> {
        class(name.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn the_table_is_in_order_and_folded() {
        for pair in NAMES.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} stands before {}", pair[0].0, pair[1].0);
        }
        for (name, class) in NAMES {
            assert_eq!(authority::folded(name), *name);
            assert_eq!(of(name), Some(*class));
        }
    }

    #[test]
    fn whatever_directs_main_is_protected_at_the_root() {
        for name in DIRECTORIES.iter().chain([&INSTRUCTIONS]) {
            assert!(matches!(of(name), Some(Class::Own(_) | Class::Guarded(_))), "{name}");
        }
        for skills in authority::SKILLS {
            let first = skills.split('/').next().unwrap_or_default();
            assert!(matches!(of(first), Some(Class::Own(_) | Class::Guarded(_))), "{skills}");
        }
    }

    #[test]
    fn spellings_of_a_name_are_one_name_and_others_are_not() {
        for name in [".GIT", ".Git", ".g\u{200D}it"] {
            assert_eq!(of(name), Some(Class::Repository), "{name:?}");
        }
        for name in ["\u{17F}kills", "s\u{212A}ill\u{17F}"] {
            assert_eq!(of(name), Some(Class::Own(SKILL)), "{name:?}");
        }
        for name in ["git", ".git2", "x.git", "agents", "AGENTS.md.txt", "Make", "src", "dockers", "a.pth.py"]
        {
            assert_eq!(of(name), None, "{name:?}");
        }
        assert_eq!(class(b".git\xFF", &mut Vec::new()), None);
    }
}
