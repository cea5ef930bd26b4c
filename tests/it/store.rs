//! The database: whose it is, what it refuses, and that neither another process nor a kill harms it.

use crate::sessions::{Kept, user, valid_for_wires};
use proptest::prelude::Rng as _;
use ringfence::provider::{Block, Message};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{Store, StoreError};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn refused(path: &Path) -> StoreError {
    Store::open(path).unwrap_err()
}

#[test]
fn only_the_user_can_read_it() {
    let kept = Kept::new();
    kept.session("a").append(user("a")).unwrap();
    let dir = kept.path().parent().unwrap().to_owned();
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn a_file_that_others_can_read_is_closed_to_them() {
    let kept = Kept::new();
    fs::set_permissions(kept.path(), fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(&kept.path()).unwrap();
    assert_eq!(mode(&kept.path()), 0o600);
}

#[test]
fn links_and_what_is_no_file_are_refused() {
    let kept = Kept::new();
    let dir = kept.temp.path().join("other");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let before = fs::read(kept.path()).unwrap();
    let path = dir.join("state.db");

    symlink(kept.path(), &path).unwrap();
    assert!(refused(&path).to_string().contains("is a link"));
    fs::remove_file(&path).unwrap();

    symlink(dir.join("nowhere"), &path).unwrap();
    assert!(refused(&path).to_string().contains("is a link"));
    assert!(!dir.join("nowhere").exists());
    fs::remove_file(&path).unwrap();

    fs::hard_link(kept.path(), &path).unwrap();
    assert!(refused(&path).to_string().contains("hard link"));
    fs::remove_file(&path).unwrap();

    fs::create_dir(&path).unwrap();
    assert!(refused(&path).to_string().contains("not a regular file"));
    fs::remove_dir(&path).unwrap();

    symlink(kept.path(), dir.join("state.db-wal")).unwrap();
    assert!(refused(&path).to_string().contains("state.db-wal is a link"));
    assert_eq!(fs::read(kept.path()).unwrap(), before);
}

#[test]
fn a_link_to_the_directory_is_followed_and_a_directory_of_all_refused() {
    let kept = Kept::new();
    let link = kept.temp.path().join("link");
    symlink(kept.path().parent().unwrap(), &link).unwrap();
    assert_eq!(Store::open(&link.join("state.db")).unwrap().path(), kept.path());

    let open = kept.temp.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refused(&open.join("state.db")).to_string().contains("chmod go-w"));
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}

#[test]
fn a_file_of_another_user_is_refused() {
    let kept = Kept::new();
    if fs::metadata(kept.path()).unwrap().uid() != 0 {
        // Only root can give a file away.
        return;
    }
    let path = kept.path();
    drop(kept.store);
    std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
    assert!(refused(&path).to_string().contains("another user"));
}

#[test]
fn a_newer_database_is_refused_and_left_as_it_is() {
    let kept = Kept::new();
    kept.session("a").append(user("a")).unwrap();
    kept.raw().pragma_update(None, "user_version", 4).unwrap();
    let path = kept.path();
    drop(kept.store);
    let before = fs::read(&path).unwrap();
    let error = refused(&path);
    assert!(matches!(error, StoreError::Newer { found: 4, known: 3, .. }), "{error:?}");
    assert!(error.to_string().contains("newer ringfence"), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A database as the first schema made it, with something in every table.
fn of_the_first_schema(path: &Path) {
    let old = rusqlite::Connection::open(path).unwrap();
    old.execute_batch(include_str!("../../src/store/schema_1.sql")).unwrap();
    old.pragma_update(None, "application_id", 0x5267_4663).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute_batch(
        r#"
        INSERT INTO workspaces (id, path) VALUES (1, x''), (2, CAST('/somewhere' AS BLOB));
        INSERT INTO sessions VALUES (7, 1, 'cli', 'a', 'one', 10, 20, 3), (8, 2, 'cli', 'a', 'there', 5, 6, 1);
        INSERT INTO messages (session, seq, at, speaker, blocks) VALUES
          (7, 1, 11, 'user', '[{"type":"text","text":"one"}]'),
          (7, 2, 12, 'assistant', '[{"type":"text","text":"two"}]'),
          (7, 3, 13, 'user', '[{"type":"text","text":"three"}]'),
          (8, 1, 5, 'user', '[{"type":"text","text":"there"}]');
        INSERT INTO compactions (session, at, first, summary) VALUES (7, 14, 3, 'before three');
        INSERT INTO audit (at, session, who, role, tool, granted, outcome, ms, bytes, refusals)
          VALUES (1, 'cli:a', 'agent', 'main', 'read_file', 'files', 'done', 2, 3, 0);
        INSERT INTO usage (at, session, provider, model, input, cached, output, cost)
          VALUES (1, 'cli:a', 'p', 'm', 10, 4, 2, 7);
        "#,
    )
    .unwrap();
}

#[test]
fn a_database_of_the_first_schema_is_brought_up_to_date_and_keeps_everything() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    of_the_first_schema(&path);
    let store = Store::open(&path).unwrap();
    let version = || {
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(version(), 3);

    let all = ringfence::session::list(&store, None).unwrap();
    let known: Vec<_> =
        all.iter().map(|entry| (entry.title.as_str(), entry.updated, entry.messages)).collect();
    assert_eq!(known, [("one", 20, 3), ("there", 6, 1)]);
    assert_eq!(all[1].workspace, "/somewhere");
    let mut session = Session::open(&store, SessionKey::parse("a")).unwrap();
    assert_eq!(
        session.messages(),
        [user("before three\nthree")].map(|message| Message {
            blocks: ["before three", "three"].map(|text| Block::Text { text: text.to_owned() }).to_vec(),
            ..message
        })
    );
    assert_eq!(session.history().unwrap(), [user("one"), Message::assistant("two"), user("three")]);
    assert!(session.history_rows().unwrap().iter().all(|kept| kept.source.is_none()));
    let audit = store.audit(&ringfence::store::AuditFilter::default()).unwrap();
    assert_eq!((audit.len(), audit[0].tool.as_str()), (1, "read_file"));
    assert_eq!(store.usage("cli:a").unwrap().cost, Some(7));

    // And what the second schema brings works in it.
    assert!(session.append_from(user("[host] done"), "task:t1").unwrap());
    assert!(!session.append_from(user("[host] done"), "task:t1").unwrap());
    let none = ringfence::store::Workspace::none();
    let new = crate::store_tasks::new_task("t1", &none, None);
    assert!(matches!(store.record_task(&new, 1).unwrap(), ringfence::store::Recorded::New(_)));
    drop((session, store));
    let store = Store::open(&path).unwrap();
    assert_eq!((version(), store.unowned_tasks(9).unwrap().len()), (3, 1));
    let kept = Session::open(&store, SessionKey::parse("a")).unwrap().history_rows().unwrap();
    assert_eq!(kept[3].source.as_deref(), Some("task:t1"));
}

#[test]
fn many_can_bring_it_up_to_date_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    of_the_first_schema(&path);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = Store::open(&path).unwrap();
                assert_eq!(ringfence::session::list(&store, None).unwrap().len(), 2);
                assert!(store.unowned_tasks(9).unwrap().is_empty());
            });
        }
    });
}

