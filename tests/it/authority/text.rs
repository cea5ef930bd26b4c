//! Rights as a text: exactly themselves when they are read back, and no other text gives any.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence::authority::{
    Access, Capability, CapabilitySet, Directories, HostPattern, HostRule, Hosts, Rights,
};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// Paths of all kinds: places, other spellings of them, bytes that are no text, and what names no place.
fn path() -> impl Strategy<Value = PathBuf> {
    const KNOWN: &[&str] =
        &["/", "/w", "/w/", "//w/./a", "/w/a/b", "/w/..", "w", "", "/with \"quotes\"\n\u{1b}", "/ä/日本"];
    prop_oneof![
        2 => prop::sample::select(KNOWN).prop_map(PathBuf::from),
        1 => any::<String>().prop_map(|name| PathBuf::from(format!("/{name}"))),
        1 => vec(any::<u8>(), 0..12).prop_map(|bytes| {
            OsString::from_vec([b"/w/".as_slice(), &bytes].concat()).into()
        }),
    ]
}

fn rule() -> impl Strategy<Value = HostRule> {
    const KNOWN: &[&str] =
        &["a.org", "x.a.org", "org", "127.0.0.1", "::1", "2001:db8::1", "A.org", "*", "a.org:80", "", "b-_c"];
    let name = prop_oneof![
        3 => prop::sample::select(KNOWN).prop_map(str::to_owned),
        1 => "[a-z0-9.*:-]{0,12}",
    ];
    let pattern = (name, 0..3).prop_map(|(name, kind)| match kind {
        0 => HostPattern::Any,
        1 => HostPattern::Below(name),
        _ => HostPattern::Exact(name),
    });
    (pattern, prop::option::of(any::<u16>())).prop_map(|(pattern, port)| HostRule { pattern, port })
}

/// Everything that the constructors make.
fn rights() -> impl Strategy<Value = Rights> {
    let access = || prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)];
    let directories = prop_oneof![
        4 => vec((path(), access()), 0..5).prop_map(Directories::of),
        1 => access().prop_map(Directories::everywhere),
    ];
    let hosts = prop_oneof![4 => vec(rule(), 0..5).prop_map(Hosts::of), 1 => Just(Hosts::everywhere())];
    (any::<u8>(), directories, hosts).prop_map(|(bits, directories, hosts)| Rights {
        capabilities: CapabilitySet::from_bits(bits),
        directories,
        hosts,
    })
}

