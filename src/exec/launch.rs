//! From a job to a process behind walls: the one constructor that every native command goes through.

use super::ExecError;
use super::causes::Facts;
use super::groups::{Group, Groups};
use super::guard::Pin;
use super::launcher::LAUNCHER;
use super::places::refuse_opened;
use super::probe::{Feature, Found, Machine, Missing};
use super::spec::{Ended, Job, Place, Settings};
use super::wire::{self, Ending, Mounted, Namespaces, Order, Plan, Report, Word};
use crate::authority::{Access, Level};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::unix::AsyncFd;
use tokio::sync::OnceCell;

/// How long setting up may take, at most.
const SET_UP: Duration = Duration::from_secs(20);

/// A command that runs. When it is dropped, all its processes are ended.
#[derive(Debug)]
pub struct Running {
    /// Which walls stand around it.
    pub level: Level,
    /// Where its output comes: non-blocking. With a terminal, everything comes here, and input goes here.
    pub stdout: Option<OwnedFd>,
    /// Where its errors come.
    pub stderr: Option<OwnedFd>,
    /// Where input goes.
    pub stdin: Option<OwnedFd>,
    socket: AsyncFd<OwnedFd>,
    handle: AsyncFd<OwnedFd>,
    group: Option<Group>,
    /// Its home, where it has none in a view. It goes with this.
    own: Option<TempDir>,
    /// What its first process told of the end; `None` within when it told nothing.
    told: Option<Option<Ending>>,
    ended: Option<Ended>,
}

impl Running {
    /// Waits for the end of its first process; what it started is ended with it. It can be dropped and asked for again.
    pub async fn wait(&mut self) -> Ended {
        if let Some(ended) = self.ended {
            return ended;
        }
        while self.told.is_none() {
            match hear(&self.socket).await {
                Ok(Some((Report::Ended(ending), _))) => self.told = Some(Some(ending)),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => {
                    self.told = Some(None);
                    self.kill();
                }
            }
        }
        let report = self.told.flatten();
        if report.is_none() {
            // Readable once the first process is gone, and with it everything in its namespace. One that told of the end has ended
            // everything before, and leaves by itself.
            let _ = self.handle.readable().await;
        }
        let short = self.group.as_ref().is_some_and(Group::ran_out);
        let ended = match report {
            Some(Ending::Memory) => Ended::OutOfMemory,
            Some(Ending::Exited(code)) => Ended::Exited(code),
            Some(Ending::Signalled(9)) | None if short => Ended::OutOfMemory,
            Some(Ending::Signalled(signal)) => Ended::Signalled(signal),
            None => Ended::Killed,
        };
        self.group = None;
        self.own = None;
        self.ended = Some(ended);
        ended
    }

    /// Asks it to end (SIGTERM to everything that it started).
    pub fn ask_to_end(&self) {
        // Where it is gone already, there is nothing to ask.
        let _ = wire::send(self.socket.get_ref(), &Word::Terminate, &[]);
    }

    /// Ends it and everything that it started, at once.
    pub fn kill(&self) {
        if self.level > Level::Landlock {
            // Its first process is the first of a namespace: the kernel ends the others with it.
            let _ = rustix::process::pidfd_send_signal(self.handle.get_ref(), rustix::process::Signal::KILL);
        } else {
            // Its first process looks for the others, and ends them before itself.
            let _ = rustix::net::shutdown(self.socket.get_ref(), rustix::net::Shutdown::Both);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill();
        }
    }
}

/// Starts processes behind walls.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    masked: Vec<Feature>,
    process: Mutex<Option<Process>>,
    found: OnceCell<(Machine, Option<Arc<Groups>>)>,
}

