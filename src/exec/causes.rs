//! From an error to what forbids it: the same number means another thing in a container, under AppArmor, or on an old kernel,
//! and only the right cause leads to a fix that helps.

use super::probe::{Feature, Found, Missing};

/// Capabilities by number, as far as causes depend on them.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SETFCAP: u32 = 31;

/// What a system says of itself, as far as it decides what a sandbox can be made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The kernel's release.
    pub kernel: String,
    /// `user.max_user_namespaces`; `None` where the kernel does not know it.
    pub max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, which Debian's kernels have.
    pub unprivileged_userns_clone: Option<bool>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, which Ubuntu's have.
    pub apparmor_restricts: Option<bool>,
    /// The container that this process runs in, such as `Docker`.
    pub container: Option<String>,
    /// Whether a filter of system calls holds for this process already.
    pub filtered: bool,
    /// Its effective capabilities.
    pub capabilities: u64,
    /// Whether it runs as root.
    pub root: bool,
    /// The security modules that are enabled, where that can be read.
    pub modules: Option<Vec<String>>,
}

impl Facts {
    /// Those of this machine, as this process sees it.
    #[expect(clippy::disallowed_methods, reason = "the kernel's own files, and marks of containers")]
    pub fn read() -> Self {
        Self::from_files(|path| std::fs::read_to_string(path).ok(), rustix::process::geteuid().is_root())
    }

    /// The same from the texts of files. What is not there, or not understood, is not known.
    pub fn from_files(read: impl Fn(&str) -> Option<String>, root: bool) -> Self {
        let sysctl = |path: &str| read(path).and_then(|text| text.trim().parse::<u64>().ok());
        let flag = |path: &str| sysctl(path).map(|value| value != 0);
        let status = read("/proc/self/status").unwrap_or_default();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let modules = read("/sys/kernel/security/lsm");
        Self {
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            max_user_namespaces: sysctl("/proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: flag("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: flag("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            container: container(&read),
            filtered: line("Seccomp:") == Some("2"),
            capabilities: line("CapEff:").and_then(|hex| u64::from_str_radix(hex, 16).ok()).unwrap_or(0),
            root,
            modules: modules.map(|text| text.trim().split(',').map(str::to_owned).collect()),
        }
    }

    fn can(&self, capability: u32) -> bool {
        self.capabilities & (1 << capability) != 0
    }

    fn is_older_than(&self, version: (u32, u32)) -> bool {
        let mut numbers = self.kernel.split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) => (major, minor) < version,
            _ => false,
        }
    }

    fn container_name(&self) -> &str {
        self.container.as_deref().unwrap_or("whoever started this program")
    }

    /// Says why, of everything that is missing and has no fix yet, and what to do.
    pub fn explain(&self, found: &mut [Found]) {
        for Found { feature, state } in found {
            let Err(missing) = state else { continue };
            if missing.fix.is_empty() {
                let known = self.missing(*feature, &missing.step, missing.errno);
                let detail = std::mem::take(&mut missing.cause);
                *missing = known;
                if !detail.is_empty() {
                    missing.cause = format!("{} ({detail})", missing.cause);
                }
            }
        }
    }

    /// Why a feature is missing whose try ended with this error at this step, and what a person can do about it.
    pub fn missing(&self, feature: Feature, step: &str, errno: i32) -> Missing {
        let within =
            matches!(feature, Feature::ReadOnlyMounts | Feature::PrivateProc | Feature::ProcessBound);
        let (cause, fix) = match feature {
            _ if within && (step == "clone" || is_mapping(step)) => (
                "it takes namespaces, and none can be made here".to_owned(),
                "do what is said of user-namespace or namespaces".to_owned(),
            ),
            Feature::UserNamespace => self.user_namespace(step, errno),
            Feature::Namespaces => self.namespaces(step, errno),
            Feature::ReadOnlyMounts => self.mounts(errno),
            Feature::PrivateProc => self.proc(errno),
            Feature::Landlock => self.landlock(step, errno),
            Feature::Seccomp => self.seccomp(errno),
            Feature::ControlGroup => self.control_group(errno),
            Feature::ProcessBound => self.process_bound(errno),
        };
        Missing { errno, step: step.to_owned(), cause, fix }
    }

