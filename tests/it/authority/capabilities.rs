//! Capabilities: eight of them, so 256 sets, and every law on every combination of sets.

use super::{effective, orders};
use ringfence::authority::{Capability, CapabilitySet, Ceiling, Effective, Flags, Grant, Rights};
use std::thread;

const SETS: usize = 256;

/// Every set, at the index that has its members as bits.
fn sets() -> Vec<CapabilitySet> {
    (0..=u8::MAX).map(CapabilitySet::from_bits).collect()
}

/// The members of a set as bits, asked of it one by one.
fn bits(set: CapabilitySet) -> u8 {
    let held = |(bit, capability): (usize, Capability)| u8::from(set.contains(capability)) << bit;
    Capability::ALL.into_iter().enumerate().map(held).sum()
}

fn only(capabilities: CapabilitySet) -> Rights {
    Rights { capabilities, ..Rights::none() }
}

#[test]
fn a_set_holds_what_it_was_made_of() {
    for (made_of, set) in sets().into_iter().enumerate() {
        let made_of = u8::try_from(made_of).unwrap();
        let members: Vec<Capability> = set.iter().collect();
        assert_eq!(bits(set), made_of);
        assert_eq!(CapabilitySet::of(&members), set);
        assert_eq!(members.iter().copied().collect::<CapabilitySet>(), set);
        assert_eq!(members.len(), made_of.count_ones() as usize);
        for (bit, capability) in Capability::ALL.into_iter().enumerate() {
            assert_eq!(bits(set.with(capability)), made_of | 1 << bit);
            assert_eq!(bits(set.without(capability)), made_of & !(1 << bit));
        }
    }
    assert_eq!((bits(CapabilitySet::NONE), bits(CapabilitySet::ALL)), (0, u8::MAX));
    for capability in Capability::ALL {
        assert_eq!(Capability::from_name(capability.name()), Some(capability));
    }
}

/// Over all pairs: `within` is what it says, and `meet` commutes, is idempotent and lies inside both.
#[test]
fn narrowing_two_sets_stays_inside_both() {
    for a in sets() {
        assert_eq!(a.meet(a), a);
        assert_eq!((a.meet(CapabilitySet::ALL), a.meet(CapabilitySet::NONE)), (a, CapabilitySet::NONE));
        for b in sets() {
            let both = a.meet(b);
            assert_eq!(both, b.meet(a));
            assert!(both.is_within(a) && both.is_within(b));
            assert_eq!(a.is_within(b), a.iter().all(|capability| b.contains(capability)));
            assert_eq!(a.is_within(b) && b.is_within(a), a == b);
        }
    }
}

/// Over all triples: `meet` is associative, and is the most that lies inside both; `within` is transitive.
#[test]
fn narrowing_loses_no_more_than_it_must() {
    let sets = sets();
    for &a in &sets {
        for &b in &sets {
            let both = a.meet(b);
            let nested = a.is_within(b);
            for &c in &sets {
                assert!(both.meet(c) == a.meet(b.meet(c)));
                assert!(!(c.is_within(a) && c.is_within(b)) || c.is_within(both));
                assert!(!(nested && b.is_within(c)) || a.is_within(c));
            }
        }
    }
}

