//! Ways out of a command's sandbox, tried by real commands. Each test looks at what happened, not at what was printed alone.

use crate::exec_commands::{Ground, poll, request};
use ringfence::authority::{Access, Level};
use ringfence::exec::{Caller, Commands, ExecError, Feature, Most, Outcome, Place, Request, Settings};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

/// A Python program, which says `refused NAME` of an error and whatever it prints.
fn python(program: &str) -> String {
    format!("/usr/bin/python3 - <<'PROGRAM'\n{program}\nPROGRAM\n")
}

fn moved<'a>(outcome: &'a Outcome, path: &str) -> &'a Path {
    let found = outcome.findings.files.iter().find(|found| found.path == Path::new(path));
    found.and_then(|found| found.moved_to.as_deref()).unwrap_or_else(|| panic!("{path}: {outcome:?}"))
}

#[tokio::test]
async fn escape_026_what_was_absent_and_is_protected_does_not_stay() {
    let ground = Ground::new();
    let line = "mkdir .ringfence .vscode; echo a > .ringfence/settings; echo b > .vscode/tasks.json; echo c > AGENTS.md";
    let outcome = ground.run(&format!("{line}; echo d > .MCP.json; echo e > kept")).await;
    for (path, inside) in
        [(".ringfence", "settings"), (".vscode", "tasks.json"), ("AGENTS.md", ""), (".MCP.json", "")]
    {
        assert!(!ground.workspace.join(path).exists(), "{path}");
        let to = moved(&outcome, path);
        assert!(to.starts_with(ground.outside().join("quarantine")), "{}", to.display());
        assert!(to.join(inside).exists() || to.exists());
    }
    assert!(ground.workspace.join("kept").exists(), "nothing else is touched");
}

#[tokio::test]
async fn escape_028_a_protected_link_holds_and_comes_back() {
    let ground = Ground::new();
    fs::create_dir(ground.workspace.join("decoy")).unwrap();
    fs::write(ground.workspace.join("decoy/f"), "old").unwrap();
    symlink("decoy", ground.workspace.join(".ringfence")).unwrap();
    let outcome = ground.run("echo new > .ringfence/f; echo new > decoy/f; mv decoy d2; true").await;
    assert_eq!(fs::read_to_string(ground.workspace.join("decoy/f")).unwrap(), "old", "{outcome:?}");
    ground.run("rm .ringfence; mkdir .ringfence; echo x > .ringfence/settings").await;
    assert_eq!(fs::read_link(ground.workspace.join(".ringfence")).unwrap(), Path::new("decoy"));
    assert!(!ground.workspace.join("decoy/settings").exists());
}

