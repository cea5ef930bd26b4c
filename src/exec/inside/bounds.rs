//! What each process may take.

use super::{At as _, Step, sys};
use crate::exec::wire::Plan;

/// Bytes that may be locked in memory, or lie in message queues.
const LITTLE: u64 = 64 << 10;

/// Sets the limits of this process and all after it, soft and hard.
pub(super) fn set(plan: &Plan) -> Step {
    let most = &plan.most;
    let mut limits = vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_CPU, most.processor),
        (libc::RLIMIT_FSIZE, most.file),
        (libc::RLIMIT_NOFILE, most.descriptors),
        (libc::RLIMIT_MEMLOCK, LITTLE),
        (libc::RLIMIT_MSGQUEUE, LITTLE),
        (libc::RLIMIT_NICE, 0),
        (libc::RLIMIT_RTPRIO, 0),
    ];
    if !plan.group {
        // What is reserved and never touched does not count, so that programs that reserve much still start.
        limits.push((libc::RLIMIT_DATA, most.memory));
    }
    if plan.outside.0 != 0 {
        // Counted in the namespace. The kernel does not hold root to it, wherever root is mapped to.
        limits.push((libc::RLIMIT_NPROC, u64::from(most.processes)));
    }
    for (resource, most) in limits {
        let set = sys::bound(resource, most);
        // A limit that is lower already, and hard, stays.
        if set != Err(rustix::io::Errno::PERM) {
            set.at("limits")?;
        }
    }
    Ok(())
}
