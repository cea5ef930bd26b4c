//! `read_file`, by the rows of the parity table.

use crate::support::{Reply, World};
use ringfence::authority::{Access, DenialKind, Role};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};

/// `line 1` to `line N`, each ended.
fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

/// What `read_file` shows of `numbered`, without a footer.
fn shown(lines: std::ops::RangeInclusive<usize>) -> String {
    lines.map(|n| format!("{n}| line {n}\n")).collect()
}

fn read(w: &World, path: &str) -> Reply {
    w.call("read_file", json!({ "path": path }))
}

#[test]
fn parity_f01_reads_with_line_numbers() {
    let w = World::new();
    w.file("a.txt", numbered(20));
    let r = read(&w, "a.txt");
    assert_eq!(r.text(), format!("{}(End of file: 20 lines)", shown(1..=20)));
    let structured = r.structured().expect("a structured part");
    assert_eq!(structured["path"], "a.txt");
    assert_eq!(structured["first_line"], 1);
    assert_eq!(structured["last_line"], 20);
    assert_eq!(structured["total_lines"], 20);
}

#[test]
fn parity_f02_reads_a_range_and_says_how_to_go_on() {
    let w = World::new();
    w.file("a.txt", numbered(20));
    let r = w.call("read_file", json!({ "path": "a.txt", "offset": 5, "limit": 3 }));
    assert_eq!(r.text(), format!("{}(Lines 5-7 of 20. To continue: offset=8)", shown(5..=7)));
    let structured = r.structured().expect("a structured part");
    assert_eq!((&structured["first_line"], &structured["last_line"]), (&json!(5), &json!(7)));
}

#[test]
fn parity_f04_marks_the_end_of_the_file() {
    let w = World::new();
    w.file("a.txt", numbered(3));
    let r = w.call("read_file", json!({ "path": "a.txt", "limit": 9999 }));
    assert_eq!(r.text(), format!("{}(End of file: 3 lines)", shown(1..=3)));
}

#[test]
fn parity_f05_an_empty_file_is_no_error() {
    let w = World::new();
    w.file("empty.txt", "");
    let r = read(&w, "empty.txt");
    assert_eq!(r.text(), "(Empty file: empty.txt)");
    assert_eq!(r.structured().expect("a structured part")["total_lines"], 0);
}

#[test]
fn parity_f07_names_the_missing_path() {
    let w = World::new();
    let message = w.call("read_file", json!({ "offset": 1 })).argument_error();
    assert!(message.contains("path"), "{message}");
}

#[test]
fn parity_f08_a_long_file_is_cut_with_a_hint() {
    let w = World::new();
    let line = "x".repeat(110);
    w.file("long.txt", format!("{line}\n").repeat(2000));
    let r = read(&w, "long.txt");
    let text = r.text();
    let (body, footer) = text.rsplit_once('\n').expect("a footer");
    assert!(body.chars().count() <= 128_000, "{} characters", body.chars().count());
    assert!(footer.chars().count() < 200, "{footer}");
    let last = r.structured().expect("a structured part")["last_line"].as_u64().expect("a number");
    assert!((1000..2000).contains(&last), "{last}");
    assert_eq!(footer, format!("(Lines 1-{last} of 2000. To continue: offset={})", last + 1));
    // What the hint says gives the rest, without a gap.
    let rest = w.call("read_file", json!({ "path": "long.txt", "offset": last + 1 }));
    assert!(rest.text().starts_with(&format!("{}| {line}\n", last + 1)));
    assert!(rest.text().ends_with("(End of file: 2000 lines)"));
}

#[test]
fn parity_f11_an_unchanged_file_is_not_sent_twice() {
    let w = World::new();
    w.file("a.txt", "the content\n");
    assert!(read(&w, "a.txt").text().contains("the content"));
    let again = read(&w, "a.txt").text();
    assert!(again.contains("unchanged") && !again.contains("the content"), "{again}");
    let forced = w.call("read_file", json!({ "path": "a.txt", "force": true })).text();
    assert!(forced.contains("1| the content"), "{forced}");
    w.file("a.txt", "other content\n");
    assert!(read(&w, "a.txt").text().contains("1| other content"));
}

#[test]
fn parity_f13_another_range_is_sent_in_full() {
    let w = World::new();
    w.file("a.txt", numbered(20));
    w.call("read_file", json!({ "path": "a.txt", "offset": 1, "limit": 5 })).text();
    let second = w.call("read_file", json!({ "path": "a.txt", "offset": 6, "limit": 5 })).text();
    assert!(second.starts_with(&shown(6..=10)), "{second}");
}

#[test]
fn parity_f14_the_first_read_after_a_write_is_full() {
    let w = World::new();
    w.call("write_file", json!({ "path": "a.txt", "content": "written\n" })).text();
    assert_eq!(read(&w, "a.txt").text(), "1| written\n(End of file: 1 line)");
}

