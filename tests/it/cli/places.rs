//! Where the program works and where it never does: directories that hold its own state are not handed over, whatever they
//! are called.

use super::context::Context;
use super::text;
use std::fs;
use std::os::unix::fs::symlink;

const WRITE: [&str; 4] = ["tools", "run", "write_file", "path=planted.txt"];

/// Asserts that a run with these flags, started there, is refused before anything is written.
fn assert_refused(c: &Context, flags: &[&str], start: &str) {
    let typed = [WRITE.as_slice(), &["content=x"], flags].concat();
    let ran: super::context::Ran =
        c.command(&typed).current_dir(c.root().join(start)).output().unwrap().into();
    let stderr = ran.ended(3);
    assert!(stderr.contains("this program keeps its own state"), "{flags:?} in {start}: {stderr}");
    for dir in [start, "home", "home/config", "home/data", "ws", "ws/sub", "alias", "."] {
        assert!(!c.exists(&format!("{dir}/planted.txt")), "{flags:?} in {start}: written in {dir}");
    }
}

#[test]
fn a_workspace_that_has_to_do_with_the_state_is_refused() {
    let c = Context::new();
    for dir in ["home/config/sub", "home/data/sub", "home/data"] {
        fs::create_dir_all(c.root().join(dir)).unwrap();
    }
    symlink(c.root().join("home"), c.root().join("alias")).unwrap();
    symlink(c.root(), c.root().join("ws/up")).unwrap();
    // It contains it, is it, lies in it; by its name, by links to it or to what is around it, and through a process.
    for dir in [
        ".",
        "home",
        "home/config",
        "home/data",
        "home/config/sub",
        "home/data/sub",
        "alias",
        "alias/config",
        "alias/data/sub",
        "ws/up",
        "ws/up/home/data",
        "ws/../home",
    ] {
        let path = c.at(dir);
        assert_refused(&c, &["-C", &path], "ws");
        assert_refused(&c, &["--dir", &path], "ws");
        assert_refused(&c, &["--dir", &format!("{path}:rw")], "ws");
        assert_refused(&c, &[], dir);
    }
    assert_refused(&c, &["-C", "/proc/self/cwd/.."], "ws");
    assert_refused(&c, &["-C", "/"], "ws");
    // A neighbour is none of these.
    let typed = [WRITE.as_slice(), &["content=x"]].concat();
    c.run(&typed).done();
    assert_eq!(c.read("ws/planted.txt"), "x");
}

#[test]
fn links_to_the_state_do_not_move_it_out_of_sight() {
    type Prepare = fn(&Context);
    // Where the home is said to be, and how that leads into the workspace.
    let cases: [(&str, Prepare); 5] = [
        ("link", |c| {
            fs::create_dir_all(c.root().join("ws/sub/state/config")).unwrap();
            symlink(c.root().join("ws/sub/state"), c.root().join("link")).unwrap();
        }),
        // Not there yet: it would be made in the workspace.
        ("link/not-yet", |c| {
            fs::create_dir_all(c.root().join("ws/sub")).unwrap();
            symlink(c.root().join("ws/sub"), c.root().join("link")).unwrap();
        }),
        ("other", |c| {
            fs::create_dir_all(c.root().join("ws/sub/data")).unwrap();
            fs::create_dir_all(c.root().join("other")).unwrap();
            symlink(c.root().join("ws/sub/data"), c.root().join("other/data")).unwrap();
        }),
        ("other", |c| {
            fs::create_dir_all(c.root().join("ws/sub/config")).unwrap();
            fs::create_dir_all(c.root().join("other")).unwrap();
            symlink(c.root().join("ws/sub/config"), c.root().join("other/config")).unwrap();
        }),
        // The file alone: whoever writes it decides about the next run.
        ("other", |c| {
            c.file("ws/sub/dotfiles.toml", "");
            fs::create_dir_all(c.root().join("other/config")).unwrap();
            symlink(c.root().join("ws/sub/dotfiles.toml"), c.root().join("other/config/config.toml"))
                .unwrap();
        }),
    ];
    for (index, (home, prepare)) in cases.into_iter().enumerate() {
        let c = Context::new();
        prepare(&c);
        let typed = [WRITE.as_slice(), &["content=x"]].concat();
        let ran: super::context::Ran =
            c.command(&typed).env("RINGFENCE_HOME", c.root().join(home)).output().unwrap().into();
        let stderr = ran.ended(3);
        assert!(stderr.contains("it contains"), "{index}: {stderr}");
        assert!(!c.exists("ws/planted.txt") && !c.exists("ws/sub/not-yet"), "{index}");
    }
    // The place of compiled code has a variable of its own.
    let c = Context::new();
    fs::create_dir_all(c.root().join("ws/sub")).unwrap();
    symlink(c.root().join("ws/sub"), c.root().join("link")).unwrap();
    for cache in ["link", "link/not-yet"] {
        let typed = [WRITE.as_slice(), &["content=x"]].concat();
        let ran: super::context::Ran =
            c.command(&typed).env("RINGFENCE_CACHE_DIR", c.root().join(cache)).output().unwrap().into();
        assert!(ran.ended(3).contains("it contains"), "{cache}: {ran:?}");
        assert_eq!(fs::read_dir(c.root().join("ws/sub")).unwrap().count(), 0);
    }
}

