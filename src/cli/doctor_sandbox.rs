//! What `doctor sandbox` tells: the level, what it is made of, and what a command sees.

use super::native::Native;
use super::toolchains::{self, Toolchain};
use crate::authority::Level;
use crate::config::{self, env, in_units};
use crate::exec::{self, Found, Machine, Missing};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where commands are looked for when nothing else says so.
const DEFAULT_PATH: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What was found, and what is configured.
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) native: Native,
    /// The configuration file.
    pub(super) file: PathBuf,
}

impl Report {
    /// Whether commands run here, as it is configured.
    pub(super) fn runs(&self) -> bool {
        self.machine.level().is_some_and(|level| level >= self.native.settings.least)
    }

    /// Whether they run, and at which level, in one line.
    pub(super) fn verdict(&self) -> String {
        let least = self.native.settings.least;
        let reason = || match self.machine.first_missing() {
            Some((feature, missing)) => format!("; {}: {}", feature.name(), missing.cause),
            None => String::new(),
        };
        match self.machine.level() {
            Some(level) if level >= least => format!("commands run at level {level}"),
            Some(level) => format!(
                "commands do not run: this machine gives level {level}, and the least that is allowed is {least}{}",
                reason()
            ),
            None => format!("commands do not run: there is no sandbox to be had{}", reason()),
        }
    }