#[test]
fn parity_f16_another_conversation_sees_the_content() {
    let w = World::new();
    w.file("a.txt", "the content\n");
    read(&w, "a.txt").text();
    let other = w.conversation(Role::Main);
    let text = other.call("read_file", json!({ "path": "a.txt" })).text();
    assert!(text.contains("1| the content"), "{text}");
}

#[test]
fn parity_f17_each_subagent_sees_the_content() {
    let w = World::new();
    w.file("a.txt", "the content\n");
    for _ in 0..2 {
        let text = w.call_as(Role::Subagent, "read_file", json!({ "path": "a.txt" })).text();
        assert!(text.contains("1| the content"), "{text}");
    }
}

#[test]
fn parity_f19_carriage_returns_are_not_shown() {
    let w = World::new();
    w.file("dos.txt", "one\r\ntwo\r\n\r\nfour");
    assert_eq!(read(&w, "dos.txt").text(), "1| one\n2| two\n3| \n4| four\n(End of file: 4 lines)");
}

#[test]
fn parity_f20_devices_and_descriptors_are_refused() {
    let w = World::new();
    std::os::unix::fs::symlink("/dev/zero", w.path("zero")).expect("a link");
    for path in ["/dev/random", "/dev/zero", "/proc/self/fd/0", "zero"] {
        let denial = read(&w, path).denial();
        assert_eq!(denial.kind, DenialKind::OutsideWorkspace, "{path}: {denial}");
    }
}

#[test]
fn parity_f25_an_absolute_path_outside_is_refused() {
    let w = World::new();
    let secret = w.outside().join("secret.txt");
    std::fs::write(&secret, "do not leak").expect("a file");
    let before = w.snapshot_outside();
    let denial = read(&w, &secret.to_string_lossy()).denial();
    assert_eq!(denial.kind, DenialKind::OutsideWorkspace);
    assert!(!denial.to_string().contains("do not leak"), "{denial}");
    w.assert_outside_unchanged(&before);
}

#[test]
fn parity_f26_a_further_directory_may_be_read_and_not_written() {
    let w = World::new();
    let shared = w.outside().join("shared");
    std::fs::create_dir(&shared).expect("a directory");
    std::fs::write(shared.join("a.txt"), "shared text\n").expect("a file");
    let w = w.with_directory(&shared, Access::ReadOnly);
    let before = w.snapshot_outside();
    let path = shared.join("a.txt").to_string_lossy().into_owned();
    let r = read(&w, &path);
    assert_eq!(r.text(), "1| shared text\n(End of file: 1 line)");
    assert_eq!(r.structured().expect("a structured part")["path"], Value::from(path.as_str()));
    w.call("write_file", json!({ "path": path, "content": "changed" })).refused();
    w.call("edit_file", json!({ "path": path, "old_text": "shared", "new_text": "changed" })).refused();
    w.assert_outside_unchanged(&before);
}

#[test]
fn parity_f29_parents_of_the_workspace_are_refused() {
    let w = World::new();
    w.file("src/a.txt", "inside");
    std::fs::write(w.outside().join("secret"), "do not leak").expect("a file");
    let absolute = format!("{}/../outside/secret", w.root().display());
    for path in ["../outside/secret", "src/../../outside/secret", absolute.as_str(), "~/secret"] {
        let r = read(&w, path);
        let message = r.refused();
        assert!(!message.contains("do not leak"), "{path}: {message}");
        assert_eq!(r.denial().kind, DenialKind::OutsideWorkspace, "{path}");
    }
    // Such a part is no offence where it stays inside.
    assert!(read(&w, "src/../src/a.txt").text().contains("1| inside"));
}

#[test]
fn parity_f31_a_link_to_a_file_outside_is_refused() {
    let w = World::new();
    std::fs::write(w.outside().join("secret"), "do not leak").expect("a file");
    std::os::unix::fs::symlink(w.outside().join("secret"), w.path("absolute")).expect("a link");
    std::os::unix::fs::symlink("../outside/secret", w.path("relative")).expect("a link");
    std::os::unix::fs::symlink("../outside", w.path("directory")).expect("a link");
    for path in ["absolute", "relative", "directory/secret"] {
        let denial = read(&w, path).denial();
        assert_eq!(denial.kind, DenialKind::OutsideWorkspace, "{path}: {denial}");
    }
    // A link that stays inside is followed.
    w.file("real.txt", "inside");
    std::os::unix::fs::symlink("real.txt", w.path("near")).expect("a link");
    assert!(read(&w, "near").text().contains("1| inside"));
}

#[test]
fn parity_f49_a_mistyped_name_gets_a_suggestion() {
    let w = World::new();
    w.file("config.py", "x = 1\n");
    let (kind, message) = read(&w, "conifg.py").error();
    assert_eq!(kind, ErrorKind::NotFound);
    assert_eq!(message, "conifg.py does not exist; did you mean config.py?");
}

