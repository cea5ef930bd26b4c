//! From an error to what forbids it: the same number means another thing on another machine.

use clap::Parser as _;
use ringfence::cli::Arguments;
use ringfence::exec::{Facts, Feature, Missing};
use std::collections::BTreeMap;

/// Files of a machine on which nothing is forbidden.
fn open() -> BTreeMap<&'static str, String> {
    [
        ("/proc/sys/kernel/osrelease", "6.18.1-generic\n"),
        ("/proc/sys/user/max_user_namespaces", "96365\n"),
        ("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\n"),
        ("/proc/self/cgroup", "0::/user.slice/user-1000.slice/session-1.scope\n"),
        ("/sys/kernel/security/lsm", "capability,landlock,yama,apparmor\n"),
    ]
    .map(|(path, text)| (path, text.to_owned()))
    .into()
}

fn facts(changes: &[(&'static str, &str)], root: bool) -> Facts {
    let mut files = open();
    files.extend(changes.iter().map(|(path, text)| (*path, (*text).to_owned())));
    Facts::from_files(|path| files.get(path).cloned().filter(|text| text != "(gone)"), root)
}

const FILTERED: (&str, &str) = ("/proc/self/status", "CapEff:\t00000000a80425fb\nSeccomp:\t2\n");
const DOCKER: (&str, &str) = ("/.dockerenv", "");
const OLD: &str = "/proc/sys/kernel/osrelease";
const UBUNTU: (&str, &str) = ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
const DEBIAN: (&str, &str) = ("/proc/sys/kernel/unprivileged_userns_clone", "0\n");

/// A machine, what was tried there, and what has to be said of it.
struct Row {
    files: &'static [(&'static str, &'static str)],
    root: bool,
    tried: (Feature, &'static str, i32),
    cause: &'static str,
    fix: &'static str,
}

const fn row(
    files: &'static [(&'static str, &'static str)],
    root: bool,
    tried: (Feature, &'static str, i32),
    cause: &'static str,
    fix: &'static str,
) -> Row {
    Row { files, root, tried, cause, fix }
}

use Feature::{
    ControlGroup, Landlock, Namespaces, PrivateProc, ProcessBound, ReadOnlyMounts, Seccomp, UserNamespace,
};

const ROWS: &[Row] = &[
    // User namespaces.
    row(
        &[FILTERED, DOCKER],
        true,
        (UserNamespace, "clone", libc::EPERM),
        "a seccomp filter of Docker",
        "docker run --security-opt seccomp=unconfined",
    ),
    row(
        &[FILTERED, DOCKER],
        true,
        (UserNamespace, "clone", libc::ENOSYS),
        "a seccomp filter of Docker",
        "docker run --security-opt seccomp=unconfined",
    ),
    row(
        &[FILTERED, ("/run/.containerenv", "engine=\"podman-5\"\n")],
        false,
        (UserNamespace, "clone", libc::EPERM),
        "a seccomp filter of Podman",
        "podman run --security-opt seccomp=unconfined",
    ),
    row(
        &[FILTERED, ("/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/x\n")],
        true,
        (UserNamespace, "clone", libc::EPERM),
        "a seccomp filter of Kubernetes",
        "securityContext",
    ),
    row(
        &[FILTERED],
        false,
        (UserNamespace, "clone", libc::EPERM),
        "a seccomp filter of whoever started this program",
        "outside of what confines it",
    ),
    row(
        &[UBUNTU],
        false,
        (UserNamespace, "uid-map", libc::EPERM),
        "AppArmor",
        "apparmor_restrict_unprivileged_userns=0",
    ),
    row(&[UBUNTU], false, (UserNamespace, "uid-map", libc::EACCES), "AppArmor", "the rule `userns,`"),
    row(
        &[UBUNTU],
        false,
        (UserNamespace, "loopback", libc::EPERM),
        "AppArmor",
        "restrict_unprivileged_userns=0",
    ),
    row(
        &[UBUNTU],
        false,
        (ReadOnlyMounts, "mount", libc::EACCES),
        "AppArmor",
        "restrict_unprivileged_userns=0",
    ),
    // A filter that refuses the clone comes before what would refuse what follows it.
    row(
        &[UBUNTU, FILTERED, DOCKER],
        false,
        (UserNamespace, "clone", libc::EPERM),
        "seccomp",
        "seccomp=unconfined",
    ),
    row(
        &[("/proc/sys/user/max_user_namespaces", "0\n")],
        false,
        (UserNamespace, "clone", libc::ENOSPC),
        "user.max_user_namespaces is 0",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    row(
        &[],
        false,
        (UserNamespace, "clone", libc::ENOSPC),
        "as many user namespaces as there may be (96365)",
        "sysctl -w",
    ),
    row(&[], false, (UserNamespace, "clone", libc::EUSERS), "as many user namespaces", "sysctl -w"),
    row(
        &[DEBIAN],
        false,
        (UserNamespace, "clone", libc::EPERM),
        "kernel.unprivileged_userns_clone is 0",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    // It binds nobody who is root.
    row(&[DEBIAN], true, (UserNamespace, "clone", libc::EPERM), "a security module", "dmesg"),
    row(
        &[DOCKER, ("/proc/self/status", "CapEff:\t0000000000200000\nSeccomp:\t0\n")],
        true,
        (UserNamespace, "uid-map", libc::EPERM),
        "CAP_SETFCAP",
        "docker run --user 1000",
    ),
    row(&[], true, (UserNamespace, "uid-map", libc::EPERM), "CAP_SETFCAP", "another user than root"),
    row(
        &[(OLD, "3.7.1\n")],
        false,
        (UserNamespace, "clone", libc::EINVAL),
        "(3.7.1) has no user namespaces",
        "CONFIG_USER_NS",
    ),
    row(&[], false, (UserNamespace, "clone", libc::ENOSYS), "has no user namespaces", "CONFIG_USER_NS"),
    row(
        &[],
        false,
        (UserNamespace, "clone", libc::EPERM),
        "(capability, landlock, yama, apparmor)",
        "sudo dmesg",
    ),
    row(&[], false, (UserNamespace, "clone", libc::EIO), "no reason", "sudo dmesg"),
    // The other namespaces.
    row(
        &[DOCKER],
        true,
        (Namespaces, "clone", libc::EPERM),
        "root without CAP_SYS_ADMIN",
        "docker run --cap-add SYS_ADMIN",
    ),
    row(
        &[FILTERED, DOCKER],
        true,
        (Namespaces, "clone", libc::EPERM),
        "a seccomp filter of Docker",
        "seccomp=unconfined",
    ),
    row(
        &[FILTERED, DOCKER],
        false,
        (Namespaces, "clone", libc::EPERM),
        "a user namespace, or root",
        "said of user-namespace",
    ),
    row(&[], false, (Namespaces, "clone", libc::ENOSPC), "as many namespaces of a kind", "sysctl -a"),
    row(&[], false, (Namespaces, "clone", libc::EINVAL), "lacks a kind of namespace", "CONFIG_NET_NS"),
    // Mounts.
    row(
        &[(OLD, "5.10.0-28-amd64\n")],
        false,
        (ReadOnlyMounts, "mount-attr", libc::ENOSYS),
        "(5.10.0-28-amd64) has not mount_setattr",
        "Linux 5.12",
    ),
    row(&[FILTERED, DOCKER], true, (ReadOnlyMounts, "mount", libc::EPERM), "seccomp", "seccomp=unconfined"),
    row(
        &[DOCKER],
        true,
        (ReadOnlyMounts, "mount", libc::EACCES),
        "the AppArmor profile of Docker",
        "apparmor=unconfined",
    ),
    // A view of processes.
    row(
        &[DOCKER],
        true,
        (PrivateProc, "proc", libc::EPERM),
        "Docker covers parts of /proc",
        "systempaths=unconfined",
    ),
    row(&[], false, (PrivateProc, "proc", libc::EPERM), "mounted below /proc", "findmnt --submounts /proc"),
    // Landlock.
    row(&[(OLD, "5.4.0\n")], false, (Landlock, "landlock", libc::ENOSYS), "(5.4.0) has not Landlock", "5.13"),
    row(
        &[],
        false,
        (Landlock, "landlock", libc::ENOSYS),
        "built without Landlock",
        "CONFIG_SECURITY_LANDLOCK",
    ),
    row(
        &[FILTERED, DOCKER],
        false,
        (Landlock, "landlock", libc::ENOSYS),
        "seccomp filter of Docker",
        "seccomp=unconfined",
    ),
    row(
        &[("/sys/kernel/security/lsm", "capability,yama,apparmor\n")],
        false,
        (Landlock, "landlock", libc::EOPNOTSUPP),
        "not enabled when it started",
        "lsm=landlock,capability,yama,apparmor",
    ),
    row(
        &[("/sys/kernel/security/lsm", "(gone)")],
        false,
        (Landlock, "landlock", libc::EOPNOTSUPP),
        "not enabled",
        "lsm=landlock,…",
    ),
    row(
        &[(OLD, "5.19.2\n")],
        false,
        (Landlock, "version", libc::ENOSYS),
        "knows truncation (3)",
        "Linux 6.2",
    ),
    // Filters of system calls.
    row(&[], false, (Seccomp, "filter", libc::EINVAL), "cannot filter system calls", "CONFIG_SECCOMP_FILTER"),
    row(
        &[FILTERED, DOCKER],
        false,
        (Seccomp, "filter", libc::EPERM),
        "seccomp filter of Docker",
        "seccomp=unconfined",
    ),
    // What has no chance without namespaces is not blamed on anything of its own.
    row(
        &[DOCKER],
        true,
        (ReadOnlyMounts, "clone", libc::EPERM),
        "it takes namespaces",
        "said of user-namespace",
    ),
    row(
        &[UBUNTU],
        false,
        (PrivateProc, "uid-map", libc::EPERM),
        "it takes namespaces",
        "said of user-namespace",
    ),
    // Control groups.
    row(
        &[],
        false,
        (ControlGroup, "group", libc::EACCES),
        "not its own to divide",
        "systemd-run --user --scope -p Delegate=yes ringfence",
    ),
    row(
        &[],
        true,
        (ControlGroup, "group", libc::EACCES),
        "not its own to divide",
        "systemd-run --scope -p Delegate=yes ringfence",
    ),
    row(&[], false, (ControlGroup, "group", libc::EBUSY), "other processes", "systemd-run --user"),
    row(
        &[],
        false,
        (ControlGroup, "group", libc::ENOENT),
        "controllers memory and pids",
        "systemd-run --user",
    ),
    row(
        &[DOCKER],
        true,
        (ControlGroup, "group", libc::EROFS),
        "Docker gives this program no control group",
        "docker run --cgroupns=private",
    ),
    // A bound on processes.
    row(
        &[(OLD, "6.8.0-40-generic\n")],
        false,
        (ProcessBound, "pid-max", libc::EACCES),
        "a bound on processes",
        "Linux 6.14",
    ),
    row(
        &[DOCKER],
        true,
        (ProcessBound, "pid-max", libc::EROFS),
        "Docker makes /proc/sys read-only",
        "systempaths=unconfined",
    ),
];

#[test]
fn escape_073_each_missing_feature_is_told_with_its_own_cause_and_fix() {
    for Row { files, root, tried: (feature, step, errno), cause, fix } in ROWS {
        let missing = facts(files, *root).missing(*feature, step, *errno);
        let at = format!("{} {step} {errno} with {files:?}: {missing:?}", feature.name());
        assert!(missing.cause.contains(cause), "{at}\nlacks {cause}");
        assert!(missing.fix.contains(fix), "{at}\nlacks {fix}");
        assert_eq!((missing.errno, missing.step.as_str()), (*errno, *step));
    }
    for feature in Feature::ALL {
        assert!(ROWS.iter().any(|row| row.tried.0 == feature), "{} has no row", feature.name());
    }
}

/// Every command that is printed as a fix, over everything that can be met.
fn commands() -> Vec<String> {
    let machines: [&[(&str, &str)]; 6] =
        [&[], &[DOCKER], &[FILTERED, DOCKER], &[UBUNTU], &[DEBIAN], &[(OLD, "4.4.0\n")]];
    let mut fixes = Vec::new();
    for (files, root) in machines.into_iter().flat_map(|files| [(files, false), (files, true)]) {
        for feature in Feature::ALL {
            for errno in 0..140 {
                for step in ["clone", "uid-map"] {
                    fixes.push(facts(files, root).missing(feature, step, errno).fix);
                }
            }
        }
    }
    fixes.extend(ROWS.iter().map(|row| {
        let (feature, step, errno) = row.tried;
        facts(row.files, row.root).missing(feature, step, errno).fix
    }));
    fixes
        .iter()
        .flat_map(|fix| fix.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_command_that_is_printed_is_one() {
    let commands: std::collections::BTreeSet<String> = commands().into_iter().collect();
    let mut seen = std::collections::BTreeSet::new();
    for command in &commands {
        // A rule of a profile, not something to type.
        if command == "userns," {
            continue;
        }
        let words = shlex::split(command).unwrap_or_else(|| panic!("{command}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        seen.insert(words[0].to_owned());
        match words.as_slice() {
            ["sudo", "sysctl", "-w", setting] => {
                let (name, value) = setting.split_once('=').unwrap();
                assert!(name.starts_with("user.") || name.starts_with("kernel."), "{command}");
                value.parse::<u64>().unwrap();
            }
            ["sudo", "dmesg"] | ["sysctl", "-a", "--pattern", _] | ["findmnt", "--submounts", "/proc"] => {}
            ["docker" | "podman", "run", options @ ..] => {
                assert!(!options.is_empty() && options[0].starts_with("--"), "{command}");
            }
            ["systemd-run", rest @ ..] => {
                let at = rest.iter().position(|word| *word == "ringfence").unwrap();
                assert!(rest[..at].contains(&"--scope"), "{command}");
                Arguments::try_parse_from(&rest[at..]).unwrap();
            }
            other => panic!("{command}: {other:?}"),
        }
    }
    assert!(seen.len() >= 5, "{seen:?}");
}

#[test]
fn what_is_not_understood_is_not_known() {
    let nothing = Facts::from_files(|_| None, false);
    assert_eq!(nothing, Facts::default());
    let garbage = Facts::from_files(|_| Some("\u{0}\nCapEff: xyz\nSeccomp:\n-1".to_owned()), false);
    assert_eq!((garbage.capabilities, garbage.filtered, garbage.max_user_namespaces), (0, false, None));
    for facts in [nothing, garbage] {
        for feature in Feature::ALL {
            for errno in -1..140 {
                let missing = facts.missing(feature, "", errno);
                assert!(!missing.cause.is_empty() && !missing.fix.is_empty());
            }
        }
    }
    let here = Facts::read();
    assert!(here.kernel.contains('.'), "{here:?}");
}

#[test]
fn errors_have_their_names() {
    let named = |errno: i32| {
        let nothing = String::new();
        Missing { errno, step: nothing.clone(), cause: nothing.clone(), fix: nothing }.errno_name()
    };
    assert_eq!(named(0), None);
    for (errno, name) in [
        (libc::EPERM, "EPERM"),
        (libc::ENOSYS, "ENOSYS"),
        (libc::ENOSPC, "ENOSPC"),
        (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    ] {
        assert_eq!(named(errno).as_deref(), Some(name));
    }
    assert_eq!(named(133).as_deref(), Some("error 133"));
}
