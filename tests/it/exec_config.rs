//! The table `[exec]`: what it says, what it must not say, and that nothing in it is more than data.

use super::support::Program;
use ringfence::authority::Level;
use ringfence::config::{Config, ExecConfig};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn exec(lines: &str) -> ExecConfig {
    Config::parse(&format!("[exec]\n{lines}\n")).unwrap_or_else(|error| panic!("{error}\nin\n{lines}")).exec
}

fn refusal(lines: &str) -> String {
    match Config::parse(&format!("[exec]\n{lines}\n")) {
        Err(refusal) => refusal,
        Ok(config) => panic!("accepted: {lines}\nas {:?}", config.exec),
    }
}

#[test]
fn without_a_word_commands_have_limits_and_no_directories() {
    for text in ["", "[exec]\n"] {
        let exec = Config::parse(text).unwrap().exec;
        assert_eq!(exec, ExecConfig::default());
        assert_eq!((exec.timeout, exec.least), (Some(Duration::from_secs(60)), Level::NoUserns));
        assert!(exec.read_only.is_empty() && exec.read_write.is_empty() && exec.environment.is_empty());
    }
}

#[test]
fn parity_e07_a_timeout_of_0_is_none_3600_is_kept_and_nonsense_is_refused() {
    let timeout = |value: &str| exec(&format!("timeout = {value}")).timeout;
    assert_eq!(timeout("0"), None);
    assert_eq!(timeout("3600"), Some(Duration::from_secs(3_600)));
    assert_eq!(timeout("\"2h\""), Some(Duration::from_secs(7_200)));
    for value in ["-1", "1.5", "true", "\"\"", "\"soon\"", "\"-5s\"", "604801", "9223372036854775807", "[]"] {
        let refusal = refusal(&format!("timeout = {value}"));
        assert!(refusal.starts_with("exec.timeout: expected a time from 0s to 168h"), "{value}: {refusal}");
    }
}

#[test]
fn every_level_but_none_can_be_the_least() {
    for level in Level::ALL {
        let line = format!("min_level = \"{level}\"");
        if level == Level::Unsandboxed {
            assert!(refusal(&line).contains("no configuration takes the sandbox away"));
        } else {
            assert_eq!(exec(&line).least, level);
        }
    }
    assert!(refusal("min_level = \"no-cgroups\"").contains("did you mean `no-cgroup`?"));
    assert!(refusal("min_level = \"high\"").contains("\"full\""));
    assert!(refusal("min_level = 3").starts_with("exec.min_level: expected a string"));
}

#[test]
fn directories_are_absolute_or_in_the_home() {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap();
    let read = exec("read_only = [\"/srv/a\", \"~/.cargo/bin\", \"/srv/a\"]\nread_write = [\"/srv/b\"]");
    assert_eq!(read.read_only, [PathBuf::from("/srv/a"), home.join(".cargo/bin")]);
    assert_eq!(read.read_write, [PathBuf::from("/srv/b")]);
    for key in ["read_only", "read_write", "path_prepend", "path_append"] {
        for value in ["srv", "./srv", "", "~", "~you/x", "a\\nb", "/a\\u0000b", "/a\\nb", "/a\\u001Bb"] {
            let refusal = refusal(&format!("{key} = [\"{value}\"]"));
            assert!(refusal.starts_with(&format!("exec.{key}: ")), "{key} {value}: {refusal}");
            assert!(!refusal.contains(char::is_control), "{refusal:?}");
        }
        assert!(refusal(&format!("{key} = \"/srv\"")).contains("expected a list of strings"));
        assert!(refusal(&format!("{key} = [1]")).contains("expected a list of strings"));
        let many: Vec<String> = (0..65).map(|n| format!("\"/srv/{n}\"")).collect();
        assert!(refusal(&format!("{key} = [{}]", many.join(","))).contains("64 are the most"));
    }
    assert!(refusal("read_only = [\"/a\"]\nread_write = [\"/a\"]").contains("is in exec.read_only as well"));
}