    fn user_namespace(&self, step: &str, errno: i32) -> (String, String) {
        let mapping = is_mapping(step);
        match errno {
            libc::ENOSPC | libc::EUSERS => match self.max_user_namespaces {
                Some(0) => (
                    "user namespaces are turned off: user.max_user_namespaces is 0".to_owned(),
                    sysctl("user.max_user_namespaces=15000"),
                ),
                most => (
                    format!("there are as many user namespaces as there may be ({})", shown(most)),
                    sysctl("user.max_user_namespaces=60000"),
                ),
            },
            libc::ENOSYS if self.filtered => self.outer_filter(),
            libc::ENOSYS | libc::EINVAL => (
                format!("this kernel ({}) has no user namespaces", self.kernel),
                "use a kernel that is built with CONFIG_USER_NS".to_owned(),
            ),
            libc::EPERM | libc::EACCES if mapping && self.root && !self.can(CAP_SETFCAP) => (
                "root without CAP_SETFCAP cannot be mapped into a user namespace".to_owned(),
                match &self.container {
                    Some(_) => "start the container as another user: `docker run --user 1000`".to_owned(),
                    None => "start this program as another user than root".to_owned(),
                },
            ),
            libc::EPERM | libc::EACCES
                if !mapping && !self.root && self.unprivileged_userns_clone == Some(false) =>
            {
                (
                    "only root may make user namespaces: kernel.unprivileged_userns_clone is 0".to_owned(),
                    sysctl("kernel.unprivileged_userns_clone=1"),
                )
            }
            libc::EPERM if !mapping && self.filtered => self.outer_filter(),
            libc::EPERM | libc::EACCES if !self.root && self.apparmor_restricts == Some(true) => {
                self.apparmor()
            }
            libc::EPERM | libc::EACCES => self.unknown_refusal(),
            _ => unknown(),
        }
    }

    fn namespaces(&self, step: &str, errno: i32) -> (String, String) {
        match errno {
            libc::EPERM | libc::EACCES if !self.root => (
                "it takes a user namespace, or root".to_owned(),
                "do what is said of user-namespace".to_owned(),
            ),
            libc::ENOSPC | libc::EUSERS => (
                "there are as many namespaces of a kind as there may be".to_owned(),
                "look at the numbers: `sysctl -a --pattern ^user.max_`".to_owned(),
            ),
            libc::EINVAL => (
                format!("this kernel ({}) lacks a kind of namespace", self.kernel),
                "use a kernel that is built with CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and \
                 CONFIG_CGROUPS"
                    .to_owned(),
            ),
            libc::EPERM if self.root && !self.can(CAP_SYS_ADMIN) && !self.filtered => (
                "this process is root without CAP_SYS_ADMIN".to_owned(),
                self.privileged("--cap-add SYS_ADMIN"),
            ),
            _ => self.user_namespace(step, errno),
        }
    }

    fn mounts(&self, errno: i32) -> (String, String) {
        match errno {
            libc::ENOSYS | libc::EINVAL if self.is_older_than((5, 12)) => {
                self.too_old("mount_setattr", "5.12")
            }
            libc::ENOSYS if self.filtered => self.outer_filter(),
            libc::ENOSYS => self.too_old("mount_setattr", "5.12"),
            libc::EPERM | libc::EACCES if self.filtered => self.outer_filter(),
            libc::EPERM | libc::EACCES if self.container.is_some() => (
                format!("the AppArmor profile of {} forbids mounts", self.container_name()),
                self.privileged("--security-opt apparmor=unconfined"),
            ),
            libc::EPERM | libc::EACCES if !self.root && self.apparmor_restricts == Some(true) => {
                self.apparmor()
            }
            libc::EPERM | libc::EACCES => self.unknown_refusal(),
            _ => unknown(),
        }
    }

