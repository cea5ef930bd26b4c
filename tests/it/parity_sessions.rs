//! The N rows of the parity cases: sessions and where they are kept.

use crate::sessions::{Kept, calls, results, says, user, valid_for_wires};
use crate::support::Snapshot;
use ringfence::provider::Message;
use ringfence::session::{Session, SessionKey, find, list, newest};
use ringfence::store::Store;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace(kept: &Kept, name: &str) -> PathBuf {
    let dir = kept.temp.path().join(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("file.txt"), name).unwrap();
    fs::canonicalize(dir).unwrap()
}

fn keep(kept: &Kept, workspace: &Path) {
    kept.session_in(workspace, "work").append(user("remember the gate")).unwrap();
}

fn remembers(kept: &Kept, workspace: &Path) -> bool {
    let workspace = fs::canonicalize(workspace).unwrap();
    let session = kept.session_in(&workspace, "work");
    let listed = list(&kept.store, Some(&workspace)).unwrap();
    assert_eq!(listed.len(), session.messages().len());
    assert_eq!(newest(&kept.store, &workspace).unwrap().is_some(), !listed.is_empty());
    !listed.is_empty()
}

#[test]
fn parity_n01_a_session_leaves_nothing_in_the_workspace() {
    let kept = Kept::new();
    let ws = workspace(&kept, "ws");
    let before = Snapshot::of(&ws, &kept.temp.path().join("data"));
    keep(&kept, &ws);
    assert!(remembers(&kept, &ws));
    assert_eq!(Snapshot::of(&ws, &kept.temp.path().join("data")), before);
    assert!(!kept.path().starts_with(&ws));
}

#[test]
fn parity_n01_another_workspace_sees_nothing_of_it() {
    let kept = Kept::new();
    let (ws, other) = (workspace(&kept, "ws"), workspace(&kept, "other"));
    keep(&kept, &ws);
    assert!(!remembers(&kept, &other));
    assert!(!remembers(&kept, &workspace(&kept, "ws/below")));
    let missing = find(&kept.store, Some(&other), &SessionKey::parse("work")).unwrap().unwrap_err();
    assert_eq!(missing.workspaces, [ws.display().to_string()]);

    // The same name there is another conversation.
    kept.session_in(&other, "work").append(user("something else")).unwrap();
    assert_eq!(kept.session_in(&ws, "work").messages(), [user("remember the gate")]);
    assert_eq!(kept.session_in(&other, "work").messages(), [user("something else")]);
    assert_eq!(list(&kept.store, None).unwrap().len(), 2);
    let ambiguous = find(&kept.store, None, &SessionKey::parse("work")).unwrap().unwrap_err();
    assert_eq!(ambiguous.workspaces.len(), 2);
}

#[test]
fn parity_n01_a_copy_begins_anew() {
    let kept = Kept::new();
    let ws = workspace(&kept, "ws");
    keep(&kept, &ws);
    let copied = Command::new("cp").arg("-a").arg(&ws).arg(kept.temp.path().join("copy")).status().unwrap();
    assert!(copied.success());
    assert!(!remembers(&kept, &kept.temp.path().join("copy")));
    assert!(remembers(&kept, &ws));
}

#[test]
fn parity_n01_a_moved_workspace_keeps_its_sessions() {
    let kept = Kept::new();
    let ws = workspace(&kept, "ws");
    if fs::metadata(&ws).unwrap().created().is_err() {
        // A file system that does not tell when a directory was made; there the path alone counts.
        return;
    }
    keep(&kept, &ws);
    let moved = kept.temp.path().join("moved");
    fs::rename(&ws, &moved).unwrap();
    assert!(remembers(&kept, &moved));
    // Something is said there, and from then on the store knows it by its new path.
    let moved = fs::canonicalize(&moved).unwrap();
    kept.session_in(&moved, "work").append(says("yes")).unwrap();
    assert_eq!(list(&kept.store, None).unwrap()[0].workspace, moved.display().to_string());
    assert_eq!(list(&kept.store, None).unwrap().len(), 1);
    // A new directory under the old path is another workspace.
    assert!(!remembers(&kept, &workspace(&kept, "ws")));
}

#[test]
fn parity_n01_a_path_through_a_link_is_the_same_workspace() {
    let kept = Kept::new();
    let ws = workspace(&kept, "ws");
    keep(&kept, &ws);
    symlink(&ws, kept.temp.path().join("link")).unwrap();
    assert!(remembers(&kept, &kept.temp.path().join("link")));
}

#[test]
fn parity_n01_a_workspace_that_was_made_again_finds_its_sessions() {
    let kept = Kept::new();
    let ws = workspace(&kept, "ws");
    keep(&kept, &ws);
    fs::remove_dir_all(&ws).unwrap();
    assert!(remembers(&kept, &workspace(&kept, "ws")));
}

