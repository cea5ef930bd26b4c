//! `ringfence doctor`: what it looks at, and that what it prints to type helps.

use super::support::Program;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// The lines of `doctor` about one thing.
fn about<'t>(stdout: &'t str, what: &str) -> Vec<&'t str> {
    stdout.lines().filter(|line| line.get(7..).is_some_and(|rest| rest.starts_with(what))).collect()
}

#[test]
fn directories_that_others_can_enter_are_told_with_what_to_type() {
    let program = Program::bare();
    let data = program.home().join("data");
    fs::create_dir(&data).unwrap();
    let told = |mode: u32| {
        fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
        let ran = program.run(&["doctor"]);
        let line =
            about(&ran.stdout, "directory").into_iter().find(|l| l.contains("/data ")).unwrap().to_owned();
        (ran, line)
    };
    assert!(told(0o700).1.starts_with("ok "));
    let (ran, line) = told(0o755);
    assert!(line.starts_with("wrong") && line.contains("(mode 755)"), "{line}");
    assert_ne!(ran.code, 0);
    let hint = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("type: ")).unwrap();
    assert!(std::process::Command::new("sh").args(["-c", hint]).status().unwrap().success(), "{hint}");
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let ran = program.run(&["doctor"]);
    assert!(!ran.stdout.contains("type: chmod"), "{ran:?}");
}

