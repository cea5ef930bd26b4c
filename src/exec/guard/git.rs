//! What a repository's configuration may say that a command wrote: nothing that makes git run, read or ask anything else. What
//! this grammar does not know is not harmless, whether or not git would take it.

/// Bytes of a configuration that is read.
pub(super) const MOST: u64 = 64 * 1024;

/// Whether every line of a configuration is harmless.
pub(super) fn harmless(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    if text.len() as u64 > MOST
        || text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || c == '\u{FEFF}')
    {
        return false;
    }
    let mut section = None;
    text.split('\n').all(|line| {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if line.starts_with('[') {
            section = Section::of(line);
            return section.is_some();
        }
        match (&section, line.split_once('=')) {
            (Some(section), Some((key, value))) => {
                let key = key.trim_end_matches([' ', '\t']).to_ascii_lowercase();
                section.takes(&key, value.trim_start_matches([' ', '\t']))
            }
            _ => false,
        }
    })
}

/// The heading of a section.
struct Section {
    name: String,
    of: Option<String>,
}

impl Section {
    /// `[name]` or `[name "of"]`, and nothing else on the line.
    fn of(line: &str) -> Option<Self> {
        let inside = line.strip_prefix('[')?.strip_suffix(']')?;
        let (name, of) = match inside.split_once([' ', '\t']) {
            None => (inside, None),
            Some((name, of)) => {
                let of = of.trim_start_matches([' ', '\t']).strip_prefix('"')?.strip_suffix('"')?;
                (name, Some(of))
            }
        };
        let named = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let plain = of.is_none_or(|of| !of.is_empty() && !of.starts_with('-') && !of.contains(['"', '\\']));
        (named && plain).then(|| Self { name: name.to_ascii_lowercase(), of: of.map(str::to_owned) })
    }

    /// Whether a key may stand in it with that value.
    fn takes(&self, key: &str, value: &str) -> bool {
        // Each of these could begin a comment, a quotation, or go on in the next line.
        if value.is_empty() || value.contains(['"', '\\', '#', ';']) {
            return false;
        }
        match (self.name.as_str(), &self.of, key) {
            (
                "core",
                None,
                "repositoryformatversion"
                | "filemode"
                | "bare"
                | "logallrefupdates"
                | "ignorecase"
                | "precomposeunicode"
                | "symlinks"
                | "autocrlf"
                | "eol"
                | "compression",
            )
            | ("extensions", None, "objectformat")
            | ("branch", Some(_), "rebase") => word(value),
            ("user", None, "name" | "email") => true,
            ("init", None, "defaultbranch") | ("branch", Some(_), "merge") => reference(value),
            ("branch", Some(_), "remote") => remote(value),
            ("remote", Some(_), "url") => address(value),
            ("remote", Some(_), "fetch") => {
                let refs = value.strip_prefix('+').unwrap_or(value);
                refs.split(':').count() <= 2
                    && refs.split(':').all(|part| reference(part) && part.starts_with("refs/"))
            }
            _ => false,
        }
    }
}

/// `true`, `0`, `input` and the like.
fn word(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// The name of a branch, or a pattern of such names.
fn reference(value: &str) -> bool {
    !value.is_empty() && !value.starts_with('-') && !value.contains([' ', '\t', ':'])
}

/// The name of a remote: no address and no path.
fn remote(value: &str) -> bool {
    let named = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/');
    value.bytes().all(named)
        && !value.starts_with(['-', '/'])
        && (value == "." || !value.starts_with('.'))
        && !value.contains("..")
}

/// An address of another machine: nothing that names a program, and nothing that a program takes for an option.
fn address(value: &str) -> bool {
    if value.contains([' ', '\t', '`', '$', '|', '<', '>']) || value.contains("::") {
        return false;
    }
    let (host, path) = match value.split_once("://") {
        Some(("https" | "http" | "ssh" | "git", rest)) => rest.split_once('/').unwrap_or((rest, "")),
        Some(_) => return false,
        None => match value.split_once(':') {
            // Before a slash it would be a path.
            Some((host, path)) if !host.contains('/') && !path.is_empty() => (host, path),
            _ => return false,
        },
    };
    let machine = host.rsplit('@').next().unwrap_or(host);
    !machine.is_empty() && host.split('@').all(|part| !part.starts_with('-')) && !path.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_by_itself_is_harmless() {
        for text in [
            "",
            "\n# a comment \\\n; another\n\n",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[CORE]\n\tFileMode=false\n\tignorecase = true\n\tprecomposeunicode = true\n\tautocrlf = input\n",
            "[user]\n\tname = A. Person-Ĝ\n\temail = a@b.example\n",
            "[remote \"origin\"]\n\turl = https://github.com/a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[remote \"o\"]\n\turl = git@github.com:a/b.git\n[branch \"main\"]\n\tremote = o\n\tmerge = refs/heads/main\n",
            "[branch \"a b/c\"]\n\trebase = true\n[extensions]\n\tobjectFormat = sha256\n",
            "[remote \"o\"]\n\turl = ssh://u@h:22/x\n\turl = git://h/x\n\turl = http://h",
            "[init]\n\tdefaultBranch = main",
        ] {
            assert!(harmless(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn whatever_runs_reads_or_continues_is_not() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core]\n\thooksPath = x\n",
            "[core]\n\tsshCommand = x\n",
            "[core]\n\teditor = x\n",
            "[core]\n\tpager = x\n",
            "[core]\n\tworktree = ..\n",
            "[core]\n\tattributesFile = x\n",
            "[core] fsmonitor = x\n",
            "[core]fsmonitor = x\n",
            "[core]\nbare = false [x]\n",
            "[core]\nbare = false \\\nfsmonitor = x\n",
            "[core \"x\"]\nbare = false\n",
            "[core.x]\nbare = false\n",
            "[core]\nbare\n",
            "[core]\nbare = \n",
            "[core]\n\tcompression = 1 # x\n",
            "[include]\n\tpath = x\n",
            "[includeIf \"gitdir:x\"]\n\tpath = x\n",
            "[alias]\n\tst = !x\n",
            "[filter \"x\"]\n\tclean = x\n",
            "[diff \"x\"]\n\ttextconv = x\n",
            "[credential]\n\thelper = !x\n",
            "[url \"ext::sh\"]\n\tinsteadOf = https://\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = file:///x\n",
            "[remote \"o\"]\n\turl = ../x\n",
            "[remote \"o\"]\n\turl = /x:y\n",
            "[remote \"o\"]\n\turl = -oProxyCommand=x:y\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "[remote \"o\"]\n\turl = ssh://u@-oProxyCommand=x/y\n",
            "[remote \"o\"]\n\turl = h:-x\n",
            "[remote \"o\"]\n\turl = https://\n",
            "[remote \"o\"]\n\tvcs = x\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[remote \"o\"]\n\tproxy = x\n",
            "[remote \"-o\"]\n\turl = https://h/x\n",
            "[branch \"x\"]\n\tremote = ext::sh\n",
            "[branch \"x\"]\n\tremote = ../x\n",
            "[user]\n\tname = \"x\n",
            "[user]\n\tname = x\\\n",
            "[user]\n\tsigningKey = x\n",
            "[gpg]\n\tprogram = x\n",
            "bare = false\n",
            "[]\n",
            "[core\n",
            "[core]\r\n\tbare = false\r\n",
            "\u{FEFF}[core]\n",
            "[core]\0\n",
        ] {
            assert!(!harmless(text.as_bytes()), "{text:?}");
        }
        assert!(!harmless(b"[core]\n# \xFF\n"));
        assert!(!harmless(&vec![b'\n'; 65 * 1024]));
    }
}
