//! The hostile components, built once for a test run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn guest_tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-tools")
}

/// The path of a hostile component.
pub fn hostile(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let dir = BUILT.get_or_init(|| {
        let target_dir = guest_tools().join("target");
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(guest_tools())
            .args([
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--target",
                "wasm32-wasip2",
                "-p",
                "hostile",
                "--examples",
            ])
            .arg("--target-dir")
            .arg(&target_dir);
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(name);
        }
        assert!(cargo.status().unwrap().success(), "the hostile components do not build");
        target_dir.join("wasm32-wasip2/release/examples")
    });
    let path = dir.join(format!("{name}.wasm"));
    assert!(path.is_file(), "there is no hostile component {name}");
    path
}

/// The path of a component that is written as text.
pub fn wat(name: &str) -> PathBuf {
    let text = std::fs::read_to_string(guest_tools().join(format!("hostile/wat/{name}.wat"))).unwrap();
    let bytes = wat::parse_str(&text).unwrap_or_else(|e| panic!("{name}.wat: {e}"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wat");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{name}.wasm"));
    // Tests run side by side: each writes its own file and renames it over the others' equal one.
    let own = dir.join(format!("{name}-{:?}.tmp", std::thread::current().id()));
    std::fs::write(&own, bytes).unwrap();
    std::fs::rename(&own, &path).unwrap();
    path
}