/// One change of a text, somewhere.
fn changed(text: &str, at: usize, to: char) -> String {
    let at = at % text.chars().count();
    text.chars().enumerate().map(|(index, c)| if index == at { to } else { c }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn rights_come_back_as_they_were(rights in rights()) {
        let text = rights.to_text();
        prop_assert!(!text.contains('\n'));
        let back = Rights::from_text(&text);
        prop_assert_eq!(back.as_ref(), Ok(&rights), "{}", text);
        prop_assert_eq!(back.unwrap().to_text(), text);
    }

    #[test]
    fn equal_rights_have_one_text(a in rights(), b in rights()) {
        prop_assert_eq!(a == b, a.to_text() == b.to_text());
        let met = a.meet(&b);
        prop_assert!(Rights::from_text(&met.to_text()).unwrap().is_within(&a));
    }

    /// Whatever is read is what the text says: it would be written just so.
    #[test]
    fn a_changed_text_is_refused_or_says_something_else(rights in rights(), at in any::<usize>(), to in any::<char>()) {
        let text = changed(&rights.to_text(), at, to);
        if let Ok(read) = Rights::from_text(&text) {
            prop_assert_eq!(read.to_text(), text);
        }
    }

    #[test]
    fn no_other_text_gives_rights(text in any::<String>()) {
        prop_assert!(Rights::from_text(&text).is_err());
    }
}

#[test]
fn the_text_is_as_it_was_when_rights_were_kept() {
    let rights = Rights {
        capabilities: CapabilitySet::of(&[Capability::Cron, Capability::Files]),
        directories: Directories::of([
            ("/w/ws/".into(), Access::ReadWrite),
            (OsString::from_vec(b"/w/\xff".to_vec()).into(), Access::ReadOnly),
        ]),
        hosts: Hosts::of([
            HostRule { pattern: HostPattern::Exact("::1".to_owned()), port: Some(443) },
            HostRule { pattern: HostPattern::Below("a.org".to_owned()), port: None },
        ]),
    };
    let text = concat!(
        r#"{"capabilities":["files","cron"],"directories":[{"access":"read-write","path":"/w/ws"},"#,
        r#"{"access":"read-only","path":[47,119,47,255]}],"#,
        r#""hosts":[{"name":"*.a.org","port":"any"},{"name":"::1","port":443}]}"#,
    );
    assert_eq!(rights.to_text(), text);
    assert_eq!(Rights::from_text(text), Ok(rights));
    let all = r#"{"access":"read-write","path":"/"}"#;
    assert!(Rights::all().to_text().contains(all), "{}", Rights::all().to_text());
    assert!(Rights::all().to_text().contains(r#"{"name":"*","port":"any"}"#));
    assert_eq!(Rights::none().to_text(), r#"{"capabilities":[],"directories":[],"hosts":[]}"#);
}

/// The text of some rights, changed as JSON.
fn with(change: impl FnOnce(&mut Value)) -> String {
    let mut value = json!({
        "capabilities": ["files"],
        "directories": [{ "access": "read-only", "path": "/w" }],
        "hosts": [{ "name": "a.org", "port": 443 }],
    });
    change(&mut value);
    value.to_string()
}

#[test]
fn what_nobody_wrote_here_is_refused_with_a_reason() {
    let good = with(|_| {});
    assert!(Rights::from_text(&good).is_ok(), "{good}");
    let unusual = "they are not written as this program writes them";
    for (text, why) in [
        (String::new(), "EOF"),
        ("null".to_owned(), "expected struct"),
        (format!("{good} "), unusual),
        (format!(" {good}"), unusual),
        (format!("{good}{good}"), "trailing characters"),
        (format!("{good}x"), "trailing characters"),
        (r#"[["files"],[],[]]"#.to_owned(), unusual),
        (good.replacen('{', r#"{"capabilities":["exec"],"#, 1), "duplicate field `capabilities`"),
        (good.replace(r#""port":443"#, r#""port":443,"port":"any""#), "duplicate field `port`"),
        (good.replace(r#""path":"/w""#, r#""path":"/w","path":"/""#), "duplicate field `path`"),
        (with(|v| v["more"] = json!([])), "unknown field `more`"),
        (with(|v| v["hosts"][0]["scheme"] = json!("http")), "unknown field `scheme`"),
        (with(|v| v["directories"][0]["below"] = json!(true)), "unknown field `below`"),
        (with(|v| drop(v.as_object_mut().unwrap().remove("hosts"))), "missing field `hosts`"),
        (with(|v| drop(v["hosts"][0].as_object_mut().unwrap().remove("port"))), "missing field `port`"),
        (
            with(|v| drop(v["directories"][0].as_object_mut().unwrap().remove("access"))),
            "missing field `access`",
        ),
        (with(|v| v["capabilities"] = json!("files")), "invalid type"),
        (with(|v| v["capabilities"] = json!([3])), "invalid type"),
        (with(|v| v["capabilities"] = json!(null)), "invalid type"),
        (with(|v| v["capabilities"] = json!(["everything"])), "there is no capability `everything`"),
        (with(|v| v["capabilities"] = json!(["Files"])), "there is no capability `Files`"),
        (with(|v| v["capabilities"] = json!(["files", "files"])), unusual),
        (with(|v| v["capabilities"] = json!(["exec", "files"])), unusual),
        (with(|v| v["directories"][0]["access"] = json!("write")), "there is no access `write`"),
        (with(|v| v["directories"][0]["path"] = json!(7)), "did not match any variant"),
        (with(|v| v["directories"][0]["path"] = json!([47, 300])), "did not match any variant"),
        // What names no place would be left out, and text is not written as bytes.
        (with(|v| v["directories"][0]["path"] = json!("w")), unusual),
        (with(|v| v["directories"][0]["path"] = json!("/w/../etc")), unusual),
        (with(|v| v["directories"][0]["path"] = json!("/w/")), unusual),
        (with(|v| v["directories"][0]["path"] = json!([47, 119])), unusual),
        (with(|v| v["hosts"][0]["port"] = json!(65_536)), "did not match any variant"),
        (with(|v| v["hosts"][0]["port"] = json!(-1)), "did not match any variant"),
        (with(|v| v["hosts"][0]["port"] = json!(null)), "did not match any variant"),
        (with(|v| v["hosts"][0]["port"] = json!("443")), "there is no port `443`"),
        (with(|v| v["hosts"][0]["name"] = json!("A.org")), unusual),
        (with(|v| v["hosts"][0]["name"] = json!("*.")), unusual),
        (with(|v| v["hosts"][0]["name"] = json!("*.*")), unusual),
    ] {
        let error = Rights::from_text(&text).map(|rights| panic!("{text} gave {rights:?}")).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("these rights cannot be read: ") && error.contains(why), "{text}: {error}");
    }
}
