//! Paths as a guest writes them.

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// A guest's path without its trailing slashes, and whether it had any: `dir/` names a directory or nothing.
pub(super) fn plain(path: &str) -> Result<(&str, bool), ErrorCode> {
    if path.is_empty() {
        return Err(ErrorCode::NoEntry);
    }
    if path.contains('\0') {
        return Err(ErrorCode::Invalid);
    }
    match path.trim_end_matches('/') {
        // Only slashes: the root of the host, which is nobody's to name.
        "" => Ok((path, true)),
        plain => Ok((plain, plain.len() != path.len())),
    }
}

/// A path that must not end in a slash: one that names a file or a link.
pub(super) fn of_file(path: &str) -> Result<&str, ErrorCode> {
    match plain(path)? {
        (plain, false) => Ok(plain),
        (_, true) => Err(ErrorCode::NotDirectory),
    }
}

/// A path's last name and what stands before it; `None` where the last part is no name.
pub(super) fn last(plain: &str) -> Option<(&str, &str)> {
    let (above, name) = match plain.rfind('/') {
        // A path from the root of the host stays one.
        Some(at) => plain.split_at(at.max(1)),
        None => ("", plain),
    };
    let name = name.trim_start_matches('/');
    (!matches!(name, "" | "." | "..")).then_some((above, name))
}

/// Whether a link with this target stays, by its text, below the directory that it is in.
pub(super) fn stays_below(target: &str) -> bool {
    !target.is_empty()
        && !target.starts_with('/')
        && !target.ends_with('/')
        && !target.contains('\0')
        && target.split('/').all(|part| part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_slash_is_seen_and_taken_off() {
        assert_eq!(plain("a/b").ok(), Some(("a/b", false)));
        assert_eq!(plain("a/b//").ok(), Some(("a/b", true)));
        assert_eq!(plain("/").ok(), Some(("/", true)));
        assert!(plain("").is_err() && plain("a\0b").is_err());
        assert!(of_file("a/").is_err() && of_file("a").is_ok());
    }

    #[test]
    fn the_last_name_is_a_name_or_nothing() {
        assert_eq!(last("a"), Some(("", "a")));
        assert_eq!(last("a/../b"), Some(("a/..", "b")));
        assert_eq!(last("a//b"), Some(("a/", "b")));
        assert_eq!(last("/a"), Some(("/", "a")));
        assert_eq!(last("/a/b"), Some(("/a", "b")));
        for path in ["/", "//", ".", "..", "a/.", "a/..", "a/"] {
            assert_eq!(last(path), None, "{path}");
        }
    }

    #[test]
    fn only_targets_below_stay() {
        assert!(stays_below("a") && stays_below("a/b") && stays_below("./a") && stays_below("a..b"));
        for target in ["", "/a", "..", "../a", "a/../..", "a/..", "a/", "a\0"] {
            assert!(!stays_below(target), "{target:?}");
        }
    }
}