/// The whole product: every set as ceiling, as grant, as flags and as parent, 256⁴ cases.
///
/// `meet` is asked once about every pair there is; the product is walked with its answers, sixteen parents side by side in one
/// word. Each outcome must have exactly the members that all four have. That puts it inside each of the four; and as every
/// order of four sets is itself a case of the product, with the same members in common, no order comes to anything else.
#[test]
fn narrowing_four_sets_leaves_what_all_four_hold_whatever_they_are() {
    const LANES: usize = 16;
    type Row = [u128; SETS / LANES];
    let lanes = |row: &[u8]| -> Row {
        std::array::from_fn(|word| u128::from_le_bytes(row[word * LANES..][..LANES].try_into().unwrap()))
    };
    let all = sets();
    let met: Vec<Vec<u8>> = all.iter().map(|a| all.iter().map(|b| bits(a.meet(*b))).collect()).collect();
    let rows: Vec<Row> = met.iter().map(|row| lanes(row)).collect();
    let parents = lanes(&all.iter().map(|set| bits(*set)).collect::<Vec<u8>>());

    // The cases with these ceilings: how many there were, and the bits that were not as they must be.
    let walk = |ceilings: std::ops::Range<usize>| {
        let (mut cases, mut wrong) = (0_u64, 0_u128);
        for ceiling in ceilings {
            for grant in 0..SETS {
                let granted = &met[usize::from(met[ceiling][grant])];
                for flags in 0..SETS {
                    let outcome = &rows[usize::from(granted[flags])];
                    let common = u128::from_le_bytes([(ceiling & grant & flags) as u8; LANES]);
                    let mut word = 0;
                    while word < parents.len() {
                        wrong |= outcome[word] ^ (common & parents[word]);
                        word += 1;
                    }
                    cases += SETS as u64;
                }
            }
        }
        (cases, wrong)
    };
    let (lower, upper) = thread::scope(|scope| {
        let lower = scope.spawn(|| walk(0..SETS / 2));
        let upper = walk(SETS / 2..SETS);
        (lower.join().unwrap(), upper)
    });
    assert_eq!(lower.0 + upper.0, 1 << 32);
    assert_eq!((lower.1, upper.1), (0, 0));
}

/// `Effective::of` itself, over all pairs of sets in each pair of its four places.
#[test]
fn effective_authority_is_the_meet_in_every_place() {
    let all = only(CapabilitySet::ALL);
    for first in 0..4 {
        for second in first + 1..4 {
            for a in sets() {
                let mut places = [all.clone(), all.clone(), all.clone(), all.clone()];
                places[first] = only(a);
                for b in sets() {
                    places[second] = only(b);
                    let [ceiling, grant, parent, flags] = &places;
                    let outcome = effective(ceiling, grant, parent, flags).capabilities;
                    assert_eq!(outcome, a.meet(b), "{a} and {b} in places {first} and {second}");
                }
            }
        }
    }
}

/// `Effective::of` itself, over every four subsets of what both roles may have, and of what main alone may have.
#[test]
fn effective_authority_is_inside_all_four_at_once() {
    for shift in [0, 4] {
        let sets: Vec<Rights> = (0..16).map(|low: u8| only(CapabilitySet::from_bits(low << shift))).collect();
        for ceiling in &sets {
            for grant in &sets {
                for parent in &sets {
                    for flags in &sets {
                        let outcome = effective(ceiling, grant, parent, flags);
                        for each in [ceiling, grant, parent, flags] {
                            assert!(outcome.is_within(each));
                        }
                        let held = |rights: &Rights| bits(rights.capabilities);
                        assert_eq!(held(&outcome), held(ceiling) & held(grant) & held(parent) & held(flags));
                    }
                }
            }
        }
    }
}

/// `Effective::of` itself, in all 24 orders, over every four ways in which two capabilities can be held.
#[test]
fn effective_authority_is_the_same_in_every_order() {
    for (index, one) in Capability::ALL.into_iter().enumerate() {
        for other in Capability::ALL.into_iter().skip(index + 1) {
            let ways = [&[][..], &[one], &[other], &[one, other]].map(|held| only(CapabilitySet::of(held)));
            for case in 0..256_usize {
                let four = [0, 2, 4, 6].map(|shift| ways[case >> shift & 3].clone());
                let [a, b, c, d] = &four;
                let outcome = effective(a, b, c, d);
                for [a, b, c, d] in orders(&four) {
                    assert_eq!(effective(&a, &b, &c, &d), outcome);
                }
            }
        }
    }
}

#[test]
fn without_a_parent_the_user_takes_nothing_away() {
    let all = Rights::all();
    for set in sets() {
        let rights = only(set);
        let (ceiling, grant, flags) = (Ceiling(all.clone()), Grant(rights.clone()), Flags(all.clone()));
        let outcome = Effective::of(&ceiling, &grant, None, &flags);
        assert_eq!(outcome.rights(), &rights);
        assert_eq!(outcome.rights(), &effective(&all, &rights, &all, &all));
        for capability in Capability::ALL {
            assert_eq!(outcome.holds(capability), set.contains(capability));
        }
    }
}
