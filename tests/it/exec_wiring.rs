//! From a tool's call to a command: whose rights it has, and what is told of it.

use crate::support::{Program, World};
use ringfence::authority::{Access, Capability, Profile, Role};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;

/// A place that every user can come to, with the program in it and a workspace that belongs to nobody in particular.
struct Unprivileged {
    root: tempfile::TempDir,
}

impl Unprivileged {
    const NOBODY: u32 = 65534;

    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_ringfence"), root.path().join("ringfence")).unwrap();
        for dir in ["ws", "home"] {
            fs::create_dir(root.path().join(dir)).unwrap();
            std::os::unix::fs::chown(root.path().join(dir), Some(Self::NOBODY), Some(Self::NOBODY)).unwrap();
        }
        Self { root }
    }

    fn run(&self, line: &str) -> std::process::Output {
        let mut command = std::process::Command::new(self.root.path().join("ringfence"));
        command.args(["tools", "run", "exec", &format!("command={line}")]);
        command.current_dir(self.root.path().join("ws")).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("RINGFENCE_HOME", self.root.path().join("home"));
        command.uid(Self::NOBODY).gid(Self::NOBODY).output().unwrap()
    }
}

#[test]
fn a_user_without_any_privilege_has_the_same_walls() {
    if !rustix::process::geteuid().is_root() {
        // Then every other test of commands is this one.
        return;
    }
    let place = Unprivileged::new();
    fs::create_dir_all(place.root.path().join("ws/.git/hooks")).unwrap();
    fs::write(place.root.path().join("outside"), "alive").unwrap();
    fs::set_permissions(place.root.path().join("outside"), fs::Permissions::from_mode(0o666)).unwrap();
    let line = "id -u; echo made > made; echo x > .git/hooks/pre-commit; cat ../outside; echo y > ../outside; \
                grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc | grep -c '^[0-9]'; ls /sys; unshare -Ur id; \
                python3 -c 'import socket; socket.socket(socket.AF_INET)' 2>&1 | tail -n 1";
    let ran = place.run(line);
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(said.starts_with("1000\n"), "{said}");
    for wanted in
        ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Address family not supported"]
    {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    assert!(said.contains("no-cgroup") || !said.contains("Sandbox:"), "{said}");
    assert!(!said.contains("alive"), "{said}");
    assert_eq!(fs::read_to_string(place.root.path().join("ws/made")).unwrap(), "made\n");
    assert_eq!(fs::read_to_string(place.root.path().join("outside")).unwrap(), "alive");
    assert!(!place.root.path().join("ws/.git/hooks/pre-commit").exists());
}

#[test]
fn a_command_has_its_callers_rights_and_not_the_tools() {
    for read_only in [false, true] {
        let world = if read_only { World::new().read_only() } else { World::new() };
        for role in [Role::Main, Role::Subagent] {
            let agent = world.agent(Profile::plain(role));
            world.call_by(&agent, "exec", r#"{ "command": "true", "working_dir": "/" }"#).text();
            let bearer = world.ports().bearers().pop().unwrap();
            assert_eq!(bearer.agent, agent.id);
            let wanted = if read_only { Access::ReadOnly } else { Access::ReadWrite };
            let directories = &bearer.rights.directories;
            assert_eq!(directories.access(&world.path("")), Some(wanted), "{role} {read_only}");
            assert!(directories.access(world.outside()).is_none());
            assert_eq!(bearer.rights.capabilities.contains(Capability::Spawn), role == Role::Main);
        }
    }
}

#[test]
fn a_command_runs_from_the_command_line_and_leaves_its_level_in_its_row() {
    let program = Program::bare();
    let ran = program.run(&["tools", "run", "exec", "command=echo hello; mkdir .vscode"]);
    assert!(ran.stdout.starts_with("hello\n") && ran.stdout.contains("Exit code: 0"), "{ran:?}");
    assert!(ran.stdout.contains("[ringfence]") && ran.stdout.contains("quarantine"), "{ran:?}");
    let rows = program.run(&["audit", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&rows.stdout).unwrap();
    assert_eq!(rows["calls"][0]["sandbox"], "full", "{rows}");
    let denied = program.run(&["tools", "run", "--deny", "exec", "exec", "command=touch ran"]);
    assert_eq!(denied.code, 5, "{denied:?}");
}

/// What nobody but the person at the command line does, and only for the process that is begun with it.
#[test]
fn without_the_sandbox_a_command_is_the_persons_own_and_says_so() {
    let program = Program::bare();
    let id = rustix::process::geteuid().as_raw().to_string();
    let ran = program.run(&[
        "tools",
        "run",
        "--dangerously-no-sandbox",
        "exec",
        "command=id -u; sleep 100 & echo $!",
    ]);
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some(id.as_str()), "{ran:?}");
    assert!(
        ran.stdout.contains("Sandbox: none") && ran.stderr.contains("--dangerously-no-sandbox"),
        "{ran:?}"
    );
    let left = lines.next().unwrap();
    assert!(!std::path::Path::new("/proc").join(left).exists(), "what it started has ended with it");
    let plain = program.run(&["tools", "run", "exec", "command=id -u"]);
    assert!(plain.stdout.starts_with("1000\n"), "{plain:?}");
}
