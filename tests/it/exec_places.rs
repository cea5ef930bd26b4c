//! Directories that no command is given, under whatever name they are reached.

use super::support::{Program, Ran};
use ringfence::authority::Access;
use ringfence::exec::{ExecError, Level, Most, Place, Settings, refuse_opened, refuse_secrets, refuse_state};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home with the program's own places in it, and directories around them.
struct Yard {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for dir in ["me/.config/ringfence/skills", "me/.config/other", "me/keys", "me/code", "srv"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("me/keys/work.key"), "k").unwrap();
        Self { _temp: temp, root }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn state(&self) -> Vec<PathBuf> {
        let files = ["me/.config/ringfence", "me/.local/share/ringfence", "me/keys/work.key"];
        files.map(|path| self.at(path)).to_vec()
    }
}

fn place(path: &Path) -> Place {
    Place { path: path.to_owned(), access: Access::ReadOnly }
}

#[track_caller]
fn problem(refused: Result<(), ExecError>) -> String {
    match refused {
        Err(ExecError::Place { problem, .. }) => problem,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn escape_070_a_place_that_covers_or_lies_in_the_state_is_refused_under_every_name() {
    let yard = Yard::new();
    symlink(yard.at("me/.config/ringfence"), yard.at("srv/alias")).unwrap();
    symlink(yard.at("me"), yard.at("srv/home")).unwrap();
    let climbing = yard.at("me/code/../.config/ringfence");
    for (path, how) in [
        (yard.at("me/.config/ringfence"), "it is "),
        (yard.at("me/.config/ringfence/skills"), "it lies in "),
        (yard.at("me/.config"), "it contains "),
        (yard.at("me"), "it contains "),
        (yard.root.clone(), "it contains "),
        (PathBuf::from("/"), "it contains "),
        (yard.at("srv/alias"), "it is "),
        (yard.at("srv/alias/skills"), "it lies in "),
        (yard.at("srv/home"), "it contains "),
        (climbing, "it is "),
        // The directory of a key, and the parent of state that is not there yet.
        (yard.at("me/keys"), "it contains "),
    ] {
        let problem = problem(refuse_state(&[place(&path)], &yard.state()));
        assert!(
            problem.contains(how) && problem.contains("keeps its own state"),
            "{}: {problem}",
            path.display()
        );
    }
    for fine in ["me/code", "me/.config/other", "srv"] {
        assert_eq!(refuse_state(&[place(&yard.at(fine))], &yard.state()), Ok(()), "{fine}");
    }
    // One among several is enough.
    let all = [place(&yard.at("me/code")), place(&yard.at("me/.config"))];
    problem(refuse_state(&all, &yard.state()));
    // What is to be there later is kept before it is there.
    fs::create_dir_all(yard.at("me/.local/share")).unwrap();
    problem(refuse_state(&[place(&yard.at("me/.local"))], &yard.state()));
    // What is not there is no place.
    problem(refuse_state(&[place(&yard.at("gone"))], &yard.state()));
}

/// What was opened counts, not what is at its path by now. What a configuration names is looked at once more for secrets, and a
/// workspace is not.
#[test]
fn escape_070_what_was_opened_is_compared() {
    let yard = Yard::new();
    fs::create_dir(yard.at("me/.ssh")).unwrap();
    let settings = |configured: &[&str]| Settings {
        timeout: None,
        least: Level::LEAST,
        places: configured.iter().map(|path| place(&yard.at(path))).collect(),
        environment: Vec::new(),
        path: (Vec::new(), Vec::new()),
        searched: Vec::new(),
        zone: None,
        most: Most::default(),
        home: Some(yard.at("me")),
        state: yard.state(),
        quarantine: yard.at("me/quarantine"),
        unsandboxed: false,
    };
    let opened = |named: &str, found: &str, configured: &[&str]| {
        let about = fs::metadata(yard.at(found)).unwrap();
        let path = yard.at(named);
        refuse_opened(&settings(configured), [(path.as_path(), (about.dev(), about.ino()))])
    };
    assert_eq!(opened("me/code", "me/code", &[]), Ok(()));
    assert!(problem(opened("me/code", "me/.config/ringfence", &[])).contains("keeps its own state"));
    assert!(problem(opened("me/keys", "me/keys", &[])).contains("keeps its own state or a key"));
    assert_eq!(opened("me/.ssh", "me/.ssh", &[]), Ok(()));
    assert!(problem(opened("me/.ssh", "me/.ssh", &["me/.ssh"])).contains("where secrets are kept"));
    assert!(problem(opened("me/code", "me/.ssh", &["me/code"])).contains("where secrets are kept"));
    assert_eq!(opened("me/code", "me/code", &["me/code"]), Ok(()));
}

#[test]
fn escape_070_homes_systems_and_secrets_are_refused() {
    let yard = Yard::new();
    let home = yard.at("me");
    let secrets = |path: &Path| refuse_secrets(&[place(path)], Some(&home));
    for path in ["/", "/etc", "/proc", "/proc/self", "/sys", "/dev", "/run", "/var", "/tmp", "/usr", "/bin"] {
        problem(secrets(Path::new(path)));
    }
    assert!(problem(secrets(&home)).contains("your home"));
    problem(secrets(&yard.root));
    symlink(&home, yard.at("srv/home")).unwrap();
    problem(secrets(&yard.at("srv/home")));
    for secret in
        [".ssh", ".gnupg", ".aws", ".kube", ".docker", ".config/gh", ".mozilla", ".config/google-chrome"]
    {
        assert_eq!(secrets(&yard.at("me/.config")), Ok(()), "before {secret}");
        let dir = home.join(secret);
        fs::create_dir_all(dir.join("deep")).unwrap();
        for path in [dir.clone(), dir.join("deep")] {
            assert!(problem(secrets(&path)).contains("where secrets are kept"), "{secret}");
        }
        if secret.contains('/') {
            problem(secrets(dir.parent().unwrap()));
        }
        symlink(&dir, yard.at("srv/link")).unwrap();
        problem(secrets(&yard.at("srv/link")));
        fs::remove_file(yard.at("srv/link")).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }
    // A file that holds a key makes its directory a place of secrets; a toolchain beside it is none.
    fs::create_dir_all(home.join(".cargo/bin")).unwrap();
    assert_eq!(secrets(&home.join(".cargo")), Ok(()));
    fs::write(home.join(".cargo/credentials.toml"), "token").unwrap();
    assert!(problem(secrets(&home.join(".cargo"))).contains("credentials.toml"));
    assert_eq!(secrets(&home.join(".cargo/bin")), Ok(()));
    assert_eq!(secrets(&yard.at("me/code")), Ok(()));
    assert_eq!(secrets(Path::new("/usr/share")), Ok(()));
}

/// The program with this directory in its configuration.
fn validate(program: &Program, key: &str, path: &Path) -> Ran {
    program.configure(&format!(
        "[exec]\n{key} = [{path:?}]\n[providers.work]\nwire = \"chat\"\nbase_url = \"https://a.example\"\n\
         key = {{ file = {:?} }}\n",
        program.home().join("deep/keys/work.key")
    ));
    program.run(&["config", "validate"])
}

#[test]
fn escape_070_a_configuration_that_hands_over_the_state_is_not_used() {
    let program = Program::bare();
    fs::create_dir_all(program.home().join("deep/keys")).unwrap();
    fs::create_dir_all(program.home().join("deep/else")).unwrap();
    fs::create_dir_all(program.home().join("data")).unwrap();
    for key in ["read_only", "read_write"] {
        for path in ["", "config", "data", "deep", "deep/keys"] {
            let ran = validate(&program, key, &program.home().join(path));
            assert_eq!(ran.code, 3, "{key} {path}: {ran:?}");
            let lead = format!("error: exec.{key}: ");
            assert!(
                ran.stderr.starts_with(&lead) && ran.stderr.contains("no command is given it"),
                "{ran:?}"
            );
        }
        // No call is made with it either.
        let ran = program.run(&["tools", "run", "list_dir", "path=."]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
        let ran = validate(&program, key, &program.home().join("deep/else"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        assert_eq!(program.run(&["tools", "run", "list_dir", "path=."]).code, 0);
    }
}

/// A part of the state that is mounted elsewhere has another name, another directory above it, and an inode that is not that of
/// the state's own directory.
#[test]
fn escape_070_a_mount_of_a_part_of_the_state_is_no_way_around() {
    let program = Program::bare();
    let (home, work) = (program.home().to_owned(), program.workspace());
    for dir in ["data/results/deep", "else/deep"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::create_dir_all(work.join("outer/inner")).unwrap();
    let validate = |mounted: &str, named: &str| {
        program.configure(&format!("[exec]\nread_only = [{:?}]\n", work.join(named)));
        let ours = program.command();
        // Mounts are made in a namespace of their own, which ends with the command.
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
        command.arg("mount --bind \"$1\" \"$2\"; shift 2; exec \"$@\"").arg("sh");
        command.arg(home.join(mounted)).arg(work.join("outer/inner"));
        command.arg(ours.get_program()).args(["config", "validate"]).env_clear();
        command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(&work);
        Ran::of(command.output().unwrap())
    };
    for named in ["outer/inner", "outer/inner/deep", "outer"] {
        let ran = validate("data/results", named);
        assert_eq!(ran.code, 3, "{named}: {ran:?}");
        assert!(ran.stderr.contains("another name of"), "{ran:?}");
        let ran = validate("else", named);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{named}: {ran:?}");
    }
}

#[test]
fn one_directory_has_one_access() {
    let program = Program::bare();
    let work = program.workspace();
    fs::create_dir_all(work.join("a/b")).unwrap();
    symlink(work.join("a"), work.join("alias")).unwrap();
    let validate = |read_only: &str, read_write: &str| {
        let (one, other) = (work.join(read_only), work.join(read_write));
        program.configure(&format!("[exec]\nread_only = [{one:?}]\nread_write = [{other:?}]\n"));
        program.run(&["config", "validate"])
    };
    for (read_only, read_write) in [("a", "alias"), ("a/b", "a"), ("a/b", "alias")] {
        let ran = validate(read_only, read_write);
        assert_eq!(ran.code, 3, "{read_only} {read_write}: {ran:?}");
        assert!(ran.stderr.contains("overlaps with"), "{ran:?}");
    }
    // More within less can be told apart at every level.
    assert_eq!(validate("a", "a/b").code, 0);
}