#[test]
fn another_programs_database_is_refused_and_left_as_it_is() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    assert!(refused(&path).to_string().contains("another program's"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_damaged_file_is_refused_with_the_command_that_helps_and_never_written() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("it's/state.db");
    drop(Store::open(&path).unwrap());
    for damage in ["no database, for sure not a database", "SQLite format 3\0 and then nothing that fits"] {
        let bytes = damage.repeat(300);
        fs::write(&path, &bytes).unwrap();
        let error = refused(&path);
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
        let text = error.to_string();
        let (_, command) = text.split_once("begin anew with: ").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
        assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
        drop(Store::open(&path).unwrap());
        assert_eq!(fs::read_to_string(path.with_extension("db.damaged")).unwrap(), bytes);
    }
}

#[test]
fn damage_inside_is_an_error_and_no_loss_of_the_rest() {
    let kept = Kept::new();
    let mut session = kept.session("a");
    for n in 0..200 {
        session.append(user(&format!("message {n} {}", "x".repeat(500)))).unwrap();
    }
    let path = kept.path();
    kept.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop((session, kept.store));
    let mut bytes = fs::read(&path).unwrap();
    // The roots of all tables stand first, what was said behind them.
    let at = bytes.len() * 3 / 4 / 4096 * 4096;
    bytes[at..at + 4096].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    // Opening does not read everything; what reads the page says what is wrong.
    let store = Store::open(&path).unwrap();
    let error = Session::open(&store, SessionKey::parse("a")).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn an_old_empty_file_becomes_the_database() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("state.db");
    fs::write(&path, "").unwrap();
    let store = Store::open(&path).unwrap();
    Session::open(&store, SessionKey::parse("a")).unwrap().append(user("a")).unwrap();
}

#[test]
fn a_disk_that_takes_no_more_is_an_error_and_the_message_is_not_said() {
    let kept = Kept::new();
    let mut session = kept.session("a");
    session.append(user("a")).unwrap();
    kept.raw()
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'full'); END")
        .unwrap();
    session.append(user("b")).unwrap_err();
    assert_eq!(session.messages(), [user("a")]);
    kept.raw().execute_batch("DROP TRIGGER full").unwrap();
    session.append(user("c")).unwrap();
    assert_eq!(kept.session("a").messages(), session.messages());
}

#[test]
fn many_can_make_it_at_once() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("data/state.db");
    std::thread::scope(|scope| {
        for n in 0..16 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path).unwrap();
                let key = SessionKey::new("cli", &n.to_string());
                Session::open(&store, key).unwrap().append(user("a")).unwrap();
            });
        }
    });
    let store = Store::open(&path).unwrap();
    assert_eq!(ringfence::session::list(&store, None).unwrap().len(), 16);
}

