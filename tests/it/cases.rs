//! `tests/CASES.md` and the tests say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rows that have to be there, as the tables number them.
const ROWS: [(&str, &[u32]); 11] = [
    (
        "F",
        &[
            1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38,
            40, 41, 43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 72, 73,
        ],
    ),
    (
        "E",
        &[
            1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38,
            40, 41, 43,
        ],
    ),
    ("R", &[1, 2, 4, 5]),
    ("N", &[1, 2, 4, 5, 7, 8, 10, 11]),
    ("K", &[1, 2, 4]),
    ("Q", &[1, 2, 4]),
    ("C", &[1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25]),
    ("M", &[1, 2, 4, 5, 7, 8]),
    ("S", &[1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28]),
    ("W", &[16]),
    (
        "",
        &[
            1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38,
            40, 41, 43, 44, 46, 47, 49, 50, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74,
            76, 77, 79, 80, 82, 83, 85, 86, 88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 109, 110, 118,
            128, 130, 131, 133, 134, 136, 137, 139, 140, 142, 143, 145, 146, 148,
        ],
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The functions below a directory that are marked as tests.
fn tests(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tests(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(path).unwrap();
            let mut lines = text.lines().map(str::trim);
            while let Some(line) = lines.next() {
                let next = lines.clone().next().map(|next| next.trim_start_matches("async "));
                let name = next.and_then(|next| next.strip_prefix("fn ")?.split('(').next());
                if line == "#[test]" || line.starts_with("#[tokio::test") {
                    found.insert(name.unwrap_or_else(|| panic!("no function under {line}")).to_owned());
                }
            }
        }
    }
    found
}

/// The row that a test's name says: `F1` of `parity_f01_…`, `7` of `escape_007_…`.
fn row_of(test: &str) -> Option<String> {
    let (family, rest) = test.split_once('_')?;
    let number = rest.split('_').next()?;
    let (section, number) = match family {
        "parity" => number.split_at_checked(1)?,
        "escape" => ("", number),
        _ => return None,
    };
    let number: u32 = number.parse().ok()?;
    Some(format!("{}{number}", section.to_ascii_uppercase()))
}

/// The tests that the page names for each row, and whether it says what waits.
fn page() -> BTreeMap<String, (BTreeSet<String>, bool)> {
    let text = fs::read_to_string(root().join("tests/CASES.md")).unwrap();
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [row, what, held] = cells.as_slice() else { panic!("{line}") };
        if *row == "row" {
            continue;
        }
        assert!(!what.is_empty(), "{line}");
        let (held, waits) = held.split_once("waits: ").unwrap_or((held, ""));
        // What stands between the marks and has the form of a test's name; `exec`, say, has not.
        let names = held.split('`').skip(1).step_by(2).filter(|name| name.contains('_')).map(str::to_owned);
        let other = rows.insert((*row).to_owned(), (names.collect(), !waits.is_empty()));
        assert_eq!(other, None, "{row} is there twice");
    }
    rows
}

#[test]
fn every_row_is_held_by_a_test_or_says_why_it_waits() {
    let page = page();
    for (section, numbers) in ROWS {
        for number in numbers {
            let row = format!("{section}{number}");
            let (tests, waits) = page.get(&row).unwrap_or_else(|| panic!("{row} is missing"));
            assert!(*waits || !tests.is_empty(), "{row} has neither a test nor a reason");
        }
    }
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let there = tests(&root().join("tests/it"));
    for (row, (tests, _)) in page() {
        for test in tests {
            assert!(there.contains(&test), "{row}: there is no test {test}");
            assert!(row_of(&test).is_none_or(|own| own == row), "{test} stands under {row}");
        }
    }
}

#[test]
fn every_test_with_a_number_is_on_the_page() {
    let page = page();
    let numbered: Vec<(String, String)> =
        tests(&root().join("tests/it")).into_iter().filter_map(|test| Some((row_of(&test)?, test))).collect();
    assert!(numbered.len() > 100, "{}", numbered.len());
    for (row, test) in numbered {
        let on_page = page.get(&row).is_some_and(|(tests, _)| tests.contains(&test));
        assert!(on_page, "{test} is not under {row}");
    }
}

#[test]
fn rows_are_read_from_names() {
    assert_eq!(row_of(concat!("parity", "_f01_reads")).as_deref(), Some("F1"));
    assert_eq!(row_of(concat!("escape", "_148_loops")).as_deref(), Some("148"));
    for other in ["reads_with_numbers", concat!("parity", "_of_two"), concat!("escape", "_files")] {
        assert_eq!(row_of(other), None, "{other}");
    }
}
