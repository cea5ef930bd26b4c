//! Places within a directory that cannot be changed, moved or removed, although all around them can.

use super::view::Root;
use super::{At as _, Step, wrong};
use crate::exec::guard::Pin;
use crate::exec::wire::Mounted;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Pins what is to be pinned of a place that stands in the view. Whatever leads there is bound to itself first, since what
/// is mounted can be neither renamed nor removed.
pub(super) fn set(root: &Root, place: &Mounted) -> Step {
    let top = super::system::below_root(&place.path);
    let mut done: BTreeSet<PathBuf> = BTreeSet::new();
    let mut pins: Vec<&Pin> = place.pins.iter().collect();
    // What holds another pin comes before it, so that it is not taken for a mere part of the way.
    pins.sort_by_key(|pin| pin.path.components().count());
    for pin in pins {
        let mut above: Vec<&Path> =
            pin.path.ancestors().skip(1).filter(|path| *path != Path::new("")).collect();
        above.reverse();
        for on_the_way in above {
            if done.insert(on_the_way.to_owned()) {
                let path = top.join(on_the_way);
                let there = root.open(&path).at_with("pin", || on_the_way.display().to_string())?;
                root.bind(&there, &path, true)?;
            }
        }
        if !done.insert(pin.path.clone()) {
            continue;
        }
        let path = top.join(&pin.path);
        let there = root.open(&path).at_with("pin", || pin.path.display().to_string())?;
        let about = rustix::fs::fstat(&there).at("pin")?;
        if (about.st_dev, about.st_ino) != pin.identity {
            return wrong("pin-changed", pin.path.display().to_string());
        }
        root.bind(&there, &path, false)?;
    }
    Ok(())
}
