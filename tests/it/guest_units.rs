//! The guests' own unit tests: the parts of tools that are pure are tested on this machine, without a sandbox around them.

use std::path::Path;
use std::process::Command;

/// The packages that have such tests.
const PACKAGES: &[&str] =
    &["ringfence-tool", "apply-patch", "edit-file", "exec", "exec-session", "list-exec-sessions"];

#[test]
fn the_pure_parts_of_the_tools_pass_their_tests() {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-tools");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(&guests)
        .args(["test", "--quiet", "--locked", "--target", host])
        .args(PACKAGES.iter().flat_map(|package| ["-p", package]))
        .arg("--target-dir")
        .arg(guests.join("target"));
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let output = cargo.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    // And they are there: a package without tests would pass as well.
    assert!(told.matches("test result: ok.").count() >= PACKAGES.len() && told.contains(" passed"), "{told}");
}