/// What a shell would do something with is a character of a name like any other.
#[test]
fn parity_e11_what_stands_in_path_is_text_and_a_line_end_or_a_colon_is_no_part_of_it() {
    let marks = ["/a; echo X", "/a$(touch made)", "/a`touch made`", "/a && b", "/a'b", "/a|b", "/a*", "/ü b"];
    for name in marks {
        for key in ["path_prepend", "path_append"] {
            let read = exec(&format!("{key} = [{name:?}]"));
            let list = if key == "path_append" { read.path_append } else { read.path_prepend };
            assert_eq!(list, [Path::new(name)]);
        }
    }
    for (name, why) in
        [("/a:/b", "colon"), ("/a\\n/b", "control character"), ("/a\\u0000", "control character")]
    {
        for key in ["path_prepend", "path_append"] {
            assert!(refusal(&format!("{key} = [\"{name}\"]")).contains(why), "{name}");
        }
    }
    // A link to a name with a colon is no way around it.
    let program = Program::bare();
    let real = program.workspace().join("one:two");
    std::fs::create_dir(&real).unwrap();
    let link = program.workspace().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    program.configure(&format!("[exec]\npath_append = [{link:?}]\n"));
    let ran = program.run(&["config", "validate"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("exec.path_append: ") && ran.stderr.contains("has a colon"), "{ran:?}");
    std::fs::rename(&real, program.workspace().join("plain")).unwrap();
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("plain", &link).unwrap();
    assert_eq!(program.run(&["config", "validate"]).code, 0);
    assert!(!program.workspace().join("made").exists());
}

#[test]
fn parity_e10_what_directs_programs_or_holds_keys_is_not_passed_on() {
    assert_eq!(
        exec("environment = [\"CARGO_TERM_COLOR\", \"_X1\", \"_X1\"]").environment,
        ["CARGO_TERM_COLOR", "_X1"]
    );
    for (names, why) in [
        (&["LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES"][..], "loader"),
        (
            &[
                "BASH_ENV",
                "ENV",
                "BASH_FUNC_ls",
                "SHELLOPTS",
                "PS4",
                "PROMPT_COMMAND",
                "GIT_EXEC_PATH",
                "GIT_SSH_COMMAND",
                "GIT_CONFIG_COUNT",
                "GIT_CONFIG",
                "NODE_OPTIONS",
                "PYTHONSTARTUP",
                "PYTHONPATH",
                "PERL5OPT",
                "RUBYOPT",
                "JAVA_TOOL_OPTIONS",
            ],
            "directs what",
        ),
        (&["SSH_AUTH_SOCK"], "your keys"),
        (&["RINGFENCE_HOME", "RINGFENCE_X"], "this program's own"),
        (
            &[
                "HOME",
                "PATH",
                "USER",
                "LOGNAME",
                "SHELL",
                "LANG",
                "TERM",
                "TMPDIR",
                "PWD",
                "CI",
                "PAGER",
                "EDITOR",
                "VISUAL",
                "GIT_PAGER",
                "GIT_EDITOR",
                "GIT_TERMINAL_PROMPT",
                "MANPAGER",
                "SYSTEMD_PAGER",
                "NO_COLOR",
                "PYTHONUNBUFFERED",
                "TZ",
            ],
            "has it already",
        ),
        (&["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"], "the key of a model service"),
    ] {
        for name in names {
            let refusal = refusal(&format!("environment = [\"{name}\"]"));
            assert!(
                refusal.starts_with(&format!("exec.environment: `{name}` is not passed on: ")),
                "{refusal}"
            );
            assert!(refusal.contains(why), "{refusal}");
        }
    }
    // A key of a service of the user's own is one as well; without that service the name is like any other.
    let service =
        "[providers.work]\nwire = \"chat\"\nbase_url = \"https://a.example\"\nkey = { env = \"WORK_KEY\" }\n";
    let passed = "[exec]\nenvironment = [\"WORK_KEY\"]\n";
    assert!(Config::parse(passed).is_ok());
    for text in [format!("{service}{passed}"), format!("{passed}{service}")] {
        assert!(Config::parse(&text).unwrap_err().contains("holds the key of a model service"));
    }
    for (name, shown) in
        [("A=secret", "`A`"), ("1A", "`1A`"), ("", "``"), ("a b", "`a b`"), ("A\\n", "`A\\n`")]
    {
        let refusal = refusal(&format!("environment = [\"{name}\"]"));
        assert!(refusal.contains(shown) && !refusal.contains("secret"), "{refusal}");
    }
}

/// The same key under another name is the same key. What is not set is no reason to stop.
#[test]
fn a_key_under_another_name_is_not_passed_on() {
    let program = Program::bare();
    program.configure("[exec]\nenvironment = [\"COPY\", \"UNSET\"]\n");
    let validate = |copy: &str| {
        let mut command = program.command();
        command.env("OPENAI_API_KEY", "sk-the-same").env("COPY", copy).args(["config", "validate"]);
        super::support::Ran::of(command.output().unwrap())
    };
    let ran = validate("sk-the-same");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("`COPY` is not passed on: it holds what OPENAI_API_KEY holds"), "{ran:?}");
    assert!(!ran.stderr.contains("sk-the-same"), "{ran:?}");
    assert_eq!(validate("something else").code, 0);
}

