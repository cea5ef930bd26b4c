//! Rights to directories against a plain model: a list of places, and at each point the greatest access that any gives.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence::authority::{Access, Directories};
use std::path::{Path, PathBuf};

/// A place as the names on the way to it.
type Place = Vec<&'static str>;

/// Names, one of them the beginning of another, so that a comparison of letters would be seen.
const NAMES: [&str; 3] = ["a", "ab", "b"];

/// What a list of places gives at a point.
fn model(entries: &[(Place, Access)], point: &[&str]) -> Option<Access> {
    entries.iter().filter(|(place, _)| point.starts_with(place)).map(|(_, access)| *access).max()
}

fn path(place: &[&str]) -> PathBuf {
    PathBuf::from(format!("/{}", place.join("/")))
}

fn directories(entries: &[(Place, Access)]) -> Directories {
    Directories::of(entries.iter().map(|(place, access)| (path(place), *access)))
}

/// Every point at most four names deep, with a name that no place has.
fn points() -> Vec<Place> {
    let mut points = vec![Place::new()];
    let mut last = points.clone();
    for _ in 0..4 {
        last = last
            .iter()
            .flat_map(|above| NAMES.into_iter().chain(["z"]).map(|name| [above.as_slice(), &[name]].concat()))
            .collect();
        points.extend(last.iter().cloned());
    }
    points
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::ReadOnly), Just(Access::ReadWrite)]
}

fn entries() -> impl Strategy<Value = Vec<(Place, Access)>> {
    vec((vec(prop::sample::select(&NAMES[..]), 0..4), access()), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn they_give_what_the_model_gives(entries in entries()) {
        let directories = directories(&entries);
        for point in points() {
            prop_assert_eq!(directories.access(&path(&point)), model(&entries, &point), "at {:?}", point);
        }
        prop_assert_eq!(directories.is_empty(), entries.is_empty());
    }

    #[test]
    fn a_meet_is_the_lesser_of_two_at_every_point(a in entries(), b in entries()) {
        let met = directories(&a).meet(&directories(&b));
        for point in points() {
            let lesser = model(&a, &point).min(model(&b, &point));
            prop_assert_eq!(met.access(&path(&point)), lesser, "at {:?}", point);
        }
        prop_assert!(met.is_within(&directories(&a)) && met.is_within(&directories(&b)));
    }

    #[test]
    fn a_meet_is_the_same_value_in_any_order(a in entries(), b in entries(), c in entries()) {
        let (a, b, c) = (directories(&a), directories(&b), directories(&c));
        prop_assert_eq!(a.meet(&b), b.meet(&a));
        prop_assert_eq!(a.meet(&b).meet(&c), a.meet(&b.meet(&c)));
        prop_assert_eq!(&a.meet(&a), &a);
        prop_assert_eq!(&a.meet(&Directories::everywhere(Access::ReadWrite)), &a);
        prop_assert_eq!(a.meet(&Directories::none()), Directories::none());
    }

    #[test]
    fn within_is_less_or_equal_at_every_point(a in entries(), b in entries()) {
        let less = points().iter().all(|point| model(&a, point) <= model(&b, point));
        prop_assert_eq!(directories(&a).is_within(&directories(&b)), less);
    }

    #[test]
    fn equal_rights_are_equal_values(a in entries(), b in entries()) {
        let alike = points().iter().all(|point| model(&a, point) == model(&b, point));
        prop_assert_eq!(directories(&a) == directories(&b), alike);
    }

    /// The same, where chance alone would seldom make them equal: another order, twice over, with covered places added.
    #[test]
    fn the_way_they_were_written_down_does_not_matter(
        entries in entries().prop_shuffle(),
        below in vec(prop::sample::select(&NAMES[..]), 0..3),
    ) {
        let plain = directories(&entries);
        let mut verbose: Vec<(Place, Access)> = entries.iter().rev().cloned().collect();
        verbose.extend(entries.iter().map(|(place, access)| ([&place[..], &below].concat(), *access)));
        verbose.extend(entries.iter().map(|(place, _)| (place.clone(), Access::ReadOnly)));
        prop_assert_eq!(&directories(&verbose), &plain);
        prop_assert_eq!(&Directories::of(plain.iter().map(|(path, access)| (path.to_owned(), access))), &plain);
        let one_by_one = entries.iter().fold(Directories::none(), |all, (place, access)| all.with(path(place), *access));
        prop_assert_eq!(&one_by_one, &plain);
    }

    #[test]
    fn an_overlap_is_two_places_one_in_the_other_with_other_rights(entries in entries()) {
        let directories = directories(&entries);
        let points = points();
        let seen = points.iter().any(|below| {
            (0..below.len()).any(|depth| {
                let above = model(&entries, &below[..depth]);
                above.is_some() && above != model(&entries, below)
            })
        });
        prop_assert_eq!(directories.overlap().is_some(), seen);
        if let Some((above, below)) = directories.overlap() {
            prop_assert!(below != above && below.starts_with(above));
            prop_assert!(directories.access(above) < directories.access(below));
        }
    }

    /// Whatever the text of a path: nothing is given where `..` stands, nor to what does not start at the root.
    #[test]
    fn a_path_that_names_no_place_gives_and_gets_nothing(
        before in "[a/.]{0,6}", after in "[a/.]{0,6}", access in access(),
    ) {
        let everywhere = Directories::everywhere(Access::ReadWrite);
        for text in [format!("/{before}/../{after}"), format!("a{before}"), format!("./{before}"), String::new()] {
            prop_assert_eq!(Directories::of([(PathBuf::from(&text), access)]), Directories::none(), "{}", text);
            prop_assert_eq!(everywhere.access(Path::new(&text)), None, "{}", text);
        }
    }
}

#[test]
fn names_are_compared_whole() {
    let held = Directories::of([(PathBuf::from("/w/ws"), Access::ReadWrite)]);
    for (point, access) in [
        ("/w/ws", Some(Access::ReadWrite)),
        ("/w/ws/deep/er", Some(Access::ReadWrite)),
        ("//w/./ws//x", Some(Access::ReadWrite)),
        ("/w/ws-evil", None),
        ("/w/ws-evil/secret", None),
        ("/w/w", None),
        ("/w", None),
        ("/", None),
        ("/w/WS", None),
        ("/w/ws/../secret", None),
        ("w/ws", None),
    ] {
        assert_eq!(held.access(Path::new(point)), access, "{point}");
    }
}

#[test]
fn the_normal_form_is_sorted_and_leaves_out_what_is_covered() {
    let entry = |path: &str, access| (PathBuf::from(path), access);
    let held = Directories::of([
        entry("/b", Access::ReadOnly),
        entry("/b/deep", Access::ReadWrite),
        entry("/b/deep/er", Access::ReadOnly),
        entry("/a", Access::ReadWrite),
        entry("/a/x", Access::ReadOnly),
        entry("/a", Access::ReadOnly),
        entry("relative", Access::ReadWrite),
    ]);
    let entries: Vec<(&Path, Access)> = held.iter().collect();
    assert_eq!(
        entries,
        [
            (Path::new("/a"), Access::ReadWrite),
            (Path::new("/b"), Access::ReadOnly),
            (Path::new("/b/deep"), Access::ReadWrite)
        ]
    );
    assert_eq!(held.overlap(), Some((Path::new("/b"), Path::new("/b/deep"))));
}
