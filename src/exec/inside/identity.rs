//! Who a command is: mapped to a number that is not root's, and left without any capability.

use super::{At as _, Step, wrong};
use crate::exec::wire::{Namespaces, Plan};
use rustix::process::{DumpableBehavior, Gid, Uid};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};
use std::fs;

/// The number of the user and group that a command sees itself as.
pub(super) const INSIDE: u32 = 1000;

/// Capabilities that a kernel may know, by number.
const CAPABILITIES: u32 = 64;

/// Maps the one identity that there is. The process has just been born into the namespace.
#[expect(clippy::disallowed_methods, reason = "the kernel's own files, in a process that does nothing else")]
pub(super) fn map(plan: &Plan) -> Step {
    let (user, group) = plan.outside;
    // The launcher lets nobody look into it, and the files of such a process are root's: a user could not write its own.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).at("dumpable")?;
    fs::write("/proc/self/setgroups", "deny").at("set-groups")?;
    fs::write("/proc/self/uid_map", format!("{INSIDE} {user} 1")).at("uid-map")?;
    fs::write("/proc/self/gid_map", format!("{INSIDE} {group} 1")).at("gid-map")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at("dumpable")
}

/// Gives up everything that is more than a user's: for good, for this process and all after it.
pub(super) fn give_up(plan: &Plan) -> Step {
    rustix::thread::set_no_new_privs(true).at("no-new-privileges")?;
    if plan.namespaces == Namespaces::AsRoot {
        take_on(plan.owner)?;
    }
    // Without namespaces there is nothing to give up for a user, and root gives up the same.
    let has = rustix::thread::capabilities(None).at("capabilities")?;
    if has.permitted.contains(CapabilitySet::SETPCAP) {
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits).at("secure-bits")?;
        for number in 0..CAPABILITIES {
            let capability = CapabilitySet::from_bits_retain(1 << number);
            match rustix::thread::capability_is_in_bounding_set(capability) {
                Ok(true) => {
                    rustix::thread::remove_capability_from_bounding_set(capability).at("bounding-set")?
                }
                Ok(false) => {}
                // The kernel knows no more of them.
                Err(_) => break,
            }
        }
    }
    rustix::thread::clear_ambient_capability_set().at("ambient-set")?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).at("capabilities")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at("dumpable")
}

/// Becomes the owner of the workspace, where that is not root. Root itself, without a capability, can do what any owner can.
fn take_on((user, group): (u32, u32)) -> Step {
    if user == 0 {
        return Ok(());
    }
    if user == u32::MAX || group == u32::MAX {
        return wrong("identity", "the workspace's owner has no number");
    }
    rustix::thread::set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)
        .at("secure-bits")?;
    rustix::thread::set_thread_groups(&[]).at("set-groups")?;
    let group = Gid::from_raw(group);
    rustix::thread::set_thread_res_gid(group, group, group).at("identity")?;
    let user = Uid::from_raw(user);
    rustix::thread::set_thread_res_uid(user, user, user).at("identity")
}