    /// Everything, for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let settings = &self.native.settings;
        let level = match self.machine.level() {
            Some(level) => format!("{level}: {}", level.meaning()),
            None => "no sandbox can be set up".to_owned(),
        };
        let mut lines = vec![
            entry("kernel", &self.machine.kernel),
            entry("level", &level),
            entry("commands", &self.verdict()),
            entry("least level", &format!("{} (exec.min_level)", settings.least)),
        ];
        lines.extend(self.lower());
        lines.push("features".to_owned());
        lines.extend(self.machine.features.iter().flat_map(feature));
        lines.push("a command sees".to_owned());
        lines.push(place("the workspace and what --dir hands over", "as its agent does"));
        lines.extend(system().map(|path| place(&path.display().to_string(), "read-only")));
        for granted in &settings.places {
            lines.push(place(&granted.path.display().to_string(), &granted.access.to_string()));
        }
        for (key, path) in &self.native.absent {
            lines.push(place(&path.display().to_string(), &format!("is not there (exec.{key})")));
        }
        let path: Vec<String> = self.path().iter().map(|dir| dir.display().to_string()).collect();
        lines.push(entry("PATH", &path.join(":")));
        for unseen in self.path_unseen() {
            lines.push(place(&unseen.display().to_string(), "is in PATH and cannot be seen"));
        }
        let names: Vec<&str> = settings.environment.iter().map(|(name, _)| name.as_str()).collect();
        let passed = if names.is_empty() { "nothing of yours".to_owned() } else { names.join(", ") };
        lines.push(entry("environment", &passed));
        lines.push(entry("limits", &self.limits()));
        lines.extend(self.toolchains());
        lines
    }

    /// How to allow a level that is there and too low.
    fn lower(&self) -> Vec<String> {
        match self.machine.level() {
            Some(level) if level < self.native.settings.least => vec![
                format!("  to allow it all the same, write into {}:", self.file.display()),
                "    [exec]".to_owned(),
                format!("    min_level = \"{level}\""),
            ],
            _ => Vec::new(),
        }
    }

    fn limits(&self) -> String {
        let settings = &self.native.settings;
        let most = settings.most;
        let time = settings
            .timeout
            .map_or_else(|| "as long as a call may take".to_owned(), |t| format!("{} s", t.as_secs()));
        format!(
            "{time}, {} of memory, {} processes, files of {}, {} open files, {} of temporary files, {} s of processor time",
            in_units(most.memory),
            most.processes,
            in_units(most.file),
            most.descriptors,
            in_units(most.temporary),
            most.processor
        )
    }

    /// What a command can see, by its real name.
    fn seen(&self) -> Vec<PathBuf> {
        let system = system().filter_map(|path| config::canonical(&path).ok());
        self.native.settings.places.iter().map(|place| place.path.clone()).chain(system).collect()
    }

    /// Where commands look for programs: what is configured, around what a person's own search path names and they see.
    fn path(&self) -> Vec<PathBuf> {
        let seen = self.seen();
        let (before, after) = &self.native.settings.path;
        let mut middle: Vec<PathBuf> = env::search_path()
            .into_iter()
            .filter(|dir| {
                config::canonical(dir).is_ok_and(|real| seen.iter().any(|place| real.starts_with(place)))
            })
            .collect();
        if middle.is_empty() {
            middle = DEFAULT_PATH.iter().map(PathBuf::from).collect();
        }
        before.iter().cloned().chain(middle).chain(after.iter().cloned()).collect()
    }

    /// Configured directories of `PATH` that no command sees.
    fn path_unseen(&self) -> Vec<&PathBuf> {
        let seen = self.seen();
        let (before, after) = &self.native.settings.path;
        before.iter().chain(after).filter(|dir| !seen.iter().any(|place| dir.starts_with(place))).collect()
    }

    fn unseen(&self) -> Vec<Toolchain> {
        self.native
            .settings
            .home
            .as_deref()
            .map(|home| toolchains::unseen(home, &self.seen()))
            .unwrap_or_default()
    }

    fn remedy(&self, unseen: &[Toolchain]) -> Option<[String; 2]> {
        let settings = &self.native.settings;
        let home = settings.home.as_deref().filter(|_| !unseen.is_empty())?;
        let read_only: Vec<PathBuf> = settings
            .places
            .iter()
            .filter(|place| place.access == crate::authority::Access::ReadOnly)
            .map(|place| place.path.clone())
            .collect();
        Some(toolchains::lines(unseen, &read_only, &settings.path.0, home))
    }

    fn toolchains(&self) -> Vec<String> {
        let unseen = self.unseen();
        let Some(remedy) = self.remedy(&unseen) else { return Vec::new() };
        let names: Vec<&str> = unseen.iter().map(|chain| chain.name).collect();
        let mut lines = vec![
            entry("not visible", &format!("{} in your home", names.join(", "))),
            format!("  to make that visible, write into {}:", self.file.display()),
            "    [exec]".to_owned(),
        ];
        lines.extend(remedy.iter().map(|line| format!("    {line}")));
        lines
    }

    /// Everything, for programs.
    pub(super) fn json(&self) -> Value {
        let settings = &self.native.settings;
        let level = self.machine.level();
        let text = |path: &PathBuf| path.display().to_string();
        let features: Vec<Value> = self.machine.features.iter().map(feature_json).collect();
        let places = settings.places.iter();
        let unseen = self.unseen();
        let most = settings.most;
        json!({
            "kernel": self.machine.kernel,
            "level": level.map(Level::name),
            "meaning": level.map(Level::meaning),
            "min_level": settings.least.name(),
            "runs": self.runs(),
            "verdict": self.verdict(),
            "features": features,
            "directories": places
                .map(|place| json!({ "path": text(&place.path), "access": place.access.to_string() }))
                .collect::<Vec<_>>(),
            "absent": self.native.absent.iter().map(|(_, path)| text(path)).collect::<Vec<_>>(),
            "path": self.path().iter().map(text).collect::<Vec<_>>(),
            "environment": settings.environment.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "limits": {
                "timeout_seconds": settings.timeout.map(|time| time.as_secs()),
                "memory": most.memory,
                "processes": most.processes,
                "file_size": most.file,
                "descriptors": most.descriptors,
                "temporary": most.temporary,
                "processor_seconds": most.processor,
            },
            "toolchains": unseen.iter().map(|chain| chain.name).collect::<Vec<_>>(),
            "remedy": self.remedy(&unseen),
        })
    }
}

/// What every command sees of this system.
fn system() -> impl Iterator<Item = PathBuf> {
    exec::system().into_iter().filter(|path| config::canonical(path).is_ok())
}

fn entry(name: &str, says: &str) -> String {
    format!("{name:13} {says}")
}

fn place(path: &str, how: &str) -> String {
    format!("  {path}: {how}")
}

fn feature(found: &Found) -> Vec<String> {
    let name = found.feature.name();
    match &found.state {
        Ok(detail) if detail.is_empty() => vec![format!("  {name:17} yes")],
        Ok(detail) => vec![format!("  {name:17} yes, {detail}")],
        Err(missing) => vec![
            format!("  {name:17} no, {}", at(missing)),
            format!("    cause: {}", missing.cause),
            format!("    fix:   {}", missing.fix),
        ],
    }
}

fn at(missing: &Missing) -> String {
    match missing.errno_name() {
        Some(errno) => format!("{errno} at {}", missing.step),
        None => missing.step.clone(),
    }
}