#[test]
fn read_an_offset_past_the_end_tells_the_length() {
    let w = World::new();
    w.file("a.txt", numbered(3));
    let (kind, message) = w.call("read_file", json!({ "path": "a.txt", "offset": 4 })).error();
    assert_eq!(kind, ErrorKind::InvalidArguments);
    assert_eq!(message, "offset 4 is past the end: a.txt has 3 lines");
}

#[test]
fn read_a_directory_points_to_list_dir() {
    let w = World::new();
    w.file("src/a.txt", "");
    for path in ["src", "src/", "."] {
        let (kind, message) = read(&w, path).error();
        assert_eq!(kind, ErrorKind::Unsupported);
        assert!(message.contains("is a directory") && message.contains("list_dir"), "{message}");
    }
}

#[test]
fn read_a_huge_sparse_file_is_one_line() {
    let w = World::new();
    let file = std::fs::File::create(w.path("huge.log")).expect("a file");
    file.set_len(10 << 30).expect("a sparse file");
    let (kind, message) = read(&w, "huge.log").error();
    assert_eq!(kind, ErrorKind::TooLarge);
    assert_eq!(message, "huge.log has 10737418240 bytes; the limit here is 104857600 bytes");
}

#[test]
fn read_a_large_file_keeps_within_a_guests_memory() {
    let w = World::new();
    // More than the 64 MiB that a guest has.
    w.file("large.txt", "0123456789abcdef\n".repeat(5_000_000));
    let r = w.call("read_file", json!({ "path": "large.txt", "offset": 5_000_000 }));
    assert_eq!(r.text(), "5000000| 0123456789abcdef\n(End of file: 5000000 lines)");
}

#[test]
fn read_a_line_that_fits_no_answer_is_cut() {
    let w = World::new();
    w.file("wide.txt", format!("{}\nsecond\n", "é".repeat(300_000)));
    let text = read(&w, "wide.txt").text();
    let (body, footer) = text.rsplit_once('\n').expect("a footer");
    assert!(body.chars().count() <= 128_000, "{} characters", body.chars().count());
    assert!(body.starts_with("1| éé") && body.ends_with("é…"));
    assert!(footer.contains("too long") && footer.contains("offset=2"), "{footer}");
    let rest = w.call("read_file", json!({ "path": "wide.txt", "offset": 2 })).text();
    assert_eq!(rest, "2| second\n(End of file: 2 lines)");
}

#[test]
fn read_binary_files_are_refused_and_latin_1_text_is_not() {
    let w = World::new();
    w.file("tool.bin", b"\x7fELF\0\x01");
    w.file("odd", b"caf\xe9\n");
    w.file("cut.dat", b"caf\xc3");
    for path in ["tool.bin", "odd", "cut.dat"] {
        let (kind, message) = read(&w, path).error();
        assert_eq!(kind, ErrorKind::Unsupported, "{path}");
        assert!(message.contains("binary"), "{message}");
    }
    w.file("old.txt", b"caf\xe9\n");
    assert_eq!(read(&w, "old.txt").text(), "1| café\n(End of file: 1 line)");
}

#[test]
fn read_a_character_across_pieces_is_text() {
    let w = World::new();
    // Pieces have 64 KiB: after two bytes and characters of three with a line end each, the first piece ends inside one.
    w.file("euro", format!("x\n{}\n", "€\n".repeat(50_000)));
    let r = w.call("read_file", json!({ "path": "euro", "offset": 50_001, "limit": 1 }));
    assert!(r.text().starts_with("50001| €\n"), "{}", r.text());
}

#[test]
fn read_images_pdf_and_office_files_are_not_readable_yet() {
    let w = World::new();
    for (path, what) in [("a.PNG", "images"), ("a.pdf", "PDF files"), ("a.docx", "office documents")] {
        w.file(path, "whatever");
        let (kind, message) = read(&w, path).error();
        assert_eq!(kind, ErrorKind::Unsupported);
        assert_eq!(message, format!("{path}: {what} are not readable yet; only text files are"));
    }
}

#[test]
fn read_a_socket_is_refused_at_once() {
    let w = World::new();
    let _listener = std::os::unix::net::UnixListener::bind(w.path("s")).expect("a socket");
    read(&w, "s").refused();
}

#[test]
fn read_bad_arguments_are_refused() {
    let w = World::new();
    w.file("a.txt", "x");
    for arguments in [
        json!({ "path": "" }),
        json!({ "path": "a.txt", "offset": 0 }),
        json!({ "path": "a.txt", "limit": 0 }),
        json!({ "path": "a.txt", "offset": -1 }),
        json!({ "path": "a\0b" }),
        json!({ "path": "a.txt", "pages": "1" }),
    ] {
        w.call("read_file", arguments).refused();
    }
}
