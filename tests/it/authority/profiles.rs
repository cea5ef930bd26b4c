//! Roles and configured profiles: a profile can name anything, and gets what its role has of it.

use ringfence::authority::{
    Access, Capability, CapabilitySet, Ceiling, Directories, Effective, Flags, Grant, Hosts, Profile, Rights,
    Role,
};
use ringfence::config::Config;
use std::path::Path;

const MAINS_ALONE: [Capability; 4] =
    [Capability::Message, Capability::Spawn, Capability::Tasks, Capability::Cron];

/// The most that anyone could be given under a role: a tool with every grant, a run that takes nothing away.
fn most(role: Role, workspace: &str) -> Effective {
    let ceiling = Ceiling::of(role, Path::new(workspace));
    Effective::of(&ceiling, &Grant(Rights::all()), None, &Flags(Rights::all()))
}

#[test]
fn a_subagent_has_the_workspace_and_nothing_that_reaches_people_or_time() {
    for workspace in ["/w/ws", "/", "/deep/er/and/deeper"] {
        let held = most(Role::Subagent, workspace);
        for capability in Capability::ALL {
            assert_eq!(held.holds(capability), !MAINS_ALONE.contains(&capability), "{capability}");
            assert_eq!(held.holds(capability), Role::holding(capability).any(|role| role == Role::Subagent));
        }
        let workspace = Directories::of([(workspace.into(), Access::ReadWrite)]);
        assert_eq!(held.rights().directories, workspace);
    }
    assert_eq!(most(Role::Main, "/w/ws").rights(), &Rights::all());
}

/// A ceiling cannot be had in a place that is not named, such as a workspace that was never resolved.
#[test]
fn a_subagent_in_no_place_has_no_files() {
    for workspace in ["", "ws", "./ws", "/w/../etc"] {
        assert_eq!(most(Role::Subagent, workspace).rights().directories, Directories::none(), "{workspace}");
    }
}

/// Every set of capabilities that a profile can name, under each role.
#[test]
fn a_profile_that_names_what_its_role_lacks_does_not_get_it() {
    for role in Role::ALL {
        for bits in 0..=u8::MAX {
            let named = CapabilitySet::from_bits(bits);
            let list: Vec<String> = named.iter().map(|capability| format!("\"{capability}\"")).collect();
            let text = format!("[profiles.p]\nrole = \"{role}\"\ncapabilities = [{}]\n", list.join(", "));
            let profile = Config::parse(&text).unwrap().profile("p").unwrap();
            assert_eq!((profile.role, profile.rights.capabilities), (role, named));
            let held = most(role, "/w/ws").within(&profile);
            assert_eq!(held.rights().capabilities, named.meet(role.capabilities()), "{text}");
            for capability in MAINS_ALONE {
                let may = role == Role::Main && named.contains(capability);
                assert_eq!(held.holds(capability), may, "{capability} for {text}");
            }
        }
    }
}

#[test]
fn a_profile_that_names_places_and_hosts_its_role_lacks_does_not_get_them() {
    let text = r#"
        [profiles.wide]
        role = "subagent"
        directories = ["/", "/w/ws/inside", "/elsewhere"]
        [profiles.reader]
        role = "subagent"
        files = "read-only"
        hosts = ["*.example.org"]
    "#;
    let config = Config::parse(text).unwrap();
    let held = most(Role::Subagent, "/w/ws").within(&config.profile("wide").unwrap());
    assert_eq!(held, most(Role::Subagent, "/w/ws"));
    let held = most(Role::Subagent, "/w/ws").within(&config.profile("reader").unwrap());
    let read = Directories::of([("/w/ws".into(), Access::ReadOnly)]);
    assert_eq!(held.rights().directories, read);
    assert!(held.rights().hosts.allow("api.example.org", 443));
    assert!(!held.rights().hosts.allow("example.com", 443));
    // A run without hosts has none, whatever its profile names.
    let flags = Flags(Rights { hosts: Hosts::none(), ..Rights::all() });
    let ceiling = Ceiling::of(Role::Subagent, Path::new("/w/ws"));
    let held = Effective::of(&ceiling, &Grant(Rights::all()), None, &flags);
    assert_eq!(held.within(&config.profile("reader").unwrap()).rights().hosts, Hosts::none());
}

/// No profile can take the name of a role, so that a role's name always means the role.
#[test]
fn a_roles_name_is_the_role_and_no_profile() {
    for role in Role::ALL {
        let text = format!("[profiles.{role}]\nrole = \"main\"\n");
        let error = Config::parse(&text).unwrap_err();
        assert!(error.contains(&format!("profiles.{role}")) && error.contains("is a role"), "{error}");
        let plain = Config::default().profile(role.name()).unwrap();
        assert_eq!((plain.role, &plain.rights, &plain.tools), (role, &Rights::all(), &None));
        assert_eq!(most(role, "/w/ws").within(&plain), most(role, "/w/ws"));
    }
}

/// A scheduled turn has what main has, and cannot schedule; nothing that is configured changes what `cron` means.
#[test]
fn cron_is_main_that_cannot_schedule() {
    let main = most(Role::Main, "/w/ws");
    let cron = Profile::cron();
    assert_eq!((cron.name.as_str(), cron.role, &cron.tools), ("cron", Role::Main, &None));
    let held = main.within(&cron);
    for capability in Capability::ALL {
        assert_eq!(held.holds(capability), capability != Capability::Cron, "{capability}");
    }
    assert_eq!(held.rights().directories, main.rights().directories);
    assert_eq!(held.rights().hosts, main.rights().hosts);
    // What its creator did not hold, it does not hold either.
    let creator = Rights { capabilities: CapabilitySet::of(&[Capability::Cron]), ..Rights::all() };
    let grant = Grant(creator);
    let held =
        Effective::of(&Ceiling::of(Role::Main, Path::new("/w/ws")), &grant, None, &Flags(Rights::all()));
    assert_eq!(held.within(&cron).rights().capabilities, CapabilitySet::NONE);

    let config = Config::default();
    assert_eq!(config.profile("cron"), Some(cron.clone()));
    let text = "[profiles.cron]\nrole = \"main\"\ncapabilities = [\"cron\"]\n";
    let error = Config::parse(text).unwrap_err();
    assert_eq!(
        error,
        "profiles.cron: `cron` is a profile that is built in and cannot be configured; choose another name"
    );
    // A near name is the user's own.
    let config = Config::parse("[profiles.Cron]\nrole = \"main\"\n").unwrap();
    assert_eq!(config.profile("Cron").unwrap().rights, Rights::all());
    assert_eq!(config.profile("cron"), Some(cron));
}

#[test]
fn what_is_built_in_is_known_by_its_name_and_nothing_else_is() {
    for name in Profile::BUILT_IN {
        assert_eq!(Profile::built_in(name).unwrap().name, name);
    }
    for role in Role::ALL {
        assert_eq!(Profile::built_in(role.name()), Some(Profile::plain(role)));
    }
    for name in ["", "Main", "cron ", "crons", "CRON"] {
        assert_eq!(Profile::built_in(name), None, "{name:?}");
    }
}
