//! Filters of system calls: a list of what is refused, by number and by plain arguments. No argument that is a pointer is looked
//! at, since what it points to could change afterwards.

use super::{Failure, Step};
use crate::exec::wire::{Namespaces, Plan};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};
use std::collections::BTreeMap;

/// Rules by the number of a call; none is always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

type Built<T> = Result<T, seccompiler::BackendError>;

/// What no command has a use for that stays inside.
const REFUSED: &[i64] = &[
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // The kernel's wide surfaces.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_vmsplice,
    // Files by number instead of by path.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_nfsservctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    // Where memory lies.
    libc::SYS_move_pages,
    libc::SYS_mbind,
    libc::SYS_migrate_pages,
    libc::SYS_set_mempolicy,
];

/// The same, of one kind of processor.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
    174, // create_module
    177, // get_kernel_syms
    178, // query_module
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// What libraries try first and do without: they are told that there is no such thing.
const ABSENT: &[i64] = &[
    // Its flags lie behind a pointer; `clone` says them plainly.
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    libc::SYS_io_getevents,
    #[cfg(target_arch = "x86_64")]
    333, // io_pgetevents
    libc::SYS_io_cancel,
    libc::SYS_io_destroy,
];

/// What changes a file's description and nothing in it. Landlock does not see these, so that they are refused where nothing else
/// keeps files outside from them.
const ABOUT_FILES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Flags of `clone` that make a namespace.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Terminal controls that put words into the mouth of who reads from it.
const TERMINAL: [u64; 3] = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];

/// Puts the filters up, for this process and all after it. They are the last wall: those before it need calls that are refused
/// from here on.
pub(super) fn stand(plan: &Plan) -> Step {
    let failed = |error: &dyn std::error::Error| Failure {
        step: "seccomp",
        errno: Errno::INVAL,
        detail: error.to_string(),
    };
    for program in programs(plan).map_err(|error| failed(&error))? {
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn programs(plan: &Plan) -> Built<Vec<BpfProgram>> {
    let mut refused: Rules = REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
    if plan.namespaces == Namespaces::None {
        refused.extend(ABOUT_FILES.iter().map(|call| (*call, Vec::new())));
    }
    let flag = |flag: libc::c_int| {
        let flag = u64::from(flag.unsigned_abs());
        one(0, Length::Qword, Is::MaskedEq(flag), flag)
    };
    refused.insert(libc::SYS_clone, NAMESPACES.into_iter().map(flag).collect::<Built<_>>()?);
    let control = |number: u64| one(1, Length::Dword, Is::Eq, number);
    refused.insert(libc::SYS_ioctl, TERMINAL.into_iter().map(control).collect::<Built<_>>()?);
    // To ask, and to be an ordinary program; nothing that loosens how memory is laid out.
    let other = vec![is(0, Length::Dword, Is::Ne, 0)?, is(0, Length::Dword, Is::Ne, 0xffff_ffff)?];
    refused.insert(libc::SYS_personality, vec![SeccompRule::new(other)?]);
    let absent: Rules = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let unix = u64::from(libc::AF_UNIX.unsigned_abs());
    let families: Rules = [libc::SYS_socket, libc::SYS_socketpair]
        .into_iter()
        .map(|call| Ok((call, vec![one(0, Length::Dword, Is::Ne, unix)?])))
        .collect::<Built<_>>()?;
    let mut programs = vec![
        filter(families, libc::EAFNOSUPPORT)?,
        filter(absent, libc::ENOSYS)?,
        filter(refused, libc::EPERM)?,
    ];
    programs.extend(foreign());
    Ok(programs)
}

fn is(argument: u8, length: Length, is: Is, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, length, is, value)
}

fn one(argument: u8, length: Length, how: Is, value: u64) -> Built<SeccompRule> {
    SeccompRule::new(vec![is(argument, length, how, value)?])
}

/// A filter that answers what its rules name with an error, and ends a process that calls by another processor's numbers.
fn filter(rules: Rules, errno: libc::c_int) -> Built<BpfProgram> {
    let refused = SeccompAction::Errno(errno.unsigned_abs());
    let here = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, here)?.try_into()
}

/// Ends a process that calls by the numbers of x32, which has the processor's own mark and other numbers.
#[cfg(target_arch = "x86_64")]
fn foreign() -> Option<BpfProgram> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    Some(vec![
        step(LOAD, 0, 0, 0),
        step(AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign() -> Option<BpfProgram> {
    None
}
