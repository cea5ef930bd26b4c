//! Temporary files of a write that did not come to its rename: they go with the call.

use super::preopen::Identity;
use super::spot::Spot;
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
pub(in crate::sandbox) struct Temporaries(Vec<Temporary>);

#[derive(Debug)]
struct Temporary {
    dir: Arc<File>,
    path: String,
    judged: Option<Identity>,
}

impl Temporary {
    /// Whether it is the one there. A directory that was judged is known by what it is, since it is opened anew each time.
    fn is_at(&self, spot: &Spot<'_>) -> bool {
        let same = match spot.judged {
            Some(at) => self.judged == Some(at),
            None => Arc::ptr_eq(&self.dir, &spot.dir),
        };
        same && self.path == spot.name
    }
}

impl Temporaries {
    /// Notes a file that was just created, if it is called like a temporary one.
    pub(super) fn created(&mut self, spot: &Spot<'_>) {
        let name = Path::new(spot.name.as_ref()).file_name().and_then(|name| name.to_str());
        if self.0.len() < MOST && name.is_some_and(|name| name.starts_with(TEMPORARY)) {
            let (dir, path) = (Arc::clone(&spot.dir), spot.name.as_ref().to_owned());
            self.0.push(Temporary { dir, path, judged: spot.judged });
        }
    }

    /// Whether this call made the file of that name in that directory.
    pub(super) fn has(&self, dir: Identity, name: &str) -> bool {
        self.0.iter().any(|temporary| temporary.judged == Some(dir) && temporary.path == name)
    }

    /// Forgets a file that is gone or has its final name.
    pub(super) fn gone(&mut self, spot: &Spot<'_>) {
        self.0.retain(|temporary| !temporary.is_at(spot));
    }
}

impl Drop for Temporaries {
    fn drop(&mut self) {
        for Temporary { dir, path, .. } in &self.0 {
            if let Err(error) = remove_file(dir, path.as_ref()) {
                tracing::debug!("temporary file {path:?} stays: {error}");
            }
        }
    }
}
