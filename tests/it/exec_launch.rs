//! The launcher: one command at a time behind real walls.

use ringfence::authority::Access;
use ringfence::exec::{Ended, Job, Launcher, Most, Place, Running, Settings};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ringfence"))
}

pub fn settings(quarantine: &Path) -> Settings {
    Settings { home: Some(PathBuf::from("/root")), ..Settings::of(quarantine.to_owned()) }
}

pub fn job(workspace: &Path, line: &str) -> Job {
    Job {
        argv: ["/bin/sh", "-c", line].map(Into::into).to_vec(),
        directory: workspace.to_owned(),
        environment: [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/root")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        places: vec![Place { path: workspace.to_owned(), access: Access::ReadWrite }],
        most: Most::default(),
        terminal: false,
    }
}

fn all(fd: Option<OwnedFd>) -> String {
    use std::io::Read as _;
    let fd = fd.unwrap();
    let flags = rustix::fs::fcntl_getfl(&fd).unwrap();
    rustix::fs::fcntl_setfl(&fd, flags - rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut text = Vec::new();
    std::fs::File::from(fd).read_to_end(&mut text).unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

pub async fn ended(mut running: Running) -> (Ended, String, String) {
    let ended = running.wait().await;
    (ended, all(running.stdout.take()), all(running.stderr.take()))
}

#[tokio::test]
async fn a_command_runs_behind_every_wall() {
    let ws = tempfile::tempdir().unwrap();
    let path = ws.path().canonicalize().unwrap();
    let launcher = Launcher::new(program());
    eprintln!("{:#?}", launcher.machine().await);
    let line = "id; pwd; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp:'; ls / /dev /proc; mount | wc -l; ls -la ~; echo hi > made; ls -l";
    let running = launcher.start(&settings(&path), &job(&path, line), &[], false).await.unwrap();
    eprintln!("{}", running.level);
    let (end, out, err) = ended(running).await;
    eprintln!("{out}\n{err}");
    assert_eq!(end, Ended::Exited(0));
}