/// The launcher's process. It ends when its orders end.
#[derive(Debug)]
struct Process {
    orders: OwnedFd,
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = rustix::net::shutdown(&self.orders, rustix::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

impl Launcher {
    /// With this program's own binary.
    pub fn new(program: PathBuf) -> Self {
        Self { program, masked: Vec::new(), process: Mutex::default(), found: OnceCell::new() }
    }

    /// The same on a machine without these features.
    #[must_use]
    pub fn masking(self, masked: &[Feature]) -> Self {
        Self { masked: masked.to_vec(), found: OnceCell::new(), ..self }
    }

    /// Another one, on a machine without these features.
    pub(super) fn anew(&self, masked: &[Feature]) -> Self {
        Self::new(self.program.clone()).masking(masked)
    }

    /// Which walls would stand around a command.
    ///
    /// # Errors
    ///
    /// When none would that is allowed.
    pub async fn level(&self, settings: &Settings) -> Result<Level, ExecError> {
        level(settings, &self.found().await?.0)
    }

    /// What this machine can do. It is tried out once.
    ///
    /// # Errors
    ///
    /// When that cannot even be tried.
    pub async fn machine(&self) -> Result<&Machine, ExecError> {
        Ok(&self.found().await?.0)
    }

    async fn found(&self) -> Result<&(Machine, Option<Arc<Groups>>), ExecError> {
        self.found
            .get_or_try_init(|| async {
                let (ours, theirs) = wire::pair().map_err(|error| setup("socket", &error))?;
                self.order(Order::Probe, &[theirs.as_fd()])?;
                drop(theirs);
                let ours = watched(ours).map_err(|error| setup("socket", &error))?;
                let heard = tokio::time::timeout(SET_UP, hear(&ours)).await;
                let Ok(Ok(Some((Report::Machine(mut features), _)))) = heard else {
                    return Err(ExecError::Walls {
                        reason: "what there is could not be tried out".to_owned(),
                    });
                };
                let groups = Groups::find().map(Arc::new);
                features.push(Found {
                    feature: Feature::ControlGroup,
                    state: match &groups {
                        Ok(groups) => Ok(groups.kind().to_owned()),
                        Err(error) => Err(Missing {
                            errno: error.raw_os_error().unwrap_or(0),
                            step: "group".to_owned(),
                            cause: String::new(),
                            fix: String::new(),
                        }),
                    },
                });
                features.sort_by_key(|found| found.feature);
                features.dedup_by_key(|found| found.feature);
                Facts::read().explain(&mut features);
                let mut machine = Machine { kernel: kernel(), features }.without(&self.masked);
                if self.masked.contains(&Feature::UserNamespace) && !rustix::process::geteuid().is_root() {
                    // Only root makes the others without it.
                    machine = machine.without(&[
                        Feature::Namespaces,
                        Feature::ReadOnlyMounts,
                        Feature::PrivateProc,
                    ]);
                }
                let groups = groups.ok().filter(|_| machine.has(Feature::ControlGroup));
                Ok((machine, groups))
            })
            .await
    }

    /// Starts a job. `input` says whether somebody will write to it. `pins` are below the job's first place where they are
    /// relative, and otherwise below one of the others.
    ///
    /// # Errors
    ///
    /// When the walls cannot be set up; nothing of the job has run then.
    pub async fn start(
        &self,
        settings: &Settings,
        job: &Job,
        pins: &[Pin],
        input: bool,
    ) -> Result<Running, ExecError> {
        let (machine, groups) = self.found().await?;
        let level = level(settings, machine)?;
        let group = match groups {
            Some(groups) => Some(Groups::make(groups, &job.most).map_err(|error| setup("group", &error))?),
            None => None,
        };
        let mut plan = plan(settings, job, pins, level, group.is_some())?;
        // Without a view there is no place of its own for it, unless one is made.
        let own = if level == Level::Landlock { Some(home_of_its_own(&mut plan)?) } else { None };
        let streams = Streams::new(job.terminal, input).map_err(|error| setup("streams", &error))?;
        let (ours, theirs) = wire::pair().map_err(|error| setup("socket", &error))?;
        let file = wire::write_plan(&plan).map_err(|error| setup("plan", &error))?;
        let birthplace = group.as_ref().and_then(Group::birthplace);
        let doors = group.as_ref().map(Group::doors).transpose().map_err(|error| setup("group", &error))?;
        let doors = doors.unwrap_or_default();
        let order =
            Order::Run { namespaces: plan.namespaces, group: birthplace.is_some(), doors: doors.len() };
        let [stdin, stdout, stderr] = &streams.theirs;
        let mut with = vec![theirs.as_fd(), file.as_fd(), stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        with.extend(birthplace.as_ref().map(|group| group.as_fd()));
        with.extend(doors.iter().map(|door| door.as_fd()));
        self.order(order, &with)?;
        drop(theirs);
        let ours = watched(ours).map_err(|error| setup("socket", &error))?;
        let starting = Starting { socket: ours, group, own, level };
        let [stdin, stdout, stderr] = streams.ours;
        // Ours alone are open from here on, so that the end of theirs is seen.
        drop(streams.theirs);
        match tokio::time::timeout(SET_UP, starting.go([stdin, stdout, stderr])).await {
            Ok(started) => started,
            Err(_) => {
                Err(ExecError::Setup { step: "time".to_owned(), problem: "it took too long".to_owned() })
            }
        }
    }

    fn order(&self, order: Order, with: &[BorrowedFd<'_>]) -> Result<(), ExecError> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = process.as_ref() {
            if wire::send(&running.orders, &order, with).is_ok() {
                return Ok(());
            }
            // It is gone; another one does as well.
            *process = None;
        }
        let started = self.launch().map_err(|error| setup("launcher", &error))?;
        wire::send(&started.orders, &order, with).map_err(|error| setup("launcher", &error))?;
        *process = Some(started);
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    fn launch(&self) -> io::Result<Process> {
        let (ours, theirs) = wire::pair()?;
        let mut command = Command::new(&self.program);
        command.arg(LAUNCHER).env_clear().stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Process { child: command.spawn()?, orders: ours })
    }
}

/// A command between the order and its first instruction.
struct Starting {
    socket: AsyncFd<OwnedFd>,
    group: Option<Group>,
    own: Option<TempDir>,
    level: Level,
}

impl Starting {
    async fn go(self, [stdin, mut stdout, stderr]: [Option<OwnedFd>; 3]) -> Result<Running, ExecError> {
        let mut handle = None;
        loop {
            let heard = hear(&self.socket).await.map_err(|error| setup("socket", &error))?;
            match heard {
                Some((Report::Born { .. }, mut with)) => {
                    handle = with.pop();
                    wire::send(self.socket.get_ref(), &Word::Go, &[]).map_err(|error| setup("go", &error))?;
                }
                Some((Report::Terminal, mut with)) => {
                    stdout = with.pop();
                    if let Some(master) = &stdout {
                        set_nonblocking(master).map_err(|error| setup("terminal", &error))?;
                    }
                }
                Some((Report::Ready, _)) => break,
                Some((Report::Failed { step, errno, detail }, _)) => {
                    return Err(failed(step, errno, &detail));
                }
                Some(_) => {}
                None => {
                    let problem = "its first process ended".to_owned();
                    return Err(ExecError::Setup { step: "start".to_owned(), problem });
                }
            }
        }
        let Some(handle) = handle else {
            let problem = "there is no handle on it".to_owned();
            return Err(ExecError::Setup { step: "start".to_owned(), problem });
        };
        let handle = super::watch::readable(handle).map_err(|error| setup("handle", &error))?;
        let Self { socket, group, own, level } = self;
        Ok(Running { level, stdout, stderr, stdin, socket, handle, group, own, told: None, ended: None })
    }
}

/// The ends of a command's streams, on both sides.
struct Streams {
    theirs: [OwnedFd; 3],
    ours: [Option<OwnedFd>; 3],
}

impl Streams {
    fn new(terminal: bool, input: bool) -> io::Result<Self> {
        let nothing = || {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY;
            Ok::<_, io::Error>(rustix::fs::open("/dev/null", flags, Mode::empty())?)
        };
        let pipe = || Ok::<_, io::Error>(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?);
        if terminal {
            return Ok(Self { theirs: [nothing()?, nothing()?, nothing()?], ours: [None, None, None] });
        }
        let (stdin, write) = if input {
            let (read, write) = pipe()?;
            set_nonblocking(&write)?;
            (read, Some(write))
        } else {
            (nothing()?, None)
        };
        let ((out, stdout), (errors, stderr)) = (pipe()?, pipe()?);
        set_nonblocking(&out)?;
        set_nonblocking(&errors)?;
        Ok(Self { theirs: [stdin, stdout, stderr], ours: [write, Some(out), Some(errors)] })
    }
}

fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

fn watched(socket: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    set_nonblocking(&socket)?;
    super::watch::readable(socket)
}

async fn hear(socket: &AsyncFd<OwnedFd>) -> io::Result<Option<(Report, Vec<OwnedFd>)>> {
    loop {
        let mut ready = socket.readable().await?;
        if let Ok(heard) = ready.try_io(|socket| wire::receive::<Report>(socket.get_ref())) {
            return heard;
        }
    }
}

/// Which walls stand, or why none do.
fn level(settings: &Settings, machine: &Machine) -> Result<Level, ExecError> {
    if settings.unsandboxed {
        return Ok(Level::Unsandboxed);
    }
    let reason = || match machine.first_missing() {
        Some((feature, missing)) => {
            let Missing { errno, step, cause, .. } = missing;
            let error = if *errno == 0 {
                String::new()
            } else {
                format!(", {}", io::Error::from_raw_os_error(*errno))
            };
            let cause = if cause.is_empty() { String::new() } else { format!(": {cause}") };
            format!("no {} ({step}{error}){cause}", feature.name())
        }
        None => "nothing is missing".to_owned(),
    };
    let Some(level) = machine.level() else { return Err(ExecError::Walls { reason: reason() }) };
    if level < settings.least {
        return Err(ExecError::TooLow { level, least: settings.least, reason: reason() });
    }
    Ok(level)
}

/// Everything that is decided of a job.
fn plan(settings: &Settings, job: &Job, pins: &[Pin], level: Level, group: bool) -> Result<Plan, ExecError> {
    let mut places = Vec::new();
    let mut owner = (0, 0);
    for (index, place) in job.places.iter().enumerate() {
        let (there, of) = place_of(place)?;
        if index == 0 {
            owner = of;
        }
        let pins = pins.iter().filter_map(|pin| {
            let whole = job.places.first().map(|first| first.path.join(&pin.path))?;
            // The innermost place that holds it.
            let holder = job.places.iter().filter(|place| whole.starts_with(&place.path));
            let holder = holder.max_by_key(|place| place.path.components().count())?;
            let path = whole.strip_prefix(&place.path).ok().filter(|_| holder.path == place.path)?;
            Some(Pin { path: path.to_owned(), ..pin.clone() })
        });
        places.push(Mounted { pins: pins.collect(), ..there });
    }
    refuse_opened(settings, places.iter().map(|place| (place.path.as_path(), place.identity)))?;
    let namespaces = match level {
        Level::Unsandboxed | Level::Landlock => Namespaces::None,
        Level::NoUserns => Namespaces::AsRoot,
        Level::NoLandlock | Level::NoCgroup | Level::Full => Namespaces::All,
    };
    let bytes = |text: &std::ffi::OsString| text.as_bytes().to_vec();
    Ok(Plan {
        namespaces,
        landlock: !matches!(level, Level::Unsandboxed | Level::NoLandlock),
        filters: level != Level::Unsandboxed,
        group,
        home: settings.home_within(&job.places),
        places,
        argv: job.argv.iter().map(bytes).collect(),
        directory: job.directory.clone(),
        environment: job.environment.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
        most: job.most,
        terminal: job.terminal,
        outside: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        owner,
    })
}

/// A directory that is a command's own, as its home and for what is temporary.
fn home_of_its_own(plan: &mut Plan) -> Result<TempDir, ExecError> {
    let own = TempDir::with_prefix("ringfence-").map_err(|error| setup("home", &error))?;
    let path = crate::config::canonical(own.path()).map_err(|error| setup("home", &error))?;
    for (name, value) in &mut plan.environment {
        if matches!(name.as_slice(), b"HOME" | b"TMPDIR") {
            *value = path.as_os_str().as_bytes().to_vec();
        }
    }
    plan.home = path;
    Ok(own)
}

/// A place as it is now, and whose it is.
fn place_of(place: &Place) -> Result<(Mounted, (u32, u32)), ExecError> {
    let problem = |problem: String| ExecError::Place { path: place.path.clone(), problem };
    if place.path == Path::new("/") || !place.path.is_absolute() {
        return Err(problem("no command is given the whole system".to_owned()));
    }
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let there = rustix::fs::openat2(rustix::fs::CWD, &place.path, how, Mode::empty(), plain)
        .map_err(|error| problem(error.to_string()))?;
    let about = rustix::fs::fstat(&there).map_err(|error| problem(error.to_string()))?;
    let mounted = Mounted {
        path: place.path.clone(),
        identity: (about.st_dev, about.st_ino),
        writable: place.access == Access::ReadWrite,
        pins: Vec::new(),
    };
    Ok((mounted, (about.st_uid, about.st_gid)))
}

fn setup(step: &str, error: &io::Error) -> ExecError {
    ExecError::Setup { step: step.to_owned(), problem: error.to_string() }
}

fn failed(step: String, errno: i32, detail: &str) -> ExecError {
    if matches!(step.as_str(), "pin-changed" | "place-changed") {
        return ExecError::Changed(detail.to_owned());
    }
    let error = io::Error::from_raw_os_error(errno);
    let problem = if detail.is_empty() { error.to_string() } else { format!("{detail}: {error}") };
    ExecError::Setup { step, problem }
}

/// The kernel's release.
fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