#[test]
fn parity_n01_an_inode_that_is_used_again_is_not_the_workspace_that_had_it() {
    let kept = Kept::new();
    for round in 0..20 {
        let ws = workspace(&kept, &format!("gone {round}"));
        keep(&kept, &ws);
        fs::remove_dir_all(&ws).unwrap();
        assert!(!remembers(&kept, &workspace(&kept, &format!("new {round}"))), "round {round}");
    }
}

fn ringfence(home: &Path, arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_ringfence"))
        .args(arguments)
        .env_clear()
        .env("RINGFENCE_HOME", home)
        .output()
        .unwrap()
}

#[test]
fn parity_n02_a_store_inside_the_workspace_ends_the_start() {
    let temp = tempfile::tempdir().unwrap();
    let ws = temp.path().join("ws");
    fs::create_dir(&ws).unwrap();
    let inside = ws.join(".state");
    for there in [false, true] {
        if there {
            fs::create_dir_all(inside.join("data")).unwrap();
        }
        let ws = ws.to_str().unwrap();
        for arguments in
            [vec!["tools", "run", "-C", ws, "list_dir", "path=."], vec!["run", "-C", ws, "hello"]]
        {
            let output = ringfence(&inside, &arguments);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {output:?}");
            assert!(!inside.join("data/state.db").exists());
        }
    }
    // And a workspace inside the store's own directory.
    let home = temp.path().join("home");
    let ws = home.join("data/ws");
    fs::create_dir_all(&ws).unwrap();
    let output = ringfence(&home, &["tools", "run", "-C", ws.to_str().unwrap(), "list_dir", "path=."]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!home.join("data/state.db").exists());
}

#[test]
fn parity_n04_keys_that_look_alike_are_different_sessions() {
    let kept = Kept::new();
    let names = ["a_b", "a:b", "a/b", "a b", "A_b", "a:b:c", "a:b_c", "a_b:c", "ａ_b", "..", "a%3Ab"];
    for name in names {
        kept.session(name).append(user(name)).unwrap();
    }
    for name in names {
        assert_eq!(kept.session(name).messages(), [user(name)]);
        assert_eq!(SessionKey::parse(&SessionKey::parse(name).to_string()), SessionKey::parse(name));
    }
    assert_eq!(list(&kept.store, None).unwrap().len(), names.len());
    assert_eq!(SessionKey::new("a:b", "c"), SessionKey::new("a", "b:c"));
}

fn five() -> [Message; 6] {
    [user("a"), calls(&["1"]), results(&["1"]), says("b"), user("c"), says("d")]
}

fn kept_with_broken(rows: &[i64]) -> (Kept, Session) {
    let kept = Kept::new();
    let mut session = kept.session("a");
    for message in five() {
        session.append(message).unwrap();
    }
    for row in rows {
        let half = "UPDATE messages SET blocks = substr(blocks, 1, length(blocks) / 2) WHERE seq = ?1";
        assert_eq!(kept.raw().execute(half, [row]).unwrap(), 1);
    }
    let session = kept.session("a");
    assert_eq!(session.skipped(), rows.len());
    valid_for_wires(session.messages()).unwrap();
    (kept, session)
}

#[test]
fn parity_n05_a_broken_last_message_costs_that_message() {
    let (_kept, session) = kept_with_broken(&[6]);
    assert_eq!(session.messages(), &five()[..5]);
}

#[test]
fn parity_n05_a_broken_message_in_the_middle_costs_that_message() {
    let (_kept, session) = kept_with_broken(&[3]);
    assert_eq!(session.messages().len(), 6);
    assert!(session.messages()[2].results().next().unwrap().text.starts_with("interrupted"));
    assert_eq!(session.messages()[3..], five()[3..]);
    let (_kept, session) = kept_with_broken(&[1]);
    assert_eq!(session.messages()[1..], five()[1..]);
}

#[test]
fn parity_n05_a_message_that_is_no_text_costs_that_message() {
    let (kept, _) = kept_with_broken(&[]);
    kept.raw().execute("UPDATE messages SET blocks = CAST(x'ff00fe' AS TEXT) WHERE seq = 5", []).unwrap();
    kept.raw().execute("UPDATE messages SET speaker = 'nobody' WHERE seq = 6", []).unwrap();
    let session = kept.session("a");
    assert_eq!((session.messages(), session.skipped()), (&five()[..4], 2));
}

