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
