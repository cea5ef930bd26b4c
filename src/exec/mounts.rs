//! Where a path lies in its file system, whatever it is called here: the same directory can be mounted at several places, and
//! neither its name nor what is above it says so.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One mount: a part of a file system that is seen at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Which file system, as `major:minor`.
    device: String,
    /// Which part of it.
    root: PathBuf,
    /// Where it is seen.
    point: PathBuf,
}

/// The mounts that this process sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mounts(Vec<Mount>);

/// A place in a file system: the same for all names of one directory.
type Origin<'m> = (&'m str, PathBuf);

impl Mounts {
    /// As they are now. Where they cannot be read, none: names and inodes are compared all the same.
    #[expect(clippy::disallowed_methods, reason = "the kernel's own list of mounts")]
    pub(super) fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// From the text of `/proc/self/mountinfo`. Lines that are not understood are left out.
    pub(super) fn parse(text: &str) -> Self {
        let mount = |line: &str| {
            let mut fields = line.split(' ').skip(2);
            let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Mount { device: device.to_owned(), root: plain(root), point: plain(point) })
        };
        Self(text.lines().filter_map(mount).collect())
    }

    /// Where a path lies. It is absolute, with its links resolved.
    fn origin(&self, path: &Path) -> Option<Origin<'_>> {
        let depth = |mount: &&Mount| mount.point.components().count();
        // Of several at one place, the last one is on top.
        let mount = self.0.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(depth)?;
        let below = path.strip_prefix(&mount.point).ok()?;
        Some((&mount.device, mount.root.join(below)))
    }

    /// Whether `place`, or something that is mounted in it, is `kept` or has it below.
    pub(super) fn covers(&self, place: &Path, kept: &Path) -> bool {
        self.related(place, kept, |root, kept| kept.starts_with(root))
    }

    /// Whether something of `place` is something of `own`, seen under another name: `place` lies in it, or it, or a part of it, is
    /// mounted somewhere in `place`.
    pub(super) fn touches(&self, place: &Path, own: &Path) -> bool {
        self.related(place, own, |root, own| root.starts_with(own) || own.starts_with(root))
    }

    fn related(&self, place: &Path, own: &Path, holds: impl Fn(&Path, &Path) -> bool) -> bool {
        let Some((device, own)) = self.origin(own) else { return false };
        let at = |(of, root): Origin<'_>| of == device && holds(&root, &own);
        let within = self.0.iter().filter(|mount| mount.point.starts_with(place));
        self.origin(place).is_some_and(at)
            || within.map(|mount| (mount.device.as_str(), mount.root.clone())).any(at)
    }
}

/// A path as it is, without the escapes for blanks and line ends that the list has.
fn plain(field: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw,nosuid - proc proc rw
23 21 8:2 / /home rw - ext4 /dev/sda2 rw
24 21 8:2 /me/.config/ringfence /srv/alias rw - ext4 /dev/sda2 rw
25 21 8:2 /me/.config/ringfence/skills /srv/deep/alias\\040two rw - ext4 /dev/sda2 rw
26 21 8:3 /me/.config /mnt/other rw - ext4 /dev/sdb1 rw
27 21 0:30 / /srv/cache rw - tmpfs tmpfs rw
not a mount";

    fn touches(place: &str) -> bool {
        Mounts::parse(LIST).touches(Path::new(place), Path::new("/home/me/.config/ringfence"))
    }

    #[test]
    fn another_name_of_the_same_place_is_seen() {
        for place in
            ["/srv/alias", "/srv/alias/skills/a", "/srv/deep/alias two", "/home/me/.config/ringfence"]
        {
            assert!(touches(place), "{place}");
        }
    }

    #[test]
    fn a_place_that_has_another_name_of_it_below_is_seen() {
        for place in ["/srv", "/srv/deep", "/", "/home/me", "/home"] {
            assert!(touches(place), "{place}");
        }
    }

    #[test]
    fn what_is_called_alike_elsewhere_is_not_meant() {
        for place in
            ["/home/me/.config/other", "/home/you", "/mnt/other/ringfence", "/srv/cache", "/srv/deeper"]
        {
            assert!(!touches(place), "{place}");
        }
    }

    #[test]
    fn without_a_list_nothing_is_said() {
        assert!(!Mounts::parse("").touches(Path::new("/a"), Path::new("/a")));
        assert_eq!(Mounts::parse("21 1 8:1 /\n\n garbage"), Mounts::default());
    }

    #[test]
    fn the_list_of_this_machine_is_understood() {
        let here = Mounts::read();
        assert!(here.origin(Path::new("/")).is_some(), "{here:?}");
        assert!(here.touches(Path::new("/usr"), Path::new("/usr/bin")));
    }
}