#[test]
fn a_configuration_that_cannot_be_used_is_told_and_nothing_is_tried_with_it() {
    let program = Program::bare();
    program.configure("[exec]\nmemroy = 1\n");
    let ran = program.run(&["doctor"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let line = about(&ran.stdout, "configuration");
    assert!(line[0].starts_with("wrong") && line[0].contains("did you mean `memory`?"), "{ran:?}");
    assert!(about(&ran.stdout, "sandbox").is_empty(), "{ran:?}");
    assert_eq!(program.run(&["doctor", "sandbox"]).code, 3);
    // A directory that no command is given is wrong as well.
    program.configure("[exec]\nread_only = [\"/etc\"]\n");
    let ran = program.run(&["doctor"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(about(&ran.stdout, "sandbox")[0].contains("no command is given it"), "{ran:?}");
    program.configure("");
    let ran = program.run(&["doctor"]);
    assert!(about(&ran.stdout, "configuration")[0].starts_with("ok "), "{ran:?}");
}

#[test]
fn a_feature_that_there_is_not_is_a_question() {
    let program = Program::bare();
    for (name, near) in [("landlok", "did you mean landlock?"), ("everything", "there are user-namespace")] {
        let ran = program.run(&["doctor", "sandbox", "--without", name]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(near), "{ran:?}");
    }
}

/// The level of `doctor sandbox`, whether commands run, and with what it ended.
fn level(program: &Program, arguments: &[&str]) -> (Option<String>, bool, i32) {
    let ran = program.run(&[&["doctor", "sandbox", "--json"], arguments].concat());
    let told = ran.json();
    (told["level"].as_str().map(str::to_owned), told["runs"].as_bool().unwrap(), ran.code)
}

#[test]
fn the_sandbox_of_this_machine_is_told_feature_by_feature() {
    let program = Program::bare();
    let ran = program.run(&["doctor", "sandbox", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["runs"]), (0, &true.into()), "{ran:?}");
    let names: Vec<&str> = told["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| feature["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ringfence::exec::Feature::ALL.map(ringfence::exec::Feature::name));
    for feature in told["features"].as_array().unwrap() {
        // Whether there are control groups is this machine's to say; everything else is there wherever this is tested.
        if feature["name"] != "control-group" && feature["name"] != "process-bound" {
            assert_eq!(feature["present"], true, "{feature}");
        }
        if feature["present"] == false {
            for member in ["cause", "fix", "step", "error"] {
                assert!(feature[member].as_str().is_some_and(|text| !text.is_empty()), "{feature}");
            }
        }
    }
    let lines = program.run(&["doctor", "sandbox"]);
    assert_eq!(lines.code, 0, "{lines:?}");
    for part in
        ["kernel ", "least level   no-userns", "landlock          yes, ABI ", "/usr: read-only", "limits  "]
    {
        assert!(lines.stdout.contains(part), "{part}: {lines:?}");
    }
    let all = program.run(&["doctor"]);
    assert_eq!(all.code, 0, "{all:?}");
    assert!(about(&all.stdout, "sandbox")[0].starts_with("ok "), "{all:?}");
}

#[test]
fn each_level_can_be_tried_out_and_the_least_decides_the_exit_code() {
    let program = Program::bare();
    for (without, expected) in [
        (&["control-group"][..], Some("no-cgroup")),
        (&["landlock"], Some("no-landlock")),
        (&["user-namespace"], Some("no-userns")),
        (&["namespaces"], Some("landlock")),
        (&["namespaces", "landlock"], None),
        (&["seccomp"], None),
    ] {
        let without = [&["--without"], without].concat();
        for (least, order) in
            [("landlock", 1), ("no-userns", 2), ("no-landlock", 3), ("no-cgroup", 4), ("full", 5)]
        {
            program.configure(&format!("[exec]\nmin_level = \"{least}\"\n"));
            let ranks = ["landlock", "no-userns", "no-landlock", "no-cgroup", "full"];
            let runs =
                expected.is_some_and(|level| ranks.iter().position(|l| *l == level).unwrap() + 1 >= order);
            let told = level(&program, &without);
            assert_eq!(
                told,
                (expected.map(str::to_owned), runs, if runs { 0 } else { 8 }),
                "{without:?} {least}"
            );
        }
    }
}

/// The program as root of a user namespace in which there can be no other.
fn without_user_namespaces(program: &Program, then: &[&str], arguments: &[&str]) -> super::support::Ran {
    let ours = program.command();
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-ec"]);
    command.arg("echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"").arg("sh").args(then);
    command.arg(ours.get_program()).args(arguments).env_clear();
    command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
    super::support::Ran::of(command.current_dir(program.workspace()).output().unwrap())
}

#[test]
fn escape_073_where_the_walls_are_gone_it_says_so_with_the_cause_and_commands_do_not_run() {
    let program = Program::bare();
    let ran = without_user_namespaces(&program, &[], &["doctor", "sandbox", "--json"]);
    let told = ran.json();
    // Whoever is root there has another way.
    assert_eq!((ran.code, told["level"].as_str()), (0, Some("no-userns")), "{ran:?}");
    let user = &told["features"][0];
    assert_eq!(
        (user["name"].as_str(), user["error"].as_str()),
        (Some("user-namespace"), Some("ENOSPC")),
        "{user}"
    );
    assert!(user["cause"].as_str().unwrap().contains("user.max_user_namespaces is 0"), "{user}");
    assert!(user["fix"].as_str().unwrap().contains("sudo sysctl -w user.max_user_namespaces="), "{user}");
    // Without the capabilities for that, none is left.
    let bare = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"];
    let ran = without_user_namespaces(&program, &bare, &["doctor", "sandbox"]);
    assert_eq!(ran.code, 8, "{ran:?}");
    for part in [
        "level         landlock: ",
        "commands do not run: this machine gives level landlock, and the least that is allowed is no-userns",
        "root without CAP_SYS_ADMIN",
        "min_level = \"landlock\"",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let ran = without_user_namespaces(&program, &bare, &["doctor"]);
    assert_eq!(ran.code, 8, "{ran:?}");
    assert!(ran.stdout.contains("to see what is missing: ringfence doctor sandbox"), "{ran:?}");
    program.configure("[exec]\nmin_level = \"landlock\"\n");
    let ran = without_user_namespaces(&program, &bare, &["doctor", "sandbox"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("commands run at level landlock"), "{ran:?}");
}

/// Whoever is not root has every wall as well.
#[test]
fn a_user_has_the_walls_that_root_has() {
    let temp = tempfile::tempdir().unwrap();
    let at = temp.path().join("ringfence");
    fs::copy(env!("CARGO_BIN_EXE_ringfence"), &at).unwrap();
    for path in [temp.path(), &at] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    command.arg(&at).args(["doctor", "sandbox", "--json"]).env_clear().current_dir("/");
    command.env("PATH", "/usr/bin:/bin").env("RINGFENCE_HOME", temp.path().join("home"));
    let ran = super::support::Ran::of(command.output().unwrap());
    let told = ran.json();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(["full", "no-cgroup"].contains(&told["level"].as_str().unwrap()), "{told}");
}

/// The lines that it prints for toolchains in the home make them visible.
#[test]
fn the_lines_for_toolchains_make_them_visible() {
    let program = Program::bare();
    for dir in [".cargo/bin", ".rustup", ".pyenv/shims", "own", "late"] {
        fs::create_dir_all(program.home().join(dir)).unwrap();
    }
    program.configure("[exec]\nread_only = [\"~/own\", \"~/gone\"]\n");
    let ran = program.run(&["doctor", "sandbox"]);
    assert!(ran.stdout.contains("not visible   Rust, pyenv in your home"), "{ran:?}");
    assert!(ran.stdout.contains("gone: is not there (exec.read_only)"), "{ran:?}");
    let lines = |key: &str| {
        let found = ran.stdout.lines().map(str::trim).find(|line| line.starts_with(key));
        found.unwrap_or_else(|| panic!("no {key}: {ran:?}")).to_owned()
    };
    let (read_only, prepend) = (lines("read_only = "), lines("path_prepend = "));
    program
        .configure(&format!("[exec]\n{read_only}\n{prepend}\npath_append = [\"~/late\", \"/a; echo X\"]\n"));
    let told = program.run(&["doctor", "sandbox", "--json"]).json();
    assert_eq!(told["toolchains"], serde_json::json!([]), "{told}");
    let home = fs::canonicalize(program.home()).unwrap();
    let seen: Vec<&str> =
        told["directories"].as_array().unwrap().iter().map(|place| place["path"].as_str().unwrap()).collect();
    for dir in ["own", ".cargo/bin", ".rustup", ".pyenv"] {
        assert!(seen.contains(&home.join(dir).to_str().unwrap()), "{dir}: {seen:?}");
    }
    // What is in front stands before a person's own, and what is behind after it, each as it is written.
    let path: Vec<&str> = told["path"].as_array().unwrap().iter().map(|dir| dir.as_str().unwrap()).collect();
    assert_eq!(path.first().copied(), home.join(".cargo/bin").to_str());
    assert_eq!(path[path.len() - 2..], [home.join("late").to_str().unwrap(), "/a; echo X"]);
    assert!(path.contains(&"/usr/bin"), "{path:?}");
    let shown = program.run(&["doctor", "sandbox"]);
    assert!(shown.stdout.contains("late: is in PATH and cannot be seen"), "{shown:?}");
    assert!(!shown.stdout.contains("not visible"), "{shown:?}");
}