#[test]
fn usage_is_summed_by_session_and_an_unknown_price_is_not_nothing() {
    use ringfence::store::{UsageRow, UsageSum};
    let kept = Kept::new();
    let row = |session: &str, cost| {
        let (session, provider, model) = (session.to_owned(), "p".to_owned(), "m".to_owned());
        UsageRow { session, provider, model, input: 10, cached: 4, output: 2, cost }
    };
    for row in [row("cli:a", None), row("cli:b", None), row("cli:b", Some(7)), row("cli:b", Some(5))] {
        kept.store.add_usage(&row).unwrap();
    }
    let sum = |calls, cost| UsageSum { calls, input: 10 * calls, cached: 4 * calls, output: 2 * calls, cost };
    assert_eq!(kept.store.usage("cli:a").unwrap(), sum(1, None));
    assert_eq!(kept.store.usage("cli:b").unwrap(), sum(3, Some(12)));
    assert_eq!(kept.store.usage("cli:c").unwrap(), UsageSum::default());
}

/// Where a writer that is started below finds its orders.
const ORDERS: &str = "TEST_WRITER";

/// Not a test of its own: the process that other tests start. It appends messages and says each once it is appended.
#[test]
fn writer_process() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let [path, name, count] = orders.split('|').collect::<Vec<_>>().try_into().unwrap();
    let store = Store::open(Path::new(path)).unwrap();
    let mut session = Session::open(&store, SessionKey::parse("shared")).unwrap();
    let mut out = std::io::stdout();
    for n in 0..count.parse::<u64>().unwrap() {
        session.append(numbered(name, n)).unwrap();
        writeln!(out, "appended {n}").unwrap();
    }
}

/// A message whose text tells whether all of it is there.
fn numbered(name: &str, n: u64) -> Message {
    let filling = "fence ".repeat(usize::try_from(n * 37 % 400).unwrap());
    Message::user(format!("{name} {n} {filling}end"))
}

pub fn start_writer(path: &Path, name: &str, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::writer_process", "--nocapture", "--test-threads=1"])
        .env(ORDERS, format!("{}|{name}|{count}", path.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The messages of one writer, in the order in which they were kept.
pub fn written_by(store: &Arc<Store>, name: &str) -> Vec<Message> {
    let session = Session::open(store, SessionKey::parse("shared")).unwrap();
    assert_eq!(session.skipped(), 0);
    valid_for_wires(session.messages()).unwrap();
    let mine = |message: &Message| message.text().split(' ').next() == Some(name);
    session.history().unwrap().into_iter().filter(mine).collect()
}

#[test]
fn two_processes_write_ten_thousand_messages_and_lose_none() {
    let kept = Kept::new();
    let mut writers = ["one", "two"].map(|name| start_writer(&kept.path(), name, 5_000));
    for writer in &mut writers {
        // Its lines are of no interest, but must have somewhere to go.
        std::io::copy(&mut writer.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        assert!(writer.wait().unwrap().success());
    }
    for name in ["one", "two"] {
        let expected: Vec<Message> = (0..5_000).map(|n| numbered(name, n)).collect();
        assert!(written_by(&kept.store, name) == expected, "{name}: lost, doubled or out of order");
    }
    assert_eq!(kept.session("shared").history().unwrap().len(), 10_000);
}

#[test]
fn a_killed_writer_leaves_whole_messages_and_all_that_it_said() {
    let mut points = proptest::test_runner::TestRunner::deterministic();
    for round in 0..30 {
        let kept = Kept::new();
        let mut writer = start_writer(&kept.path(), "one", u64::MAX);
        let until = points.rng().next_u64() % 200;
        let mut said = 0;
        for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
            if let Some(n) = line.unwrap().strip_prefix("appended ") {
                said = n.parse::<u64>().unwrap() + 1;
                if said > until {
                    break;
                }
            }
        }
        // The writer is anywhere on its way to the next ones.
        writer.kill().unwrap();
        writer.wait().unwrap();
        let written = written_by(&kept.store, "one");
        assert!(written.len() as u64 >= said, "round {round}: {} of {said}", written.len());
        for (n, message) in (0..).zip(&written) {
            assert!(*message == numbered("one", n), "round {round}: message {n} is not whole");
        }
        // And the next process goes on where it ended.
        kept.session("shared").append(Message::user("one more")).unwrap();
        assert_eq!(kept.session("shared").history().unwrap().len(), written.len() + 1);
        assert!(
            matches!(kept.raw().query_row("PRAGMA integrity_check", [], |r| r.get::<_, String>(0)), Ok(s) if s == "ok")
        );
    }
}

#[test]
fn a_message_is_kept_with_everything_in_it() {
    let kept = Kept::new();
    let raw = serde_json::json!({ "type": "thinking", "signature": "abc", "deep": [1, { "x": null }] });
    let thinking = Block::Thinking { provider: "p".to_owned(), raw, text: "t".to_owned() };
    let mut message = Message::assistant("nul \0, bell \u{7}, emoji 🦊, \u{202e}, and a line\nmore");
    message.blocks.insert(0, thinking);
    let mut session = kept.session("a");
    session.append(user("a")).unwrap();
    session.append(message.clone()).unwrap();
    assert_eq!(kept.session("a").messages()[1], message);
    assert_eq!(kept.session("a").history().unwrap()[1], message);
}
