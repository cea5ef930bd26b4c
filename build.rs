//! Builds the guest tools for `wasm32-wasip2` and lists them for embedding, with their definitions.
//!
//! The guests are a workspace of their own with its own lock; their build needs nothing but this toolchain and that target.

#![allow(
    clippy::disallowed_methods,
    clippy::exit,
    clippy::print_stderr,
    reason = "a build script runs at build time, before any of the program's walls"
)]

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const TARGET: &str = "wasm32-wasip2";

/// The crates that become built-in tools; what each is granted stands in `src/toolbox/builtin.rs`.
const TOOLS: &[&str] = &[
    "apply-patch",
    "cron",
    "edit-file",
    "exec",
    "exec-session",
    "find-files",
    "grep",
    "list-dir",
    "list-exec-sessions",
    "message",
    "read-file",
    "spawn",
    "tasks",
    "write-file",
];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let guests = root.join("guest-tools");
    for path in ["guest-tools/Cargo.toml", "guest-tools/Cargo.lock", "guest-tools/sdk", "wit", "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for tool in TOOLS {
        println!("cargo::rerun-if-changed=guest-tools/{tool}");
    }
    ensure_target();
    let built = build(&guests);
    let mut list = String::from("&[\n");
    for tool in TOOLS {
        let wasm = built.join(format!("{}.wasm", tool.replace('-', "_")));
        let definition = guests.join(tool).join("definition.json");
        for path in [&wasm, &definition] {
            if !path.is_file() {
                fail(&format!("{} is missing after the build of the guest tools", path.display()));
            }
        }
        let _ = writeln!(
            list,
            "    Embedded {{ wasm: include_bytes!({wasm:?}), definition: include_str!({definition:?}) }},"
        );
    }
    list.push(']');
    let out = PathBuf::from(variable("OUT_DIR")).join("embedded.rs");
    if let Err(error) = std::fs::write(&out, list) {
        fail(&format!("{}: {error}", out.display()));
    }
}

/// Sees to the target, by `rustup` where there is one.
fn ensure_target() {
    let rustc = variable("RUSTC");
    let installed =
        Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]).output().is_ok_and(
            |out| out.status.success() && Path::new(String::from_utf8_lossy(&out.stdout).trim()).is_dir(),
        );
    if installed {
        return;
    }
    let added =
        Command::new("rustup").args(["target", "add", TARGET]).status().is_ok_and(|status| status.success());
    if !added {
        fail(&format!("the Rust target {TARGET} is missing; type: rustup target add {TARGET}"));
    }
}

/// Builds all tools; the directory with the finished components.
fn build(guests: &Path) -> PathBuf {
    // One place for every profile of the host, since the guests are the same in each; elsewhere only if this one is read-only.
    let beside = guests.join("target");
    let target_dir = match std::fs::create_dir_all(&beside) {
        Ok(()) => beside,
        Err(_) => PathBuf::from(variable("OUT_DIR")).join("guest-tools"),
    };
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(guests)
        .args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"])
        .arg(&target_dir);
    for tool in TOOLS {
        cargo.args(["-p", tool]);
    }
    // Flags and wrappers are meant for the host's own build; among them the coverage and lint drivers.
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    match cargo.status() {
        Ok(status) if status.success() => target_dir.join(TARGET).join("release"),
        Ok(_) => fail(
            "the guest tools do not build; type: cargo build --release --manifest-path guest-tools/Cargo.toml --target wasm32-wasip2",
        ),
        Err(error) => fail(&format!("cargo does not start: {error}")),
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("{name} is not set; cargo sets it")))
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    exit(1);
}