    fn proc(&self, errno: i32) -> (String, String) {
        match errno {
            libc::EPERM | libc::EACCES if self.container.is_some() => (
                format!("{} covers parts of /proc, and a new one would show them", self.container_name()),
                self.privileged("--security-opt systempaths=unconfined"),
            ),
            libc::EPERM | libc::EACCES if !self.root && self.apparmor_restricts == Some(true) => {
                self.apparmor()
            }
            libc::EPERM | libc::EACCES => (
                "something is mounted below /proc, and a new one would show what it covers".to_owned(),
                "look at what is mounted there: `findmnt --submounts /proc`".to_owned(),
            ),
            libc::ENODEV => (
                "this kernel has no /proc".to_owned(),
                "use a kernel that is built with CONFIG_PROC_FS".to_owned(),
            ),
            _ => unknown(),
        }
    }

    fn landlock(&self, step: &str, errno: i32) -> (String, String) {
        match errno {
            // It is there, in a version that lets files be cut that may only be read.
            _ if step == "version" => self.too_old("a version of Landlock that knows truncation (3)", "6.2"),
            libc::EOPNOTSUPP => {
                let others = self.modules.as_deref().unwrap_or_default().join(",");
                let list =
                    if others.is_empty() { "landlock,…".to_owned() } else { format!("landlock,{others}") };
                (
                    "this kernel has Landlock, and it was not enabled when it started".to_owned(),
                    format!("add lsm={list} to the kernel's command line, and start the machine again"),
                )
            }
            libc::ENOSYS if self.is_older_than((5, 13)) => self.too_old("Landlock", "5.13, better 6.2"),
            libc::ENOSYS | libc::EPERM | libc::EACCES if self.filtered => self.outer_filter(),
            libc::ENOSYS => (
                format!("this kernel ({}) was built without Landlock", self.kernel),
                "use a kernel that is built with CONFIG_SECURITY_LANDLOCK".to_owned(),
            ),
            libc::EPERM | libc::EACCES => self.unknown_refusal(),
            _ => unknown(),
        }
    }

    fn seccomp(&self, errno: i32) -> (String, String) {
        match errno {
            libc::EPERM | libc::EACCES | libc::ENOSYS if self.filtered => self.outer_filter(),
            libc::EINVAL | libc::ENOSYS => (
                format!("this kernel ({}) cannot filter system calls", self.kernel),
                "use a kernel that is built with CONFIG_SECCOMP_FILTER".to_owned(),
            ),
            libc::EPERM | libc::EACCES => self.unknown_refusal(),
            _ => unknown(),
        }
    }

    fn control_group(&self, errno: i32) -> (String, String) {
        let delegated = || {
            let user = if self.root { "systemd-run" } else { "systemd-run --user" };
            format!("start this program in a group of its own: `{user} --scope -p Delegate=yes ringfence`")
        };
        match (errno, &self.container) {
            (0 | libc::EROFS | libc::EACCES | libc::EPERM | libc::ENOENT, Some(name)) => (
                format!("{name} gives this program no control group that it can divide"),
                "start the container with one: `docker run --cgroupns=private --privileged`; or leave it: memory is \
                 watched instead, and limits hold for each process"
                    .to_owned(),
            ),
            (libc::EACCES | libc::EPERM | libc::EROFS, None) => (
                "the control group of this program is not its own to divide".to_owned(),
                delegated(),
            ),
            (libc::EBUSY, _) => {
                ("other processes are in the control group of this program".to_owned(), delegated())
            }
            (0 | libc::ENOENT | libc::ENODEV, None) => (
                "there is no control group with the controllers memory and pids".to_owned(),
                delegated(),
            ),
            _ => unknown(),
        }
    }

    fn process_bound(&self, errno: i32) -> (String, String) {
        match errno {
            libc::EACCES | libc::EPERM | libc::ENOENT | libc::EROFS | libc::EINVAL
                if self.is_older_than((6, 14)) =>
            {
                self.too_old("a bound on processes for each process namespace", "6.14")
            }
            libc::EACCES | libc::EPERM | libc::EROFS if self.container.is_some() => (
                format!("{} makes /proc/sys read-only", self.container_name()),
                self.privileged("--security-opt systempaths=unconfined"),
            ),
            libc::EACCES | libc::EPERM => self.unknown_refusal(),
            _ => unknown(),
        }
    }

