//! What a configuration file says, and what it must not say: each refusal names the place and what was meant.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use ringfence::authority::{
    Access, Capability, CapabilitySet, Directories, HostRule, Hosts, Profile, Rights, Role,
};
use ringfence::config::Config;
use toml::{Table, Value};

/// The profile `p` of a configuration that has nothing but its lines.
fn profile(lines: &str) -> Profile {
    let text = format!("[profiles.p]\n{lines}\n");
    Config::parse(&text).unwrap_or_else(|error| panic!("{error}\nin\n{text}")).profile("p").unwrap()
}

fn refusal(text: &str) -> String {
    match Config::parse(text) {
        Err(refusal) => refusal,
        Ok(config) => panic!("accepted: {text}\nas {config:?}"),
    }
}

#[test]
fn nothing_configured_is_nothing_but_the_roles() {
    for text in ["", "\n", "# a comment\n", "[profiles]\n"] {
        let config = Config::parse(text).unwrap();
        assert_eq!(config, Config::default(), "{text:?}");
        assert_eq!(config.profile_names().collect::<Vec<_>>(), ["main", "subagent", "cron"]);
        assert_eq!(config.profile("p"), None);
    }
}

#[test]
fn a_profile_that_says_no_more_than_its_role_takes_nothing_away() {
    for role in Role::ALL {
        let plain = Profile { name: "p".to_owned(), role, rights: Rights::all(), tools: None };
        assert_eq!(profile(&format!("role = \"{role}\"")), plain);
        assert!(plain.leaves("anything"));
    }
}

#[test]
fn a_profile_says_what_it_leaves() {
    let lines = r#"
        role = "subagent"
        capabilities = ["files", "network", "log"]
        files = "read-only"
        directories = ["/srv/docs", "/w/ws"]
        hosts = ["API.example.org.", "*.example.com:8443"]
        tools = ["read_file", "grep"]
    "#;
    let read = |path: &str| (path.into(), Access::ReadOnly);
    let hosts = ["api.example.org", "*.example.com:8443"].map(|host| HostRule::parse(host).unwrap());
    let expected = Profile {
        name: "p".to_owned(),
        role: Role::Subagent,
        rights: Rights {
            capabilities: CapabilitySet::of(&[Capability::Files, Capability::Network, Capability::Log]),
            directories: Directories::of([read("/srv/docs"), read("/w/ws")]),
            hosts: Hosts::of(hosts),
        },
        tools: Some(vec!["read_file".to_owned(), "grep".to_owned()]),
    };
    let read = profile(lines);
    assert_eq!(read, expected);
    assert!(read.leaves("grep") && !read.leaves("write_file") && !read.leaves("GREP"));
}

#[test]
fn every_capability_can_be_named() {
    for capability in Capability::ALL {
        let read = profile(&format!("role = \"main\"\ncapabilities = [\"{capability}\"]"));
        assert_eq!(read.rights.capabilities, CapabilitySet::of(&[capability]));
        assert_eq!(read.rights.directories, Rights::all().directories);
    }
}

#[test]
fn files_say_how_they_may_be_used() {
    let everywhere = Directories::everywhere;
    let rights = |lines: &str| profile(&format!("role = \"subagent\"\n{lines}")).rights;
    assert_eq!(rights("").directories, everywhere(Access::ReadWrite));
    assert_eq!(rights("files = \"read-write\""), Rights::all());
    assert_eq!(rights("files = \"read-only\"").directories, everywhere(Access::ReadOnly));
    assert_eq!(rights("files = \"read-only\"").capabilities, CapabilitySet::ALL);
    // None is none, also where the list of capabilities, before it or after it, names files.
    let named = "capabilities = [\"files\", \"exec\"]";
    for lines in [format!("files = \"none\"\n{named}"), format!("{named}\nfiles = \"none\"")] {
        assert_eq!(rights(&lines).capabilities, CapabilitySet::of(&[Capability::Exec]), "{lines}");
    }
    assert_eq!(rights("files = \"none\"").capabilities, CapabilitySet::ALL.without(Capability::Files));
}

/// A list with nothing in it leaves nothing, which is not the same as no list.
#[test]
fn empty_lists_leave_nothing() {
    let read = profile("role = \"main\"\ncapabilities = []\ndirectories = []\nhosts = []\ntools = []");
    assert_eq!(read.rights, Rights::none());
    assert_eq!(read.tools, Some(Vec::new()));
    assert!(!read.leaves("read_file") && !read.leaves(""));
}

