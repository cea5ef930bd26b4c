//! The guests' own unit tests: the parts of tools that are pure are tested on this machine, without a sandbox around them.

use std::path::Path;
use std::process::Command;

#[test]
fn the_pure_parts_of_the_tools_pass_their_tests() {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-tools");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(&guests)
        .args(["test", "--quiet", "--locked", "--target", host, "-p", "edit-file", "-p", "apply-patch"])
        .arg("--target-dir")
        .arg(guests.join("target"));
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let output = cargo.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    // And they are there: a package without tests would pass as well.
    assert!(told.matches("test result: ok.").count() >= 2 && told.contains(" passed"), "{told}");
}