    /// A filter that stands around this whole program already.
    fn outer_filter(&self) -> (String, String) {
        (
            format!("a seccomp filter of {} forbids it", self.container_name()),
            self.privileged("--security-opt seccomp=unconfined"),
        )
    }

    fn apparmor(&self) -> (String, String) {
        (
            "AppArmor lets nobody use what a user namespace gives: kernel.apparmor_restrict_unprivileged_userns is 1"
                .to_owned(),
            format!("{}, or give this program a profile with the rule `userns,`", sysctl("kernel.apparmor_restrict_unprivileged_userns=0")),
        )
    }

    fn too_old(&self, what: &str, since: &str) -> (String, String) {
        (format!("this kernel ({}) has not {what}", self.kernel), format!("use Linux {since} or later"))
    }

    /// How a container is started so that it forbids less.
    fn privileged(&self, option: &str) -> String {
        match self.container.as_deref() {
            Some("Podman") => format!("start the container with it allowed: `podman run {option}`"),
            Some("Kubernetes") => {
                "let the pod's securityContext allow it: seccompProfile and appArmorProfile of type Unconfined, \
                 procMount: Unmasked, capabilities as needed"
                    .to_owned()
            }
            Some(_) => format!("start the container with it allowed: `docker run {option}`"),
            None => "start this program outside of what confines it".to_owned(),
        }
    }

    fn unknown_refusal(&self) -> (String, String) {
        let modules = match self.modules.as_deref() {
            Some(modules) if !modules.is_empty() => format!(" ({})", modules.join(", ")),
            _ => String::new(),
        };
        (
            format!("the system forbids it: a security module{modules}, or a changed root directory"),
            "look at what the kernel says: `sudo dmesg`".to_owned(),
        )
    }
}

/// Whether a step comes after a user namespace was made, and before it is of use.
fn is_mapping(step: &str) -> bool {
    ["map", "groups", "loopback"].iter().any(|part| step.contains(part))
}

fn sysctl(setting: &str) -> String {
    format!("type `sudo sysctl -w {setting}`")
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "the number is not known".to_owned(), |number| number.to_string())
}

fn unknown() -> (String, String) {
    ("the system gives no reason".to_owned(), "look at what the kernel says: `sudo dmesg`".to_owned())
}

/// Which container this process is in, by the marks that they leave.
fn container(read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let named = |mark: &str| groups.lines().any(|line| line.contains(mark));
    let name = if named("kubepods") {
        "Kubernetes"
    } else if read("/.dockerenv").is_some() || named("/docker") {
        "Docker"
    } else if read("/run/.containerenv").is_some() || named("libpod") {
        "Podman"
    } else if named("/lxc") {
        "LXC"
    } else {
        let other = read("/run/systemd/container")?;
        return Some(other.trim().to_owned()).filter(|name| !name.is_empty());
    };
    Some(name.to_owned())
}

impl Missing {
    /// The error by its name, where it was one.
    pub fn errno_name(&self) -> Option<String> {
        let name = match self.errno {
            0 => return None,
            libc::EPERM => "EPERM",
            libc::ENOENT => "ENOENT",
            libc::EIO => "EIO",
            libc::EAGAIN => "EAGAIN",
            libc::ENOMEM => "ENOMEM",
            libc::EACCES => "EACCES",
            libc::EFAULT => "EFAULT",
            libc::EBUSY => "EBUSY",
            libc::EEXIST => "EEXIST",
            libc::ENODEV => "ENODEV",
            libc::ENOTDIR => "ENOTDIR",
            libc::EINVAL => "EINVAL",
            libc::ENOSPC => "ENOSPC",
            libc::EROFS => "EROFS",
            libc::ERANGE => "ERANGE",
            libc::ENOSYS => "ENOSYS",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::EUSERS => "EUSERS",
            other => return Some(format!("error {other}")),
        };
        Some(name.to_owned())
    }
}