#[test]
fn profiles_stand_side_by_side() {
    let text = r#"
        [profiles.writer]
        role = "main"
        [profiles.critic]
        role = "subagent"
        files = "read-only"
        [profiles."with space"]
        role = "subagent"
    "#;
    let config = Config::parse(text).unwrap();
    let names: Vec<&str> = config.profile_names().collect();
    assert_eq!(names, ["main", "subagent", "cron", "critic", "with space", "writer"]);
    for name in names {
        assert_eq!(config.profile(name).unwrap().name, name);
    }
    assert_eq!(config.profile("writer").unwrap().role, Role::Main);
    assert_eq!(config.profile("critic").unwrap().role, Role::Subagent);
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_with_what_was_meant() {
    let inside = |line: &str| format!("[profiles.p]\nrole = \"main\"\n{line}\n");
    for (text, refused) in [
        ("profile = 1".to_owned(), "the file: unknown key `profile`; did you mean `profiles`?"),
        (
            "[Profiles.p]\nrole = \"main\"".to_owned(),
            "the file: unknown key `Profiles`; did you mean `profiles`?",
        ),
        ("[something_else]".to_owned(), "the file: unknown key `something_else`"),
        (inside("capabilites = []"), "profiles.p: unknown key `capabilites`; did you mean `capabilities`?"),
        (inside("tool = []"), "profiles.p: unknown key `tool`; did you mean `tools`?"),
        (inside("host = []"), "profiles.p: unknown key `host`; did you mean `hosts`?"),
        (inside("dirs = []"), "profiles.p: unknown key `dirs`; did you mean `directories`?"),
        (inside("Files = \"none\""), "profiles.p: unknown key `Files`; did you mean `files`?"),
        (inside("[profiles.p.rights]"), "profiles.p: unknown key `rights`"),
        (inside("rloe = \"main\""), "profiles.p: unknown key `rloe`; did you mean `role`?"),
    ] {
        let refusal = refusal(&text);
        assert!(refusal.starts_with(refused), "{refusal}\nfor\n{text}");
        assert_eq!(refusal.contains("did you mean"), refused.contains("did you mean"), "{refusal}");
    }
}

#[test]
fn a_bad_value_is_named_with_its_place_and_with_what_would_do() {
    for (line, refused) in [
        ("role = \"admin\"", "profiles.p.role: there is no role `admin`; write \"main\" or \"subagent\""),
        ("role = \"Main\"", "profiles.p.role: there is no role `Main`; write \"main\" or \"subagent\""),
        ("role = 1", "profiles.p.role: expected a string"),
        ("files = \"none\"", "profiles.p: `role` is missing; write role = \"subagent\" or \"main\""),
        ("files = \"rw\"", "profiles.p.files: `rw` is none of \"read-write\", \"read-only\", \"none\""),
        ("files = false", "profiles.p.files: expected a string"),
        (
            "capabilities = [\"files\", \"networks\"]",
            "profiles.p.capabilities: there is no capability `networks`; did you mean `network`?",
        ),
        (
            "capabilities = [\"Exec\"]",
            "profiles.p.capabilities: there is no capability `Exec`; did you mean `exec`?",
        ),
        ("capabilities = [\"everything\"]", "profiles.p.capabilities: there is no capability `everything`"),
        ("capabilities = \"files\"", "profiles.p.capabilities: expected a list of strings"),
        ("capabilities = [1]", "profiles.p.capabilities: expected a list of strings"),
        ("directories = [\"docs\"]", "profiles.p.directories: `docs` is not an absolute path without `..`"),
        (
            "directories = [\"~/docs\"]",
            "profiles.p.directories: `~/docs` is not an absolute path without `..`",
        ),
        (
            "directories = [\"/a\", \"/a/../b\"]",
            "profiles.p.directories: `/a/../b` is not an absolute path without `..`",
        ),
        ("directories = [\"\"]", "profiles.p.directories: `` is not an absolute path without `..`"),
        ("directories = \"/a\"", "profiles.p.directories: expected a list of strings"),
        ("directories = [[\"/a\"]]", "profiles.p.directories: expected a list of strings"),
        (
            "hosts = [\"a.org\", \"https://b.org\"]",
            "profiles.p.hosts: `https://b.org` is not a host: write a name",
        ),
        ("hosts = [\"*\"]", "profiles.p.hosts: `*` is not a host: write a name"),
        ("hosts = { a = 1 }", "profiles.p.hosts: expected a list of strings"),
        ("tools = [\"grep\", 2]", "profiles.p.tools: expected a list of strings"),
        ("tools = true", "profiles.p.tools: expected a list of strings"),
    ] {
        let role = if refused.contains("role") { "" } else { "role = \"main\"\n" };
        let text = format!("[profiles.p]\n{role}{line}\n");
        let refusal = refusal(&text);
        assert!(refusal.starts_with(refused), "{refusal}\nfor\n{text}");
    }
    assert_eq!(refusal("profiles = 1"), "profiles: expected a table");
    assert_eq!(refusal("[[profiles]]"), "profiles: expected a table");
    assert_eq!(refusal("[profiles]\np = \"main\""), "profiles.p: expected a table");
}

/// One bad profile refuses the file, wherever it stands: a file is used whole or not at all.
#[test]
fn a_file_is_used_whole_or_not_at_all() {
    for text in [
        "[profiles.bad]\nrole = \"admin\"\n[profiles.good]\nrole = \"main\"\n",
        "[profiles.good]\nrole = \"main\"\n[profiles.bad]\nrole = \"admin\"\n",
    ] {
        assert!(refusal(text).starts_with("profiles.bad.role: "));
    }
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    for (text, line) in [
        ("[profiles.p\nrole = \"main\"\n", "line 1"),
        ("[profiles.p]\nrole = main\n", "line 2"),
        ("[profiles.p]\nrole = \"main\"\nrole = \"subagent\"\n", "line 3"),
        ("[profiles.p]\nrole = \"main\"\n\n[profiles.p]\n", "line 4"),
        ("\u{0}", "line 1"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(line), "{refusal}\nfor\n{text}");
    }
}

/// Any TOML, with the names that the configuration knows among its keys and strings.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => words().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::Integer),
        1 => any::<f64>().prop_map(Value::Float),
        1 => any::<bool>().prop_map(Value::Boolean),
        1 => Just(Value::Datetime("1979-05-27T07:32:00Z".parse().unwrap())),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            btree_map(words(), inner, 0..6).prop_map(|entries| Value::Table(entries.into_iter().collect())),
        ]
    })
}