#[test]
fn limits_are_bytes_and_times_within_bounds() {
    let read = exec(
        "memory = \"4 GiB\"\nprocesses = 64\nfile_size = 1048576\ndescriptors = 1024\ntemporary = \"64MiB\"\nprocessor = \"2h\"",
    );
    assert_eq!((read.memory, read.processes, read.file_size), (4 << 30, 64, 1 << 20));
    assert_eq!(
        (read.descriptors, read.temporary, read.processor),
        (1024, 64 << 20, Duration::from_secs(7_200))
    );
    assert_eq!(exec("memory = \"17179869184 B\"").memory, 16 << 30);
    for key in ["memory", "file_size", "temporary"] {
        for value in ["0", "-1", "\"2 TiB\"", "\"lots\"", "\"GiB\"", "\"1 GB\"", "1.5", "\"99999999999 TiB\""]
        {
            let refusal = refusal(&format!("{key} = {value}"));
            assert!(refusal.starts_with(&format!("exec.{key}: expected bytes from ")), "{refusal}");
            assert!(refusal.contains("1 TiB") && refusal.contains("\"512 MiB\""), "{refusal}");
        }
    }
    for (key, least, most) in [("processes", 8, 32_768), ("descriptors", 32, 1_048_576)] {
        exec(&format!("{key} = {least}"));
        exec(&format!("{key} = {most}"));
        for value in [least - 1, most + 1, -1] {
            let refusal = refusal(&format!("{key} = {value}"));
            assert!(refusal.contains(&format!("from {least} to {most}")), "{refusal}");
        }
    }
    assert!(refusal("processor = 0").contains("from 1s to 168h"));
}

#[test]
fn what_others_call_a_key_is_understood_as_a_question() {
    for (word, key) in [
        ("allowedEnvKeys", "environment"),
        ("sandboxRoBinds", "read_only"),
        ("sandboxRwBinds", "read_write"),
        ("pathPrepend", "path_prepend"),
        ("pathAppend", "path_append"),
        ("timeout_seconds", "timeout"),
        ("minLevel", "min_level"),
        ("pids", "processes"),
        ("cpu", "processor"),
        ("tmpfs", "temporary"),
        ("memroy", "memory"),
    ] {
        let refusal = refusal(&format!("{word} = 1"));
        assert_eq!(refusal, format!("exec: unknown key `{word}`; did you mean `{key}`?"));
    }
    for word in ["denyPatterns", "allowPatterns", "deny_patterns", "blocked_commands", "whitelist"] {
        let refusal = refusal(&format!("{word} = [\"rm -rf\"]"));
        assert!(refusal.contains("the text of a command is never judged"), "{refusal}");
    }
    for word in ["sandbox", "no_sandbox", "dangerously-no-sandbox", "dangerously_no_sandbox", "unsandboxed"] {
        let refusal = refusal(&format!("{word} = true"));
        assert!(refusal.contains("no configuration takes the sandbox away"), "{refusal}");
    }
    let elsewhere = Config::parse("[shell]\ntimeout = 1\n").unwrap_err();
    assert_eq!(elsewhere, "the file: unknown key `shell`; did you mean `exec`?");
}

#[test]
fn config_show_has_every_key_of_the_table() {
    let program = Program::bare();
    program.configure(
        "[exec]\ntimeout = 0\nmemory = \"1 GiB\"\nread_only = [\"/opt/x\"]\nmin_level = \"full\"\n",
    );
    let ran = program.run(&["config", "show", "--json"]);
    let shown = ran.json();
    let value = |key: &str| (shown[key]["value"].clone(), shown[key]["origin"].as_str().unwrap().to_owned());
    assert_eq!(value("exec.timeout_seconds"), (serde_json::Value::Null, "file".to_owned()));
    assert_eq!(value("exec.memory"), ((1_u64 << 30).into(), "file".to_owned()));
    assert_eq!(value("exec.read_only"), (serde_json::json!(["/opt/x"]), "file".to_owned()));
    assert_eq!(value("exec.min_level"), ("full".into(), "file".to_owned()));
    assert_eq!(value("exec.processes"), (512.into(), "default".to_owned()));
    let keys = ringfence::config::TABLES.iter().find(|(table, _)| *table == "exec").unwrap().1;
    for key in keys {
        let named = shown.as_object().unwrap().keys().any(|shown| shown.starts_with(&format!("exec.{key}")));
        assert!(named, "exec.{key} is not shown");
    }
}

#[test]
fn what_is_not_there_is_left_out_with_a_warning_and_a_file_is_no_directory() {
    let program = Program::bare();
    let gone = program.workspace().join("gone");
    program.configure(&format!("[exec]\nread_only = [{gone:?}]\n"));
    let ran = program.run(&["config", "validate"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("warning: exec.read_only: {} is not there", gone.display())),
        "{ran:?}"
    );
    std::fs::write(&gone, "x").unwrap();
    let ran = program.run(&["config", "validate"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("it is not a directory"), "{ran:?}");
    std::fs::remove_file(&gone).unwrap();
    std::fs::create_dir(&gone).unwrap();
    let ran = program.run(&["config", "validate"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}