#[test]
fn a_second_mount_of_the_state_is_refused() {
    let c = Context::new();
    fs::create_dir_all(c.root().join("alias")).unwrap();
    fs::create_dir_all(c.root().join("home/data")).unwrap();
    let in_namespace = |line: &str| {
        let mut command = c.program("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", line]);
        command.output().unwrap()
    };
    let mount = format!("mount --bind '{}' '{}'", c.at("home"), c.at("alias"));
    if !in_namespace(&mount).status.success() {
        // Without the right to mount there is no second name to be had, here or for anybody else.
        return;
    }
    for dir in ["alias", "alias/data"] {
        let run = format!(
            "{mount} && exec ringfence tools run -C '{}' write_file path=planted.txt content=x",
            c.at(dir)
        );
        let ran: super::context::Ran = in_namespace(&run).into();
        assert!(ran.ended(3).contains("this program keeps its own state"), "{dir}: {ran:?}");
    }
    assert!(!c.exists("home/planted.txt") && !c.exists("home/data/planted.txt"));
    let run = format!("{mount} && exec ringfence tools run write_file path=planted.txt content=x");
    let ran: super::context::Ran = in_namespace(&run).into();
    ran.done();
    assert_eq!(c.read("ws/planted.txt"), "x");
}

#[test]
fn a_workspace_that_is_none_is_refused() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    for dir in ["absent", "a.txt"] {
        for flags in [["-C", dir], ["--dir", dir]] {
            let typed = [["tools", "run"].as_slice(), &flags, &["read_file", "path=a.txt"]].concat();
            assert!(c.run(&typed).ended(3).contains(dir), "{flags:?}");
        }
    }
    let ran: super::context::Ran = c
        .command(&["tools", "run", "read_file", "path=a.txt"])
        .env_remove("RINGFENCE_HOME")
        .output()
        .unwrap()
        .into();
    assert!(ran.ended(3).contains("RINGFENCE_HOME"), "{ran:?}");
}

#[test]
fn escape_007_started_in_a_linked_directory_the_real_one_is_the_workspace() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    c.file("outside/secret.txt", "the secret");
    fs::create_dir(c.root().join("elsewhere")).unwrap();
    let link = c.root().join("elsewhere/link");
    symlink(c.workspace(), &link).unwrap();
    symlink("..", c.root().join("ws/ln")).unwrap();
    let run = |typed: &[&str]| -> super::context::Ran {
        let typed = [&["tools", "run"], typed].concat();
        c.command(&typed).current_dir(&link).env("PWD", &link).output().unwrap().into()
    };
    run(&["write_file", "path=new.txt", "content=x"]).done();
    assert_eq!(c.read("ws/new.txt"), "x");
    let real = format!("path={}", c.at("ws/a.txt"));
    assert!(run(&["read_file", &real]).done().contains("1| one"));
    // Neither the parent of the link nor that of the real directory is a part of it.
    for path in
        ["../new.txt", "ln/new.txt", "../link/../new.txt", &c.at("elsewhere/new.txt"), &c.at("new.txt")]
    {
        run(&["write_file", &format!("path={path}"), "content=x"]).ended(5);
    }
    for path in ["ln/outside/secret.txt", "../outside/secret.txt", "../../outside/secret.txt"] {
        assert!(!run(&["read_file", &format!("path={path}")]).ended(5).contains("the secret"));
    }
    assert!(!c.exists("new.txt") && !c.exists("elsewhere/new.txt"));
    // The same by -C, and after the link leads elsewhere the next run is there.
    let typed = ["-C", text(&link), "read_file", "path=a.txt"];
    assert!(run(&typed).done().contains("1| one"));
}