fn words() -> impl Strategy<Value = String> {
    let known = [
        "profiles",
        "role",
        "capabilities",
        "files",
        "directories",
        "hosts",
        "tools",
        "main",
        "subagent",
        "network",
        "exec",
        "read-only",
        "read-write",
        "none",
        "/",
        "/a",
        "/a/../b",
        "*.a.org",
        "a.org:80",
        "grep",
        "",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

/// The table of a profile that is nearly or fully right: known keys, with values that often fit.
fn near_profile() -> impl Strategy<Value = Value> {
    let list = |items: &'static [&'static str]| {
        vec(prop::sample::select(items), 0..4)
            .prop_map(|items| Value::Array(items.into_iter().map(Value::from).collect()))
    };
    let one = |items: &'static [&'static str]| prop::sample::select(items).prop_map(Value::from);
    let fitting = (
        one(&["main", "subagent"]),
        prop::option::of(list(&["files", "network", "exec", "log", "message", "spawn", "tasks", "cron"])),
        prop::option::of(one(&["read-only", "read-write", "none"])),
        prop::option::of(list(&["/", "/a", "/a/b", "/c"])),
        prop::option::of(list(&["a.org", "*.a.org:80", "b.org:8080"])),
        prop::option::of(list(&["grep", "read_file"])),
    )
        .prop_map(|(role, capabilities, files, directories, hosts, tools)| {
            let rest = [
                ("capabilities", capabilities),
                ("files", files),
                ("directories", directories),
                ("hosts", hosts),
                ("tools", tools),
            ];
            let rest = rest.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            std::iter::once(("role".to_owned(), role)).chain(rest).collect::<Table>()
        });
    (fitting, prop::option::weighted(0.2, (words(), value()))).prop_map(|(mut table, odd)| {
        table.extend(odd);
        Value::Table(table)
    })
}

/// What must hold of every text: it is refused with a reason, or understood as profiles that say no more than they say.
fn check(text: &str) -> Result<(), TestCaseError> {
    match Config::parse(text) {
        Err(refusal) => prop_assert!(!refusal.trim().is_empty()),
        Ok(config) => {
            let table: Table = text.parse().unwrap();
            let written = table.get("profiles").and_then(Value::as_table).cloned().unwrap_or_default();
            prop_assert_eq!(config.profiles.len(), written.len());
            for (name, profile) in &config.profiles {
                let says = |key: &str| written[name].get(key);
                prop_assert_eq!(&profile.name, name);
                prop_assert_eq!(says("role").and_then(Value::as_str), Some(profile.role.name()));
                let named = |text: &str| {
                    says("capabilities").is_none_or(|list| {
                        list.as_array().unwrap().iter().any(|item| item.as_str() == Some(text))
                    })
                };
                let without_files = says("files").and_then(Value::as_str) == Some("none");
                for capability in Capability::ALL {
                    let left =
                        named(capability.name()) && !(without_files && capability == Capability::Files);
                    prop_assert_eq!(profile.rights.capabilities.contains(capability), left, "{}", capability);
                }
                let written = says("files").and_then(Value::as_str).unwrap_or("read-write") == "read-write";
                let most = if written { Access::ReadWrite } else { Access::ReadOnly };
                prop_assert!(profile.rights.directories.is_within(&Directories::everywhere(most)));
                prop_assert_eq!(says("hosts").is_none(), profile.rights.hosts == Hosts::everywhere());
                prop_assert_eq!(says("tools").is_none(), profile.tools.is_none());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_understood_or_refused(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_text_in_a_profile_is_understood_or_refused(line in "[a-z]{0,12} ?=? ?[\\[{\"']?.{0,20}[\\]}\"']?") {
        check(&format!("[profiles.p]\nrole = \"main\"\n{line}\n"))?;
    }

    #[test]
    fn any_toml_is_understood_or_refused(table in btree_map(words(), value(), 0..4)) {
        check(&table.into_iter().collect::<Table>().to_string())?;
    }

    #[test]
    fn nearly_right_profiles_are_understood_or_refused(profiles in btree_map("[a-z]{1,3}", near_profile(), 0..4)) {
        let profiles: Table = profiles.into_iter().collect();
        check(&Table::from_iter([("profiles".to_owned(), Value::Table(profiles))]).to_string())?;
    }
}