fn repository(ground: &Ground) {
    fs::create_dir_all(ground.workspace.join("sub/.git/hooks")).unwrap();
    fs::create_dir_all(ground.workspace.join(".git/hooks")).unwrap();
    for git in [".git", "sub/.git"] {
        fs::write(ground.workspace.join(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(ground.workspace.join(git).join("config"), "[core]\n").unwrap();
    }
}

#[tokio::test]
async fn escape_029_what_leads_to_a_protected_place_cannot_be_moved_away() {
    let ground = Ground::new();
    repository(&ground);
    for (git, attempt) in [
        (".git", "mv .git g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit"),
        (".git", "mv .git/hooks h; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"),
        (".git", "rm -rf .git; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"),
        (".git", "echo x > .GIT/hooks/pre-commit; echo x >> .git/config; ln -f /bin/sh .git/config"),
        ("sub/.git", "mv sub s2; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit"),
        ("sub/.git", "echo x >> sub/.git/config; chmod 777 sub/.git/config; touch sub/.git/hooks/post-merge"),
        (
            "sub/.git",
            "/usr/bin/python3 -c \"import os; os.rename('sub/.git','x')\"; cp /bin/sh sub/.git/hooks/x",
        ),
    ] {
        let outcome = ground.run(attempt).await;
        let git = ground.workspace.join(git);
        assert_eq!(fs::read_to_string(git.join("config")).unwrap(), "[core]\n", "{attempt}: {outcome:?}");
        assert_eq!(fs::read_dir(git.join("hooks")).unwrap().count(), 0, "{attempt}: {outcome:?}");
    }
    // What is beside them works as ever.
    ground.run("echo y > .git/index; echo z > sub/file; mkdir sub/new && mv sub/file sub/new/").await;
    assert!(ground.workspace.join(".git/index").exists() && ground.workspace.join("sub/new/file").exists());
}

#[tokio::test]
async fn escape_031_another_run_lifts_no_protection() {
    let ground = Ground::new();
    repository(&ground);
    let asked =
        Request { yield_after: Some(Duration::ZERO), ..request("read a; echo x > .git/hooks/pre-commit") };
    let session = ground.ask(asked).await.unwrap().session.unwrap();
    ground.run("true").await;
    let input = ringfence::exec::Input { text: "\n".to_owned(), ..poll(&session) };
    let ended = ground.commands.interact("cli:a", input).await.unwrap();
    assert_ne!(ended.exit_code, Some(0));
    assert!(!ground.workspace.join(".git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn escape_035_a_repository_that_is_new_runs_nothing() {
    let ground = Ground::new();
    let line = "git init -q new && printf '[core]\\n\\tfsmonitor = touch /tmp/x\\n' > new/.git/config && \
                printf '#!/bin/sh\\n' > new/.git/hooks/pre-commit; \
                mkdir -p bare/objects bare/refs; echo 'ref: refs/heads/main' > bare/HEAD; \
                printf '[core]\\n\\tfsmonitor = touch /tmp/x\\n' > bare/config";
    let outcome = ground.run(line).await;
    for path in ["new/.git/config", "new/.git/hooks/pre-commit", "bare/config"] {
        assert!(!ground.workspace.join(path).exists(), "{path}: {outcome:?}");
        moved(&outcome, path);
    }
    assert!(ground.workspace.join("new/.git/HEAD").exists());
}

#[tokio::test]
async fn escape_046_files_that_run_elsewhere_are_told() {
    let ground = Ground::new();
    fs::write(ground.workspace.join("build.rs"), "fn main() {}").unwrap();
    fs::write(ground.workspace.join("conftest.py"), "").unwrap();
    let line = "echo '//' >> build.rs; mkdir -p .github/workflows .cargo; echo a > .github/workflows/ci.yml; \
                echo b > .cargo/config.toml; echo c > Makefile; echo d > plain.txt";
    let outcome = ground.run(line).await;
    let told: Vec<(&str, bool)> =
        outcome.findings.files.iter().map(|found| (found.path.to_str().unwrap(), found.changed)).collect();
    for wanted in [
        ("build.rs", true),
        (".github/workflows/ci.yml", false),
        (".cargo/config.toml", false),
        ("Makefile", false),
    ] {
        assert!(told.contains(&wanted), "{wanted:?} in {told:?}");
    }
    assert!(!told.iter().any(|(path, _)| ["plain.txt", "conftest.py"].contains(path)), "{told:?}");
}

async fn neither_home_nor_state_is_there() {
    let root = tempfile::tempdir().unwrap();
    let real = root.path().canonicalize().unwrap();
    fs::create_dir(real.join("state")).unwrap();
    fs::write(real.join("state/secret"), "hidden").unwrap();
    let ground = Ground::with(|settings| Settings { state: vec![real.join("state")], ..settings });
    let line = format!(
        "cat {0}/state/secret; ls {0}; ls -A ~; cat ~/.ssh/* ~/.config/ringfence/config.toml; ls /root",
        real.display()
    );
    let outcome = ground.run(&line).await;
    assert_eq!(outcome.stdout, "", "{outcome:?}");
}

#[tokio::test]
async fn escape_016_neither_home_nor_state_is_there() {
    neither_home_nor_state_is_there().await;
}

#[tokio::test]
async fn escape_047_neither_home_nor_state_is_there() {
    neither_home_nor_state_is_there().await;
}

#[tokio::test]
async fn escape_017_a_link_leads_to_what_the_view_has() {
    let ground = Ground::new();
    fs::write(ground.outside().join("secret"), "hidden").unwrap();
    symlink(ground.outside().join("secret"), ground.workspace.join("link")).unwrap();
    let outcome = ground.run("cat link; x=link; cat \"$x\"; cat $(printf %s link); echo y > link").await;
    assert_eq!(outcome.stdout, "");
    assert_eq!(fs::read_to_string(ground.outside().join("secret")).unwrap(), "hidden");
}

#[tokio::test]
async fn escape_049_every_way_to_start_has_the_same_walls() {
    let ground = Ground::new();
    let look = "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|CapPrm):' /proc/self/status; id -u; \
                for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done";
    let plain = ground.run(look).await.stdout;
    assert!(plain.contains("NoNewPrivs:\t1") && plain.contains("Seccomp:\t2"), "{plain}");
    assert!(plain.contains("CapBnd:\t0000000000000000") && plain.contains("\n1000\n"), "{plain}");
    let terminal = ground.ask(Request { terminal: true, ..request(look) }).await.unwrap().stdout;
    let session = Request { yield_after: Some(Duration::from_secs(30)), ..request(look) };
    let session = ground.ask(session).await.unwrap().stdout;
    let shell = ground.ask(Request { shell: Some("sh".to_owned()), ..request(look) }).await.unwrap().stdout;
    for other in [&terminal, &session, &shell] {
        let fixed = |text: &str| text.lines().take(6).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(fixed(&plain), fixed(other));
    }
    for kind in ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"] {
        let own = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        for text in [&plain, &terminal, &session, &shell] {
            assert!(
                text.contains(&format!("{kind}:[")) && !text.contains(own.to_str().unwrap()),
                "{kind}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn escape_050_sockets_of_daemons_are_not_there() {
    let ground = Ground::new();
    let socket = ground.outside().join("daemon.sock");
    let daemon = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    daemon.set_nonblocking(true).unwrap();
    let line = python(&format!(
        "import socket\nfor path in ['{}','/run/docker.sock','/var/run/docker.sock','/run/dbus/system_bus_socket','/tmp/.X11-unix/X0']:\n \
         s=socket.socket(socket.AF_UNIX)\n try:\n  s.connect(path); print('connected',path)\n except OSError as e: print('no')",
        socket.display()
    ));
    let outcome = ground.run(&line).await;
    assert_eq!(outcome.stdout, "no\n".repeat(5), "{outcome:?}");
    assert!(daemon.accept().is_err(), "nobody came");
}

async fn no_family_of_sockets_but_the_local_one() {
    let ground = Ground::new();
    let line = python(
        "import socket,errno\nfor f in range(0,46):\n if f==1: continue\n for t in (1,2,3,5):\n  try:\n   socket.socket(f,t); print('made',f,t)\n  \
         except OSError as e:\n   if e.errno!=errno.EAFNOSUPPORT: print('other',f,t,e)\n\
         try: socket.getaddrinfo('example.com',80); print('resolved')\nexcept OSError: print('unresolved')\n\
         a,b=socket.socketpair(); a.send(b'x'); print(b.recv(1))",
    );
    assert_eq!(ground.run(&line).await.stdout, "unresolved\nb'x'\n");
    let abstracts = python(
        "import socket\ns=socket.socket(socket.AF_UNIX)\ntry: s.connect('\\0ringfence-test'); print('connected')\nexcept OSError as e: print('no')",
    );
    use std::os::linux::net::SocketAddrExt as _;
    let name = std::os::unix::net::SocketAddr::from_abstract_name("ringfence-test").unwrap();
    let _listens = std::os::unix::net::UnixListener::bind_addr(&name).unwrap();
    assert_eq!(ground.run(&abstracts).await.stdout, "no\n");
}

#[tokio::test]
async fn escape_052_no_family_of_sockets_but_the_local_one() {
    no_family_of_sockets_but_the_local_one().await;
}

#[tokio::test]
async fn escape_055_no_family_of_sockets_but_the_local_one() {
    no_family_of_sockets_but_the_local_one().await;
}

#[tokio::test]
async fn escape_056_no_family_of_sockets_but_the_local_one() {
    no_family_of_sockets_but_the_local_one().await;
}

#[tokio::test]
async fn escape_118_no_family_of_sockets_but_the_local_one() {
    no_family_of_sockets_but_the_local_one().await;
}

#[tokio::test]
async fn escape_058_only_its_own_processes_are_there() {
    let ground = Ground::new();
    let outcome = ground
        .run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; ls -d /proc/[0-9]* | wc -l; cat /proc/1/environ")
        .await;
    assert!(!outcome.stdout.contains("exec_escapes"), "{outcome:?}");
    let count: u32 = outcome.stdout.lines().last().unwrap().trim().parse().unwrap();
    assert!(count <= 6, "{outcome:?}");
    let kill = ground.run("kill -9 1; kill -STOP 1; kill -9 -1; echo alive").await;
    assert_ne!(kill.exit_code, None, "{kill:?}");
}

#[tokio::test]
async fn escape_059_nothing_is_typed_for_a_terminal() {
    let ground = Ground::new();
    let line = python(
        "import fcntl\nfor n in (0x5412,0x541C,0x5423):\n try: fcntl.ioctl(0,n,b'x'); print('done')\n except OSError as e: print(e.errno)",
    );
    let program = line.replace("/usr/bin/python3 - <<'PROGRAM'\n", "").replace("\nPROGRAM\n", "");
    fs::write(ground.workspace.join("t.py"), program).unwrap();
    let asked = Request { terminal: true, ..request("/usr/bin/python3 t.py") };
    assert_eq!(ground.ask(asked).await.unwrap().stdout, "1\n1\n1\n");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn escape_061_calls_by_other_numbers_end_the_process() {
    let ground = Ground::new();
    let line = "cat > t.c <<'E'\n#include <unistd.h>\n#include <sys/syscall.h>\n\
                int main(int c,char**v){ if(c>1){ __asm__ volatile(\"int $0x80\"::\"a\"(20)); } else syscall(0x40000000|39); write(1,\"alive\",5); return 0; }\nE\n\
                gcc t.c -o t; ./t; echo \" $?\"; ./t x; echo \" $?\"";
    let outcome = ground.run(line).await;
    assert_eq!(outcome.stdout, " 159\n 159\n", "{outcome:?}");
}

async fn nobody_becomes_more_than_they_are() {
    let ground = Ground::new();
    let line = "su -c id </dev/null; mount -o remount,rw / ; mount -t tmpfs x /tmp; umount /proc; unshare -Ur id; unshare -m id; \
                nsenter -t 1 -m id; chroot . id; newuidmap 1 0 0 1; echo x > /usr/x; echo x > /etc/passwd; touch /x; \
                chmod 777 /usr/bin/env; rm -f /bin/sh; find / -xdev -perm -4000 -exec {} \\; </dev/null";
    let outcome = ground.run(line).await;
    assert!(!outcome.stdout.contains("uid="), "{outcome:?}");
    assert!(!Path::new("/usr/x").exists() && !Path::new("/x").exists() && Path::new("/bin/sh").exists());
}

#[tokio::test]
async fn escape_062_nobody_becomes_more_than_they_are() {
    nobody_becomes_more_than_they_are().await;
}

#[tokio::test]
async fn escape_064_nobody_becomes_more_than_they_are() {
    nobody_becomes_more_than_they_are().await;
}

#[tokio::test]
async fn escape_065_devices_are_not_made() {
    let ground = Ground::new();
    let outcome = ground.run("mknod a b 8 0; mknod c c 1 1; mkfifo f && echo fifo; ls /dev; head -c 1 /dev/kvm /dev/mem /dev/fuse").await;
    assert!(outcome.stdout.starts_with("fifo\n"), "{outcome:?}");
    assert!(!ground.workspace.join("a").exists() && !ground.workspace.join("c").exists());
    for device in ["kvm", "mem", "fuse", "sda", "vda", "console"] {
        assert!(!outcome.stdout.lines().any(|line| line == device), "{device}");
    }
}

#[tokio::test]
async fn escape_068_what_was_replaced_is_not_mounted() {
    let ground = Ground::new();
    fs::create_dir(ground.outside().join("victim")).unwrap();
    fs::write(ground.outside().join("victim/config"), "theirs").unwrap();
    repository(&ground);
    fs::remove_dir_all(ground.workspace.join(".git/hooks")).unwrap();
    symlink(ground.outside().join("victim"), ground.workspace.join(".git/hooks")).unwrap();
    ground.run("echo x > .git/hooks/config; cat .git/hooks/config > got; true").await;
    assert_eq!(fs::read_to_string(ground.outside().join("victim/config")).unwrap(), "theirs");
    assert!(fs::read_to_string(ground.workspace.join("got")).unwrap_or_default().is_empty());
    let link = ground.outside().join("alias");
    symlink(ground.outside().join("victim"), &link).unwrap();
    let caller =
        Caller { owner: "x".to_owned(), places: vec![Place { path: link, access: Access::ReadWrite }] };
    let refused = ground.commands.run(&caller, request("touch in")).await.unwrap_err();
    assert!(matches!(refused, ExecError::Place { .. }), "{refused:?}");
    assert!(!ground.outside().join("victim/in").exists());
}

#[tokio::test]
async fn escape_071_whatever_is_run_has_the_same_limits() {
    let ground = Ground::new();
    fs::write(ground.outside().join("secret"), "hidden").unwrap();
    let secret = ground.outside().join("secret");
    let secret = secret.display();
    let line = format!(
        "/proc/self/root/usr/bin/cat {secret}; cp /usr/bin/cat c; ./c {secret}; /lib64/ld-linux-x86-64.so.2 /usr/bin/cat {secret}; \
         /usr/bin/python3 -c \"import subprocess; subprocess.run(['cat','{secret}'])\"; env -S 'sh -c \"cat {secret}\"'"
    );
    let outcome = ground.run(&line).await;
    assert_eq!(outcome.stdout, "", "{outcome:?}");
}

#[tokio::test]
async fn escape_073_a_machine_without_walls_runs_nothing() {
    let ladder: [(&[Feature], Option<Level>); 6] = [
        (&[], Some(Level::Full)),
        (&[Feature::ControlGroup], Some(Level::NoCgroup)),
        (&[Feature::Landlock], Some(Level::NoLandlock)),
        (&[Feature::UserNamespace], Some(Level::NoUserns)),
        (&[Feature::Namespaces], None),
        (&[Feature::Seccomp], None),
    ];
    for (masked, expected) in ladder {
        let mut ground = Ground::new();
        ground.commands = ground.commands.masking(masked);
        let ran = ground.ask(request("echo here > ran; cat /root/.bashrc; echo x > /usr/x")).await;
        match expected {
            Some(level) => {
                let outcome = ran.unwrap();
                assert_eq!(outcome.level, level, "{masked:?}");
                assert!(ground.workspace.join("ran").exists(), "{masked:?}: {outcome:?}");
                assert!(!Path::new("/usr/x").exists() && outcome.stdout.is_empty(), "{outcome:?}");
            }
            None => {
                let refused = ran.unwrap_err();
                assert!(matches!(refused, ExecError::Walls { .. } | ExecError::TooLow { .. }), "{refused:?}");
                assert!(refused.to_string().contains("ringfence doctor sandbox"), "{refused}");
                assert!(!ground.workspace.join("ran").exists(), "{masked:?}");
            }
        }
    }
    // Lower than that only where the person says so, and then the walls that there are hold.
    let mut ground = Ground::with(|settings| Settings { least: Level::Landlock, ..settings });
    ground.commands = ground.commands.masking(&[Feature::Namespaces]);
    repository(&ground);
    let outside = ground.outside().join("outside");
    let line = format!(
        "echo x > .git/hooks/pre-commit; echo x >> .git/config; echo y > ran; echo z > {}; cat /root/.bashrc",
        outside.display()
    );
    let outcome = ground.ask(request(&line)).await.unwrap();
    assert_eq!(outcome.level, Level::Landlock);
    assert!(ground.workspace.join("ran").exists() && !outside.exists(), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert_eq!(fs::read_to_string(ground.workspace.join(".git/config")).unwrap(), "[core]\n", "{outcome:?}");
    assert!(!ground.workspace.join(".git/hooks/pre-commit").exists(), "{outcome:?}");
}

#[tokio::test]
async fn escape_076_memory_is_bounded() {
    let most = Most { memory: 128 << 20, temporary: 16 << 20, ..Most::default() };
    for masked in [&[][..], &[Feature::ControlGroup][..]] {
        let mut ground = Ground::with(|settings| Settings { most, ..settings });
        ground.commands = ground.commands.masking(masked);
        let outcome = ground.run(&python("x=bytearray(2<<30)\nprint(len(x))")).await;
        assert_ne!(outcome.exit_code, Some(0), "{outcome:?}");
        assert_eq!(outcome.stdout, "");
        let filled = ground.run("head -c 64M /dev/zero > /tmp/x || echo full; head -c 64M /dev/zero > /dev/shm/x || echo full").await;
        assert!(filled.stdout.contains("full") || filled.ended_because.is_some(), "{filled:?}");
    }
}

#[tokio::test]
async fn escape_077_processes_are_bounded() {
    let most = Most { processes: 64, ..Most::default() };
    let ground = Ground::with(|settings| Settings { most, ..settings });
    let program = "import os,time\nn=0\ntry:\n while n<5000:\n  if os.fork()==0: time.sleep(60); os._exit(0)\n  n+=1\nexcept OSError: pass\nprint(n)";
    let outcome = ground.run(&python(program)).await;
    let made: u32 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
    assert!((10..=66).contains(&made), "{made}");
    // Where there is no control group, the namespace itself has a bound.
    let mut ground = Ground::with(|settings| Settings { most, ..settings });
    ground.commands = ground.commands.masking(&[Feature::ControlGroup]);
    let outcome = ground.run(&python(program)).await;
    let made: u32 = outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{outcome:?}"));
    assert!((10..=301).contains(&made), "{made}");
}

#[tokio::test]
async fn escape_080_floods_are_bounded() {
    let ground = Ground::new();
    for line in
        ["head -c 4G /dev/zero", "yes | head -n 100000000", "cat /dev/urandom", "tr '\\0' x < /dev/zero"]
    {
        let outcome = ground.run(line).await;
        assert!(
            outcome.ended_because.as_deref().is_some_and(|why| why.contains("64 MiB")),
            "{line}: {outcome:?}"
        );
        assert!(outcome.stdout.chars().count() < 11_000);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 2 << 20, "{peak} KiB");
}

#[tokio::test]
async fn escape_082_a_file_is_bounded() {
    let most = Most { file: 1 << 20, ..Most::default() };
    let ground = Ground::with(|settings| Settings { most, ..settings });
    let outcome =
        ground.run("fallocate -l 500G x; head -c 4M /dev/zero > y; truncate -s 1T z; ls -s x y z").await;
    assert_ne!(outcome.exit_code, None);
    for name in ["x", "y", "z"] {
        let size = fs::metadata(ground.workspace.join(name)).map_or(0, |about| about.len());
        assert!(size <= 1 << 20, "{name}: {size}");
    }
}

#[tokio::test]
async fn escape_083_the_kernels_own_files_tell_and_take_nothing() {
    let ground = Ground::new();
    let line = "ls /sys; head -c 16 /proc/kcore; head -n 1 /proc/kallsyms; cat /proc/timer_list /proc/keys | head -n 1; \
                echo 1 > /proc/sys/kernel/panic; echo b > /proc/sysrq-trigger; echo x > /proc/sys/kernel/core_pattern; \
                ls /sys/fs/cgroup; echo done";
    let outcome = ground.run(line).await;
    assert_eq!(outcome.stdout, "done\n", "{outcome:?}");
    let old = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    assert_ne!(old.trim(), "x");
}

async fn text_is_never_judged_and_gets_nowhere() {
    let ground = Ground::new();
    let outside = ground.outside().join("victim");
    fs::write(&outside, "alive").unwrap();
    let victim = outside.display();
    for line in [
        format!("ls && rm -f {victim}"),
        format!("ls > {victim}"),
        format!("echo $[ x='a[$(rm {victim})]', x ]"),
        format!("cat < <(sh < <(echo rm -f {victim}))"),
        format!("find . -exec rm -f {victim} \\;"),
        format!("echo '#'; rm -rf {victim}"),
        format!("# harmless\nrm -rf {victim}"),
        format!("sed -n 'w {victim}' /etc/passwd"),
        format!("awk 'BEGIN {{ system(\"rm -f {victim}\") }}'"),
        format!("echo x | xargs -I{{}} rm -f {victim}"),
        format!("tar cf - . | tar xf - --to-command='rm -f {victim}'"),
    ] {
        ground.run(&line).await;
        assert_eq!(fs::read_to_string(&outside).unwrap(), "alive", "{line}");
    }
}

#[tokio::test]
async fn escape_085_text_is_never_judged_and_gets_nowhere() {
    text_is_never_judged_and_gets_nowhere().await;
}

#[tokio::test]
async fn escape_086_text_is_never_judged_and_gets_nowhere() {
    text_is_never_judged_and_gets_nowhere().await;
}

#[tokio::test]
async fn escape_092_text_is_never_judged_and_gets_nowhere() {
    text_is_never_judged_and_gets_nowhere().await;
}

#[tokio::test]
async fn escape_097_text_is_never_judged_and_gets_nowhere() {
    text_is_never_judged_and_gets_nowhere().await;
}

async fn each_command_starts_anew() {
    let ground = Ground::new();
    ground.run("export PAGER=evil PATH=/evil; cd /tmp; alias ls=evil; echo touch evil > ~/.bashrc; echo evil > ~/.profile").await;
    let outcome = ground
        .run("echo \"$PAGER\"; pwd; ls -A ~; head -c 9 $HOME/.ssh/id_rsa /etc/shadow; echo \"$PATH\"")
        .await;
    assert!(outcome.stdout.starts_with(&format!("cat\n{}\n/", ground.workspace.display())), "{outcome:?}");
    assert!(!outcome.stdout.contains("evil"), "{outcome:?}");
}

#[tokio::test]
async fn escape_088_each_command_starts_anew() {
    each_command_starts_anew().await;
}

#[tokio::test]
async fn escape_089_each_command_starts_anew() {
    each_command_starts_anew().await;
}

#[tokio::test]
async fn escape_095_each_command_starts_anew() {
    each_command_starts_anew().await;
}

#[tokio::test]
async fn what_is_not_to_be_written_is_not_and_the_grant_flips_it() {
    let ground = Ground::new();
    for (access, written) in [(Access::ReadOnly, false), (Access::ReadWrite, true)] {
        let place = Place { path: ground.workspace.clone(), access };
        let caller = Caller { owner: "cli:a".to_owned(), places: vec![place] };
        let outcome = ground.commands.run(&caller, request("echo x > made")).await.unwrap();
        assert_eq!(outcome.exit_code == Some(0), written, "{outcome:?}");
        assert_eq!(ground.workspace.join("made").exists(), written);
    }
    let beside = ground.outside().join("beside");
    fs::create_dir(&beside).unwrap();
    let line = format!("echo x > {}/made", beside.display());
    assert_ne!(ground.run(&line).await.exit_code, Some(0));
    let mut caller = ground.caller("cli:a");
    caller.places.push(Place { path: beside.clone(), access: Access::ReadWrite });
    assert_eq!(ground.commands.run(&caller, request(&line)).await.unwrap().exit_code, Some(0));
    assert!(beside.join("made").exists());
}

#[tokio::test]
async fn real_work_gets_done() {
    let ground = Ground::new();
    let outcome = ground
        .run("git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git status --short && git log --oneline | wc -l")
        .await;
    assert_eq!((outcome.exit_code, outcome.stdout.trim()), (Some(0), "1"), "{outcome:?}");
    let outcome = ground.run("printf 'int main(){return 7;}' > a.c && gcc a.c -o a && ./a; echo $?").await;
    assert_eq!(outcome.stdout, "7\n", "{outcome:?}");
    let outcome = ground.run("/usr/bin/python3 -c 'print(6*7)'").await;
    assert_eq!(outcome.stdout, "42\n", "{outcome:?}");
    let outcome = ground
        .run("mkdir many; cd many; seq 1000 | xargs touch; ls | wc -l; find . -type f | sort | head -n 1")
        .await;
    assert_eq!(outcome.stdout, "1000\n./1\n", "{outcome:?}");
}

#[tokio::test]
async fn two_hundred_at_once_leave_nothing() {
    let ground = Ground::new();
    ground.run("true").await;
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let commands: &Commands = &ground.commands;
    let caller = ground.caller("cli:a");
    let all = (0..200).map(|n| {
        let caller = caller.clone();
        async move { commands.run(&caller, request(&format!("echo {n}"))).await.unwrap() }
    });
    for (n, outcome) in futures_util::future::join_all(all).await.into_iter().enumerate() {
        assert_eq!((outcome.stdout, outcome.exit_code), (format!("{n}\n"), Some(0)));
    }
    ground.run("true").await;
    // Other tests of this process open and close their own meanwhile.
    assert!(descriptors() < before + 100, "{before} {}", descriptors());
}

/// Nothing outside of the workspace is read or written, whatever a shell makes of the text.
async fn gets_nowhere(lines: &[&str]) {
    let ground = Ground::new();
    let victim = ground.outside().join("victim");
    fs::write(&victim, "alive").unwrap();
    symlink(&victim, ground.workspace.join("link")).unwrap();
    for line in lines {
        let line = line.replace("OUT", victim.to_str().unwrap());
        let outcome = ground.run(&line).await;
        assert!(!outcome.stdout.contains("alive"), "{line}: {outcome:?}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "alive", "{line}");
    }
}

#[tokio::test]
async fn parity_e16_a_quoted_hash_hides_nothing() {
    gets_nowhere(&["echo \"#\"; rm -rf OUT", "echo '#'; rm -rf OUT # not", "rm -rf \\\n OUT"]).await;
}

#[tokio::test]
async fn parity_e22_paths_outside_in_any_syntax() {
    gets_nowhere(&[
        "cat<OUT",
        "(cat OUT)",
        "{ cat OUT; }",
        "cat \"OUT\"",
        "x=OUT; cat $x",
        "cat 'OUT",
        "cat /OUT",
        "cat //OUT",
    ])
    .await;
}

#[tokio::test]
async fn parity_e23_tildes_lead_to_an_empty_home() {
    gets_nowhere(&[
        "cat ~/.ssh/id_rsa",
        "ls -A ~ | grep .",
        "cat ~root/.bashrc",
        "cd /tmp && cat ~-/../victim",
        "cat ~+/../victim",
    ])
    .await;
    let ground = Ground::new();
    fs::write(ground.workspace.join("file"), "here").unwrap();
    assert_eq!(ground.run("cat ~+/file").await.stdout, "here");
}

#[tokio::test]
async fn parity_e26_a_link_by_an_expansion() {
    gets_nowhere(&["cat $(printf %s link)", "sh -c \"x=link;cat \\$x\"", "cat `echo link`", "cat l*k"]).await;
    let ground = Ground::new();
    fs::write(ground.workspace.join("file"), "here").unwrap();
    assert_eq!(ground.run("cat $(printf %s file)").await.stdout, "here");
}

#[tokio::test]
async fn parity_e13_the_hosts_own_files_are_not_there() {
    neither_home_nor_state_is_there().await;
}

#[tokio::test]
async fn parity_e25_texts_that_look_like_paths_are_texts() {
    let ground = Ground::new();
    let line = "echo https://h/outside/file '?next=/etc/passwd' host:/etc/passwd C:/x";
    assert_eq!(
        ground.run(line).await.stdout,
        "https://h/outside/file ?next=/etc/passwd host:/etc/passwd C:/x\n"
    );
}

#[tokio::test]
async fn parity_e19_no_address_is_reached() {
    no_family_of_sockets_but_the_local_one().await;
}

#[tokio::test]
async fn parity_e29_the_view_holds_the_workspace_and_nothing_beside_it() {
    let ground = Ground::new();
    fs::write(ground.outside().join("beside"), "x").unwrap();
    let outcome = ground.run("ls -A ..; touch /tmp/t && ls /tmp; pwd").await;
    let name = ground.workspace.file_name().unwrap().to_str().unwrap();
    assert!(outcome.stdout.starts_with(&format!("{name}\n")), "{outcome:?}");
    assert!(outcome.stdout.ends_with(&format!("{}\n", ground.workspace.display())), "{outcome:?}");
    assert!(!Path::new("/tmp/t").exists());
}

#[tokio::test]
async fn escape_137_a_command_session_is_no_others() {
    let ground = Ground::new();
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let asked = Request { yield_after: Some(Duration::ZERO), ..request("cat") };
        ids.insert(ground.ask(asked).await.unwrap().session.unwrap());
    }
    assert_eq!(ids.len(), 4);
    for id in ids.iter().map(String::as_str).chain(["-1", "0", "1", "../x", ""]) {
        let refused = ground.commands.interact("cli:b", poll(id)).await.unwrap_err();
        assert!(matches!(refused, ExecError::NoSession(_)), "{id}");
    }
}

#[tokio::test]
async fn escape_079_what_is_ended_is_what_is_held() {
    let ground = Ground::new();
    for session in ["-1", "0", "1", "-1; kill -9 1"] {
        let input = ringfence::exec::Input { terminate: true, ..poll(session) };
        let refused = ground.commands.interact("cli:a", input).await.unwrap_err();
        assert!(matches!(refused, ExecError::NoSession(_)), "{session}");
    }
    assert_eq!(ground.run("echo alive").await.stdout, "alive\n");
}

#[tokio::test]
async fn toolchains_that_are_handed_over_work() {
    // The toolchain that builds this: wherever it lies, it is handed over read-only.
    let cargo =
        std::path::PathBuf::from(std::env::var_os("CARGO").unwrap_or_else(|| "/usr/bin/cargo".into()));
    let cargo = cargo.canonicalize().unwrap_or(cargo);
    let toolchain = cargo.parent().and_then(Path::parent).unwrap().to_owned();
    let ground = Ground::with(|settings| Settings {
        places: vec![Place { path: toolchain.clone(), access: Access::ReadOnly }],
        path: (vec![toolchain.join("bin")], Vec::new()),
        ..settings
    });
    let line = "mkdir -p c/src && cd c && printf '[package]\\nname = \"c\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > Cargo.toml && \
                echo 'fn main() { println!(\"built\"); }' > src/main.rs && cargo build -q && ./target/debug/c";
    let mut asked = request(line);
    asked.timeout = Some(Duration::from_secs(300));
    let outcome = ground.ask(asked).await.unwrap();
    assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("built\n", Some(0)), "{outcome:?}");
    assert!(!outcome.findings.files.iter().any(|found| found.moved_to.is_some()), "{outcome:?}");
    if Path::new("/usr/bin/node").exists() {
        let outcome = ground.run("node -e 'console.log(6*7)'").await;
        assert_eq!(outcome.stdout, "42\n", "{outcome:?}");
    }
    let outcome =
        ground.run(&python("import urllib.request\nurllib.request.urlopen('http://example.com')")).await;
    assert!(outcome.stderr.contains("commands have no network: it is not granted"), "{outcome:?}");
}

#[tokio::test]
async fn a_pipeline_over_a_hundred_thousand_files() {
    let ground = Ground::new();
    let line = "for d in $(seq 100); do mkdir $d && (cd $d && seq 1000 | xargs touch); done; find . -type f | wc -l; \
                find . -name '*7' -print0 | xargs -0 cat | wc -c";
    let mut asked = request(line);
    asked.timeout = Some(Duration::from_secs(300));
    assert_eq!(ground.ask(asked).await.unwrap().stdout, "100000\n0\n");
    assert_eq!(ground.run("ls | wc -l").await.stdout, "100\n");
}
