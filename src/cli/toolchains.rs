//! Toolchains in the person's home, which no command sees unless the configuration says so, and the lines that say so.

use crate::config;
use std::path::{Path, PathBuf};

/// A toolchain that people have in their homes.
struct Known {
    name: &'static str,
    /// What a command has to see, the first of which tells that it is there.
    sees: &'static [&'static str],
    /// Where its programs are. A `*` stands for the newest version that is there.
    searched: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known { name: "Rust", sees: &[".cargo/bin", ".rustup"], searched: &[".cargo/bin"] },
    Known { name: "pyenv", sees: &[".pyenv"], searched: &[".pyenv/shims", ".pyenv/bin"] },
    Known { name: "Python of uv", sees: &[".local/share/uv"], searched: &[".local/bin"] },
    Known { name: "Node of nvm", sees: &[".nvm/versions"], searched: &[".nvm/versions/node/*/bin"] },
    Known { name: "Node of Volta", sees: &[".volta"], searched: &[".volta/bin"] },
    Known { name: "Deno", sees: &[".deno"], searched: &[".deno/bin"] },
    Known { name: "Bun", sees: &[".bun"], searched: &[".bun/bin"] },
    Known { name: "Go", sees: &["go/bin", "sdk"], searched: &["go/bin", "sdk/*/bin"] },
    Known { name: "rbenv", sees: &[".rbenv"], searched: &[".rbenv/shims", ".rbenv/bin"] },
    Known { name: "asdf", sees: &[".asdf"], searched: &[".asdf/shims", ".asdf/bin"] },
    Known { name: "mise", sees: &[".local/share/mise"], searched: &[".local/share/mise/shims"] },
    Known {
        name: "Java of SDKMAN",
        sees: &[".sdkman/candidates"],
        searched: &[".sdkman/candidates/java/current/bin"],
    },
];

/// A toolchain that is there and that no command sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Toolchain {
    pub(super) name: &'static str,
    /// Directories that a command has to see, as they are written.
    pub(super) sees: Vec<String>,
    /// Directories for `PATH`, as they are written.
    pub(super) searched: Vec<String>,
}

/// The toolchains in this home of which something is in none of the directories that commands see.
pub(super) fn unseen(home: &Path, seen: &[PathBuf]) -> Vec<Toolchain> {
    let is_there = |below: &&str| config::canonical(&home.join(below)).is_ok_and(|path| path.is_dir());
    let is_seen = |below: &str| {
        config::canonical(&home.join(below))
            .is_ok_and(|path| seen.iter().any(|place| path.starts_with(place)))
    };
    let written = |below: &str| format!("~/{below}");
    KNOWN
        .iter()
        .filter(|known| known.sees.first().is_some_and(&is_there))
        .filter(|known| known.sees.iter().any(|below| is_there(below) && !is_seen(below)))
        .map(|known| {
            let searched = known.searched.iter().filter_map(|pattern| newest(home, pattern));
            Toolchain {
                name: known.name,
                sees: known.sees.iter().filter(|below| is_there(below)).map(|below| written(below)).collect(),
                searched: searched.map(|below| written(&below)).collect(),
            }
        })
        .collect()
}

/// A directory below the home by a pattern with at most one `*`, where it is there.
fn newest(home: &Path, pattern: &str) -> Option<String> {
    let Some((before, after)) = pattern.split_once("*/") else {
        return config::canonical(&home.join(pattern)).is_ok().then(|| pattern.to_owned());
    };
    let versions = config::names_in(&home.join(before)).into_iter();
    let there = versions.filter(|version| home.join(before).join(version).join(after).is_dir());
    let newest = there.max_by_key(|version| numbers(version))?;
    Some(format!("{before}{newest}/{after}"))
}

/// The numbers in a version, by which it is newer or older than others.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

/// The lines of the table `[exec]` that make them visible, with what stands in it already.
pub(super) fn lines(
    toolchains: &[Toolchain],
    read_only: &[PathBuf],
    prepend: &[PathBuf],
    home: &Path,
) -> [String; 2] {
    let written = |path: &PathBuf| match path.strip_prefix(home) {
        Ok(below) => format!("~/{}", below.display()),
        Err(_) => path.display().to_string(),
    };
    let list = |key: &str, present: &[PathBuf], new: Vec<&String>| {
        let mut all: Vec<String> = present.iter().map(written).collect();
        for item in new {
            if !all.contains(item) {
                all.push(item.clone());
            }
        }
        format!("{key} = {}", toml::Value::from(all))
    };
    [
        list("read_only", read_only, toolchains.iter().flat_map(|chain| &chain.sees).collect()),
        list("path_prepend", prepend, toolchains.iter().flat_map(|chain| &chain.searched).collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, create_private_dir};

    fn home(dirs: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let Ok(temp) = tempfile::tempdir() else { panic!("no directory for a test") };
        let Ok(home) = config::canonical(temp.path()) else { panic!("{temp:?}") };
        for dir in dirs {
            assert!(create_private_dir(&home.join(dir)).is_ok());
        }
        (temp, home)
    }

    #[test]
    fn what_is_found_comes_with_lines_that_make_it_visible() {
        let (_temp, home) = home(&[
            ".cargo/bin",
            ".rustup/toolchains",
            ".nvm/versions/node/v9.11.2/bin",
            ".nvm/versions/node/v20.1.0/bin",
            ".nvm/versions/node/v22.0.0",
        ]);
        let found = unseen(&home, &[]);
        assert_eq!(found.iter().map(|chain| chain.name).collect::<Vec<_>>(), ["Rust", "Node of nvm"]);
        let [read_only, prepend] = lines(&found, &[PathBuf::from("/srv/x"), home.join("own")], &[], &home);
        assert_eq!(
            read_only,
            "read_only = [\"/srv/x\", \"~/own\", \"~/.cargo/bin\", \"~/.rustup\", \"~/.nvm/versions\"]"
        );
        assert_eq!(prepend, "path_prepend = [\"~/.cargo/bin\", \"~/.nvm/versions/node/v20.1.0/bin\"]");
        assert!(Config::parse(&format!("[exec]\n{read_only}\n{prepend}\n")).is_ok());
    }

    #[test]
    fn what_is_seen_is_not_told_and_what_is_seen_in_part_is() {
        let (_temp, home) = home(&[".cargo/bin", ".rustup", ".pyenv/bin"]);
        let seen = |dirs: &[&str]| -> Vec<&str> {
            let dirs: Vec<PathBuf> = dirs.iter().map(|dir| home.join(dir)).collect();
            unseen(&home, &dirs).iter().map(|chain| chain.name).collect()
        };
        assert_eq!(seen(&[]), ["Rust", "pyenv"]);
        assert_eq!(seen(&[".cargo/bin"]), ["Rust", "pyenv"]);
        assert_eq!(seen(&[".cargo", ".rustup"]), ["pyenv"]);
        assert_eq!(seen(&[".cargo/bin", ".rustup", ".pyenv"]), Vec::<&str>::new());
    }
}
