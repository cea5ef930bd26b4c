//! Temporary files of a write that did not come to its rename: they go with the call.

use cap_primitives::fs::remove_file;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// What the names of tools' temporary files begin with.
pub const TEMPORARY: &str = ".ringfence-tmp-";

/// Temporary files that are remembered at once. A tool has one at a time; whoever makes hundreds leaves the rest behind,
/// instead of descriptors in the host that no limit counts.
const MOST: usize = 16;

/// The temporary files of one call.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Temporaries(Vec<(Arc<File>, String)>);

impl Temporaries {
    /// Notes a file that was just created, if it is called like a temporary one.
    pub(super) fn created(&mut self, dir: &Arc<File>, path: &str) {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        if self.0.len() < MOST && name.is_some_and(|name| name.starts_with(TEMPORARY)) {
            self.0.push((Arc::clone(dir), path.to_owned()));
        }
    }

    /// Forgets a file that is gone or has its final name.
    pub(super) fn gone(&mut self, dir: &Arc<File>, path: &str) {
        self.0.retain(|(at, name)| !(Arc::ptr_eq(at, dir) && name == path));
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        for (dir, path) in &self.0 {
            if let Err(error) = remove_file(dir, path.as_ref()) {
                tracing::debug!("temporary file {path:?} stays: {error}");
            }
        }
    }
}