fn feature_json(found: &Found) -> Value {
    let name = found.feature.name();
    match &found.state {
        Ok(detail) => json!({ "name": name, "present": true, "detail": detail }),
        Err(missing) => json!({
            "name": name,
            "present": false,
            "errno": missing.errno,
            "error": missing.errno_name(),
            "step": missing.step,
            "cause": missing.cause,
            "fix": missing.fix,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Dirs};
    use crate::exec::{Facts, Feature};

    /// A machine with everything but these, under a configuration.
    fn report(without: &[(Feature, i32)], configured: &str) -> Report {
        let home = std::env::temp_dir().join("ringfence-no-such-home");
        let dirs = Dirs { config: home.join("config"), data: home.join("data"), cache: home.join("cache") };
        let Ok(config) = Config::parse(configured) else { panic!("{configured}") };
        let Ok(native) = Native::of(&config, &dirs) else { panic!("{configured}") };
        let features = Feature::ALL.into_iter().map(|feature| {
            let missing = without.iter().find(|(missing, _)| *missing == feature);
            let state = match missing {
                Some((_, errno)) => Err(Facts::default().missing(feature, "a-step", *errno)),
                None => Ok("as it should be".to_owned()),
            };
            Found { feature, state }
        });
        let machine = Machine { kernel: "6.18.1".to_owned(), features: features.collect() };
        Report { machine, native, file: dirs.config.join("config.toml") }
    }

    #[test]
    fn each_level_is_told_and_the_least_decides() {
        use Feature::{ControlGroup, Landlock, Namespaces, Seccomp, UserNamespace};
        let cases: [(&[Feature], Option<Level>); 6] = [
            (&[], Some(Level::Full)),
            (&[ControlGroup], Some(Level::NoCgroup)),
            (&[Landlock], Some(Level::NoLandlock)),
            (&[UserNamespace], Some(Level::NoUserns)),
            (&[UserNamespace, Namespaces], Some(Level::Landlock)),
            (&[Seccomp], None),
        ];
        for (without, level) in cases {
            for least in Level::ALL.into_iter().filter(|least| *least != Level::Unsandboxed) {
                let without: Vec<_> = without.iter().map(|feature| (*feature, 1)).collect();
                let report = report(&without, &format!("[exec]\nmin_level = \"{least}\"\n"));
                let runs = level.is_some_and(|level| level >= least);
                assert_eq!(report.runs(), runs, "{level:?} {least}");
                let lines = report.lines().join("\n");
                assert_eq!(lines.contains("commands do not run"), !runs, "{lines}");
                assert_eq!(report.json()["runs"], runs);
                assert_eq!(report.json()["level"].as_str(), level.map(Level::name));
                assert!(lines.contains(level.map_or("no sandbox can be set up", Level::meaning)), "{lines}");
                // What would allow it is told where something would.
                let lower = level.filter(|level| *level < least);
                let remedy = lower.map(|level| format!("    min_level = \"{level}\""));
                assert_eq!(lines.contains("to allow it all the same"), remedy.is_some());
                if let Some(remedy) = remedy {
                    assert!(lines.contains(&remedy), "{lines}");
                    assert!(Config::parse(&format!("[exec]\n{remedy}\n")).is_ok());
                }
            }
        }
    }

    #[test]
    fn what_is_missing_has_its_error_its_cause_and_its_fix() {
        let report = report(&[(Feature::Landlock, 95), (Feature::ControlGroup, 13)], "");
        let lines = report.lines().join("\n");
        for part in [
            "landlock          no, EOPNOTSUPP at a-step",
            "cause: this kernel has Landlock, and it was not enabled",
            "fix:   add lsm=landlock",
            "control-group     no, EACCES at a-step",
            "seccomp           yes, as it should be",
            "memory",
            "/usr: read-only",
        ] {
            assert!(lines.contains(part), "{part}\nis not in\n{lines}");
        }
        let json = report.json();
        let landlock =
            json["features"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "landlock"));
        let Some(landlock) = landlock else { panic!("{json}") };
        assert_eq!(
            (landlock["present"].as_bool(), landlock["error"].as_str()),
            (Some(false), Some("EOPNOTSUPP"))
        );
        assert!(landlock["fix"].as_str().is_some_and(|fix| fix.contains("lsm=")), "{landlock}");
    }
}
