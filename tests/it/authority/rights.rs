//! All three kinds of rights together, through `Effective::of`.

use super::{effective, held, orders};
use proptest::collection::vec;
use proptest::prelude::*;
use ringfence::authority::{
    Access, CapabilitySet, Ceiling, Directories, Effective, Flags, Grant, HostPattern, HostRule, Hosts,
    Profile, Rights, Role,
};
use std::path::PathBuf;

fn rights() -> impl Strategy<Value = Rights> {
    let access = prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)];
    let path =
        prop::sample::select(&["/", "/w", "/w/a", "/w/a/b", "/w/b", "/wa"][..]).prop_map(PathBuf::from);
    let pattern = prop_oneof![
        Just(HostPattern::Any),
        prop::sample::select(&["a.org", "x.a.org", "b.org"][..])
            .prop_map(|name| HostPattern::Exact(name.into())),
        prop::sample::select(&["org", "a.org", "x.a.org"][..])
            .prop_map(|name| HostPattern::Below(name.into())),
    ];
    let rule = (pattern, prop::option::of(prop::sample::select(&[80, 443][..])))
        .prop_map(|(pattern, port)| HostRule { pattern, port });
    (any::<u8>(), vec((path, access), 0..5), vec(rule, 0..5)).prop_map(|(bits, directories, hosts)| Rights {
        capabilities: CapabilitySet::from_bits(bits),
        directories: Directories::of(directories),
        hosts: Hosts::of(hosts),
    })
}

fn profile() -> impl Strategy<Value = Profile> {
    (rights(), prop::sample::select(&Role::ALL[..])).prop_map(|(rights, role)| Profile {
        name: "narrow".to_owned(),
        role,
        rights,
        tools: None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn effective_authority_is_inside_each(a in rights(), b in rights(), c in rights(), d in rights()) {
        let outcome = effective(&a, &b, &c, &d);
        for each in [&a, &b, &c, &d, &Rights::all()] {
            prop_assert!(outcome.is_within(each), "{:?} within {:?}", outcome, each);
        }
        prop_assert!(Rights::none().is_within(&outcome));
    }

    #[test]
    fn effective_authority_is_the_same_in_every_order(four in prop::array::uniform4(rights())) {
        let [a, b, c, d] = &four;
        let outcome = effective(a, b, c, d);
        prop_assert_eq!(&a.meet(b).meet(&c.meet(d)), &outcome);
        for [a, b, c, d] in orders(&four) {
            prop_assert_eq!(&effective(&a, &b, &c, &d), &outcome);
        }
    }

    /// A child narrows what its parent holds, however deep the tree is.
    #[test]
    fn a_child_holds_no_more_than_its_parent(parent in rights(), levels in vec(prop::array::uniform3(rights()), 1..4)) {
        let mut above = held(&parent);
        for [ceiling, grant, flags] in levels {
            let below = Effective::of(&Ceiling(ceiling), &Grant(grant), Some(&above), &Flags(flags));
            prop_assert!(below.rights().is_within(above.rights()));
            above = below;
        }
        prop_assert!(above.rights().is_within(&parent));
    }

    #[test]
    fn a_profile_takes_away_and_never_adds(rights in rights(), profile in profile()) {
        let before = held(&rights);
        let after = before.within(&profile);
        prop_assert!(after.rights().is_within(before.rights()));
        prop_assert!(after.rights().is_within(&profile.rights));
        prop_assert_eq!(&after.within(&profile), &after, "a second time takes nothing more");
        // It is the same whether the profile narrows the outcome or any of what it came from.
        let narrowed = rights.meet(&profile.rights);
        prop_assert_eq!(after.rights(), &narrowed);
        let all = Rights::all();
        prop_assert_eq!(&effective(&narrowed, &all, &all, &all), &narrowed);
        // What a role leaves as it is.
        prop_assert_eq!(before.within(&Profile::plain(profile.role)), before);
    }

    #[test]
    fn a_profile_never_lifts_the_ceiling_of_its_role(grant in rights(), flags in rights(), profile in profile()) {
        let ceiling = Ceiling::of(profile.role, "/w".as_ref());
        let outcome = Effective::of(&ceiling, &Grant(grant), None, &Flags(flags)).within(&profile);
        prop_assert!(outcome.rights().is_within(&ceiling.0));
        prop_assert!(outcome.rights().capabilities.is_within(profile.role.capabilities()));
    }
}

#[test]
fn nothing_and_everything_are_the_ends() {
    let (none, all) = (Rights::none(), Rights::all());
    assert!(none.is_within(&all) && !all.is_within(&none));
    assert_eq!((all.meet(&none), all.meet(&all)), (none.clone(), all.clone()));
    // One kind of right that is missing is enough not to be within.
    for lacking in [
        Rights { capabilities: CapabilitySet::NONE, ..all.clone() },
        Rights { directories: Directories::none(), ..all.clone() },
        Rights { directories: Directories::everywhere(Access::ReadOnly), ..all.clone() },
        Rights { hosts: Hosts::none(), ..all.clone() },
    ] {
        assert!(lacking.is_within(&all) && !all.is_within(&lacking), "{lacking:?}");
        for place in 0..4 {
            let mut four = [&all, &all, &all, &all];
            four[place] = &lacking;
            assert_eq!(effective(four[0], four[1], four[2], four[3]), lacking, "in place {place}");
        }
    }
}