#[test]
fn parity_n05_what_is_known_of_a_session_may_be_broken() {
    let (kept, _) = kept_with_broken(&[]);
    kept.raw()
        .execute("UPDATE sessions SET title = CAST(x'ff' AS TEXT), updated = -1, last = 0", [])
        .unwrap();
    assert_eq!(kept.session("a").messages(), five());
    assert_eq!(list(&kept.store, None).unwrap().len(), 1);
}

#[test]
fn parity_n05_a_session_of_which_all_is_broken_begins_anew() {
    let (kept, mut session) = kept_with_broken(&[1, 2, 3, 4, 5, 6]);
    assert!(session.messages().is_empty());
    session.append(user("anew")).unwrap();
    session.append(says("good")).unwrap();
    assert_eq!(kept.session("a").messages(), [user("anew"), says("good")]);
    // Nothing that was there was written over.
    let rows: i64 = kept.raw().query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 8);
}

#[test]
fn parity_n05_an_empty_session_is_empty() {
    let kept = Kept::new();
    let session = kept.session("a");
    assert!(session.messages().is_empty() && session.history().unwrap().is_empty());
    assert_eq!(session.skipped(), 0);
}

#[test]
fn parity_n07_five_messages_are_five_in_their_order_whoever_appends() {
    let kept = Kept::new();
    let second = Store::open(&kept.path()).unwrap();
    let mut one = kept.session("a");
    let mut two = Session::open(&second, SessionKey::parse("a")).unwrap();
    let said: Vec<Message> = (0..5).map(|n| if n % 2 == 0 { user("more") } else { says("yes") }).collect();
    for (n, message) in said.iter().enumerate() {
        if n % 2 == 0 { &mut one } else { &mut two }.append(message.clone()).unwrap();
    }
    assert_eq!(kept.session("a").history().unwrap(), said);
    assert_eq!(Session::open(&second, SessionKey::parse("a")).unwrap().messages(), said);
}

#[test]
fn parity_n08_the_log_is_forced_to_the_disk_at_checkpoints_and_one_failure_does_not_stop_the_next() {
    let kept = Kept::new();
    let mode: String = kept.raw().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let mut sessions = ["a", "b", "c"].map(|name| kept.session(name));
    kept.raw()
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON messages
             WHEN (SELECT chat FROM sessions WHERE id = NEW.session) = 'b'
             BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        .unwrap();
    let kept_all = sessions.each_mut().map(|session| session.append(user("kept?")).is_ok());
    assert_eq!(kept_all, [true, false, true]);
    assert_eq!(list(&kept.store, None).unwrap().len(), 2);
}

#[test]
fn parity_n10_many_sessions_and_one_that_is_open_twice() {
    let kept = Kept::new();
    let mut first = kept.session("active");
    first.append(user("a")).unwrap();
    for n in 0..300 {
        kept.session(&format!("other {n}")).append(user("x")).unwrap();
    }
    let mut second = kept.session("active");
    second.append(says("b")).unwrap();
    first.append(user("c")).unwrap();
    assert_eq!(kept.session("active").messages(), [user("a"), says("b"), user("c")]);
    assert_eq!(newest(&kept.store, Path::new("")).unwrap(), Some(SessionKey::parse("active")));
}

#[test]
fn parity_n11_a_crash_in_a_turn_is_closed_at_the_next_start() {
    let kept = Kept::new();
    {
        let mut session = kept.session("a");
        session.append(user("a")).unwrap();
        session.append(calls(&["1", "2", "3"])).unwrap();
        session.append(results(&["2"])).unwrap();
        // And here the process ends.
    }
    let rows = || -> Vec<(i64, String)> {
        let raw = kept.raw();
        let mut query = raw.prepare("SELECT seq, blocks FROM messages ORDER BY seq").unwrap();
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    let before = rows();
    let first = kept.session("a");
    valid_for_wires(first.messages()).unwrap();
    assert_eq!(first.messages().len(), 3);
    let texts: Vec<String> = first.messages()[2].results().map(|result| result.text.clone()).collect();
    assert!(texts[0].starts_with("interrupted") && texts[2].starts_with("interrupted"), "{texts:?}");
    assert_eq!(texts[1], "result of 2");

    // Again and again the same, and nothing of it was written.
    for _ in 0..3 {
        assert_eq!(kept.session("a").messages(), first.messages());
    }
    assert_eq!(rows(), before);

    let mut session = kept.session("a");
    session.append(user("go on")).unwrap();
    session.append(says("b")).unwrap();
    let shown = kept.session("a");
    assert_eq!(shown.messages(), session.messages());
    assert_eq!(shown.messages().len(), 4);
    assert_eq!(shown.messages()[2].results().count(), 3);
    assert_eq!(shown.messages()[2].text(), "go on");
}
