//! Rights to hosts against a plain model: labels compared one by one, at each host and port of a pool.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence::authority::{HostPattern, HostRule, Hosts};

/// Labels, one of them the end of another, so that a comparison of letters would be seen.
const LABELS: [&str; 3] = ["a", "ab", "b"];
const PORTS: [u16; 3] = [80, 443, 8080];
/// No rule is about the last of them, and none about a part of one.
const ADDRESSES: [&str; 3] = ["10.0.0.1", "192.168.1.5", "::1"];

/// A rule in the model's words.
#[derive(Debug, Clone, PartialEq)]
enum Model {
    Any,
    Below(Vec<&'static str>),
    Name(Vec<&'static str>),
    Address(&'static str),
}

type ModelRule = (Model, Option<u16>);

fn covers((pattern, port): &ModelRule, host: &Model, at: u16) -> bool {
    let pattern = match (pattern, host) {
        (Model::Any, _) => true,
        (Model::Below(name), Model::Name(host)) => host.len() > name.len() && host.ends_with(name),
        (pattern, host) => pattern == host,
    };
    pattern && port.is_none_or(|port| port == at)
}

fn model(rules: &[ModelRule], host: &Model, port: u16) -> bool {
    rules.iter().any(|rule| covers(rule, host, port))
}

fn text(host: &Model) -> String {
    match host {
        Model::Any => "*".to_owned(),
        Model::Below(labels) | Model::Name(labels) => labels.join("."),
        Model::Address(address) => (*address).to_owned(),
    }
}

fn hosts(rules: &[ModelRule]) -> Hosts {
    Hosts::of(rules.iter().map(|(pattern, port)| HostRule {
        port: *port,
        pattern: match pattern {
            Model::Any => HostPattern::Any,
            Model::Below(_) => HostPattern::Below(text(pattern)),
            Model::Name(_) | Model::Address(_) => HostPattern::Exact(text(pattern)),
        },
    }))
}

/// Every host of at most three labels, one of which no rule has, and the addresses, each at every port.
fn points() -> Vec<(Model, u16)> {
    let labels = || LABELS.into_iter().chain(["z"]);
    let mut names: Vec<Vec<&str>> = labels().map(|label| vec![label]).collect();
    let mut last = names.clone();
    for _ in 0..2 {
        last = last.iter().flat_map(|name| labels().map(|label| [&[label], &name[..]].concat())).collect();
        names.extend(last.iter().cloned());
    }
    let hosts = names.into_iter().map(Model::Name).chain(ADDRESSES.map(Model::Address));
    hosts.flat_map(|host| PORTS.map(|port| (host.clone(), port))).collect()
}

fn rules() -> impl Strategy<Value = Vec<ModelRule>> {
    let name = || vec(prop::sample::select(&LABELS[..]), 1..3);
    let pattern = prop_oneof![
        1 => Just(Model::Any),
        4 => name().prop_map(Model::Below),
        4 => name().prop_map(Model::Name),
        1 => prop::sample::select(&ADDRESSES[..2]).prop_map(Model::Address),
    ];
    vec((pattern, prop::option::of(prop::sample::select(&PORTS[..2]))), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn they_allow_what_the_model_allows(rules in rules()) {
        let hosts = hosts(&rules);
        for (host, port) in points() {
            let allowed = model(&rules, &host, port);
            prop_assert_eq!(hosts.allow(&text(&host), port), allowed, "{:?}:{}", host, port);
        }
    }

    #[test]
    fn a_meet_allows_what_both_allow(a in rules(), b in rules()) {
        let met = hosts(&a).meet(&hosts(&b));
        for (host, port) in points() {
            let both = model(&a, &host, port) && model(&b, &host, port);
            prop_assert_eq!(met.allow(&text(&host), port), both, "{:?}:{}", host, port);
        }
        prop_assert!(met.is_within(&hosts(&a)) && met.is_within(&hosts(&b)));
    }

    #[test]
    fn a_meet_is_the_same_value_in_any_order(a in rules(), b in rules(), c in rules()) {
        let (a, b, c) = (hosts(&a), hosts(&b), hosts(&c));
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(&a.meet(&a), &a);
        prop_assert_eq!(&a.meet(&Hosts::everywhere()), &a);
        prop_assert_eq!(a.meet(&Hosts::none()), Hosts::none());
    }

    #[test]
    fn within_is_allowed_there_too(a in rules(), b in rules()) {
        let less = points().iter().all(|(host, port)| !model(&a, host, *port) || model(&b, host, *port));
        prop_assert_eq!(hosts(&a).is_within(&hosts(&b)), less);
    }

    #[test]
    fn equal_rights_are_equal_values(a in rules(), b in rules()) {
        let alike = points().iter().all(|(host, port)| model(&a, host, *port) == model(&b, host, *port));
        prop_assert_eq!(hosts(&a) == hosts(&b), alike);
    }

    /// The same, where chance alone would seldom make them equal: another order, twice over, with covered rules added.
    #[test]
    fn the_way_they_were_written_down_does_not_matter(rules in rules().prop_shuffle()) {
        let plain = hosts(&rules);
        let mut verbose: Vec<ModelRule> = rules.iter().rev().cloned().collect();
        verbose.extend(rules.iter().map(|(pattern, _)| (pattern.clone(), Some(443))).filter(|rule| {
            rules.iter().any(|(pattern, port)| *pattern == rule.0 && port.is_none_or(|port| port == 443))
        }));
        verbose.extend(rules.iter().filter_map(|(pattern, port)| match pattern {
            Model::Any => Some((Model::Name(vec!["a", "b"]), *port)),
            Model::Below(name) => Some((Model::Below([&["a"], &name[..]].concat()), *port)),
            Model::Name(_) | Model::Address(_) => None,
        }));
        prop_assert_eq!(&hosts(&verbose), &plain);
        prop_assert_eq!(&Hosts::of(plain.iter().cloned()), &plain);
    }

    /// Nothing that a person can write makes it panic, and what it accepts has one spelling, which reads as itself.
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![any::<String>(), near_miss()]) {
        if let Ok(rule) = HostRule::parse(&text) {
            let shown = rule.to_string();
            prop_assert_eq!(HostRule::parse(&shown), Ok(rule.clone()), "{} of {}", shown, text);
            let (HostPattern::Exact(name) | HostPattern::Below(name)) = &rule.pattern else {
                return Err(TestCaseError::fail(format!("{text} is a rule for every host")));
            };
            prop_assert!(rule.port.is_some_and(|port| port != 0), "{}", text);
            prop_assert!(name.len() <= 253 && name.split('.').all(|l| (1..=63).contains(&l.len())), "{}", name);
            let plain = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.');
            prop_assert!(name.chars().all(plain), "{}", name);
            let below = matches!(rule.pattern, HostPattern::Below(_));
            for port in rule.port.into_iter().chain([1]) {
                prop_assert_eq!(rule.covers(name, port), !below && Some(port) == rule.port, "{}", name);
            }
        }
    }

    /// No rule covers a host that is spelled in another way than hosts are compared, not even the rule for every host.
    #[test]
    fn what_is_no_host_is_covered_by_no_rule(
        start in near_miss(),
        end in prop::sample::select(&["", "org", ".org", "a.org", ".a.org"][..]),
        rule in prop::sample::select(&["org", "*.org", "a.org", "*.a.org"][..]),
    ) {
        let host = start + end;
        let plain = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.');
        let address = host.parse::<std::net::IpAddr>().is_ok();
        if !address && (!host.chars().all(plain) || host.split('.').any(str::is_empty)) {
            prop_assert!(!parse(rule).covers(&host, 443), "{} covers {:?}", rule, host);
            prop_assert!(!Hosts::everywhere().allow(&host, 443), "{:?}", host);
        }
    }
}

/// Text made of what hosts are made of, and of what has been used to make them look like others.
fn near_miss() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b",
        "A",
        "evil",
        "org",
        "1",
        "0x1",
        "127",
        ".",
        ".",
        ".",
        "*",
        "*.",
        ":",
        ":443",
        ":0",
        ":+1",
        ":65536",
        "-",
        "_",
        "%",
        "%25",
        "@",
        "/",
        "\\",
        "#",
        "?",
        " ",
        "\t",
        "\n",
        "\0",
        "[",
        "]",
        "::",
        "::1",
        "::ffff:1.2.3.4",
        "\u{3002}",
        "\u{ff0e}",
        "\u{430}",
        "xn--",
        "\u{200b}",
    ];
    vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
}

fn parse(rule: &str) -> HostRule {
    HostRule::parse(rule).unwrap()
}

#[test]
fn a_rule_is_read_into_one_spelling() {
    for (written, shown) in [
        ("api.example.org", "api.example.org:443"),
        ("API.Example.ORG.", "api.example.org:443"),
        ("api.example.org:8080", "api.example.org:8080"),
        ("api.example.org.:80", "api.example.org:80"),
        ("*.example.org", "*.example.org:443"),
        ("*.Example.org.:8443", "*.example.org:8443"),
        ("localhost:3000", "localhost:3000"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example:443"),
        ("under_score.example.org", "under_score.example.org:443"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
    ] {
        assert_eq!(parse(written).to_string(), shown, "{written}");
        assert_eq!(parse(shown), parse(written));
    }
}

#[test]
fn what_names_no_host_is_refused() {
    let label = "l".repeat(63);
    let longest = [label.as_str(); 4].join(".")[..253].to_owned();
    assert_eq!(parse(&longest).pattern, HostPattern::Exact(longest.clone()));
    assert_eq!(parse(&format!("*.{longest}")).pattern, HostPattern::Below(longest.clone()));
    let long =
        [format!("{longest}l"), format!("*.{longest}l"), format!("l{label}.org"), format!("*.l{label}")];
    let refused = [
        "",
        ".",
        "*",
        "*.",
        "*.*",
        "**.example.org",
        "*.*.example.org",
        "a.*.org",
        "*a.org",
        "..",
        "a..org",
        ".org",
        "*..org",
        "org..",
        "a b.org",
        " a.org",
        "a.org ",
        "a.org\n",
        "a.org\0",
        // Ports.
        "a.org:",
        "a.org:0",
        "a.org:+443",
        "a.org:-1",
        "a.org:65536",
        "a.org:443:443",
        "a.org:https",
        ":443",
        "*:443",
        // IPv6 addresses, with and without a zone.
        "::1",
        "[::1]",
        "[::1]:443",
        "fe80::1%eth0",
        "[fe80::1%25eth0]:443",
        "::ffff:1.2.3.4%x.allowed.com",
        // User names, schemes, paths.
        "allowed.com@evil.com",
        "user:password@evil.com",
        "https://a.org",
        "a.org/",
        "a.org/path",
        "a.org#x",
        "a.org?x",
        // Letters that look like others, and dots that are none.
        "\u{430}llowed.com",
        "bücher.example",
        "a\u{3002}org",
        "a\u{ff0e}org",
        "a\u{200b}.org",
        // Addresses in spellings that resolvers read in their own way, and parts of addresses.
        "1",
        "127.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "256.0.0.1",
        "1.2.3.4.5",
        "*.0.0.1",
        "*.10.0.0.1",
        "*.1",
        "*.0x1",
    ];
    for text in refused.into_iter().chain(long.iter().map(String::as_str)) {
        let error = HostRule::parse(text).expect_err(text);
        assert!(error.to_string().starts_with(&format!("`{text}` is not a host: ")), "{error}");
    }
}

#[test]
fn escape_109_no_rule_matches_the_end_of_an_address() {
    let rules = Hosts::of(["*.allowed.com", "allowed.com", "x.allowed.com"].map(parse));
    assert!(rules.allow("x.allowed.com", 443));
    for host in [
        "::ffff:1.2.3.4%x.allowed.com",
        "[::ffff:1.2.3.4%x.allowed.com]",
        "::1%25.allowed.com",
        "fe80::1%x.allowed.com",
    ] {
        assert!(!rules.allow(host, 443), "{host}");
        // Nor is it a host at all.
        assert!(!Hosts::everywhere().allow(host, 443), "{host}");
    }
    // Below a name lie names, even where a rule was not read but made.
    let below = |name: &str| HostRule { pattern: HostPattern::Below(name.to_owned()), port: None };
    for (name, host) in
        [("0.0.1", "127.0.0.1"), ("1", "127.0.0.1"), ("", "127.0.0.1"), ("1.2.3.4", "x.1.2.3.4")]
    {
        assert!(!below(name).covers(host, 443), "{name} {host}");
        assert_eq!(Hosts::of([below(name)]), Hosts::none());
    }
    // An address is a host, in its one spelling.
    for host in ["127.0.0.1", "::1", "::ffff:1.2.3.4", "2001:db8::1"] {
        assert!(Hosts::everywhere().allow(host, 443), "{host}");
    }
    for host in
        ["127.1", "127.0.0.01", "0x7f.0.0.1", "[::1]", "0:0:0:0:0:0:0:1", "::FFFF:1.2.3.4", "2001:DB8::1"]
    {
        assert!(!Hosts::everywhere().allow(host, 443), "{host}");
    }
    assert!(Hosts::of([parse("127.0.0.1")]).allow("127.0.0.1", 443));
}

#[test]
fn escape_110_hosts_match_whole_or_at_a_dot() {
    for (rule, allowed) in [("allowed.com", "allowed.com"), ("*.allowed.com", "api.allowed.com")] {
        // The rule is read in any spelling, and then there is one.
        for spelling in [rule.to_owned(), rule.to_uppercase(), format!("{rule}."), format!("{rule}:443")] {
            let rules = Hosts::of([parse(&spelling)]);
            assert!(rules.allow(allowed, 443), "{spelling}");
            assert!(!rules.allow(allowed, 80), "{spelling}");
            for host in [
                "allowed.com.evil.com",
                "api.allowed.com.evil.com",
                "evilallowed.com",
                "api-allowed.com",
                "allowed.com@evil.com",
                "evil.com@allowed.com",
                "evil.com@api.allowed.com",
                "evil.com/.allowed.com",
                "evil.com#.allowed.com",
                "evil.com?.allowed.com",
                "evil.com\\.allowed.com",
                "evil.com:443.allowed.com",
                "evil.com\0.allowed.com",
                "evil.com .allowed.com",
                ".allowed.com",
                "..allowed.com",
                "api..allowed.com",
                "allowed.com.",
                "api.allowed.com.",
                "ALLOWED.com",
                "API.allowed.com",
                "allowed\u{3002}com",
                "api\u{3002}allowed.com",
                "evil.com\u{3002}allowed.com",
                "allowed",
                "com",
                "",
            ] {
                assert!(!rules.allow(host, 443), "{spelling} allows {host}");
            }
        }
    }
    assert!(!Hosts::of([parse("*.allowed.com")]).allow("allowed.com", 443), "a name is not below itself");
    assert!(!Hosts::of([parse("allowed.com")]).allow("api.allowed.com", 443), "nor is what lies below it");
}

#[test]
fn the_normal_form_is_sorted_and_leaves_out_what_is_covered() {
    let any_port = HostRule { pattern: HostPattern::Exact("b.org".to_owned()), port: None };
    let written =
        ["z.org", "deep.a.org", "*.a.org", "*.deep.a.org", "a.org", "b.org:80", "z.org", "deep.a.org:80"];
    let hosts = Hosts::of(written.map(parse).into_iter().chain([any_port]));
    let shown: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["*.a.org:443", "a.org:443", "b.org", "deep.a.org:80", "z.org:443"]);
}
