//! Components that are something that the host does not serve: refused by name before they run, and nothing is reached.

use crate::attack::{raw, world};
use crate::support::{self, World};
use ringfence::authority::{DenialKind, Role};
use serde_json::json;
use std::fs;
use std::net::{TcpListener, UdpSocket};

fn installed(component: &str, grants: &[&str]) -> World {
    let w = world();
    w.component(&support::hostile(component), grants);
    w
}

/// Asserts that a component is refused for one import, whatever is granted, and that the refusal names it.
fn assert_import_denied(component: &str, tool: &str, kind: DenialKind, import: &str) {
    let w = world();
    let all = ["files", "message", "spawn", "tasks", "cron", "exec", "log"];
    let denial = w.component_denied(&support::hostile(component), &all);
    assert_eq!(denial.kind, kind, "{component}: {denial}");
    assert!(denial.to_string().contains(import), "{component}: {denial}");
    for role in [Role::Main, Role::Subagent] {
        assert_eq!(
            w.call_as(role, tool, json!({ "text": "x", "port": 1 })).outcome(),
            "unknown",
            "{component}"
        );
    }
    assert!(w.ports().messages().is_empty());
    assert!(w.call("read_file", json!({ "path": "honest.txt" })).text().contains("honest"));
}

#[test]
fn escape_148_another_version_of_an_interface_is_refused_by_name() {
    assert_import_denied(
        "wire_wrong_version",
        "grab_newer_message",
        DenialKind::OtherVersion,
        "ringfence:host/message@0.2.0",
    );
    assert_import_denied(
        "wire_future_wasi",
        "grab_future_files",
        DenialKind::OtherVersion,
        "wasi:filesystem/preopens@0.3.0",
    );
}

#[test]
fn escape_134_an_unknown_import_is_refused_by_name() {
    assert_import_denied(
        "wire_unknown_import",
        "grab_door",
        DenialKind::UnknownImport,
        "evil:thing/door@1.0.0",
    );
}

#[test]
fn http_is_refused_while_nothing_provides_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    for grants in [&[][..], &["network"]] {
        let denial = world().component_denied(&support::hostile("wire_http"), grants);
        assert_eq!(denial.kind, DenialKind::NotProvided, "{denial}");
        assert!(denial.to_string().contains("wasi:http/"), "{denial}");
    }
    assert!(listener.accept().is_err(), "somebody connected");
}

#[test]
fn sockets_reach_nobody() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    udp.set_nonblocking(true).unwrap();
    let w = installed("wire_sockets", &[]);
    let reached = raw(&w, "grab_sockets", json!({ "port": port, "name": "localhost" }));
    for way in ["tcp_connect", "tcp_listen", "udp_send", "udp_send_connected", "lookup"] {
        assert!(reached[way].is_string(), "{way}: {reached}");
        assert_ne!(reached[way], "ok", "{way}: {reached}");
    }
    assert!(tcp.accept().is_err(), "somebody connected");
    assert!(udp.recv(&mut [0; 64]).is_err(), "somebody sent");
    // The listener works: it hears this test.
    let _heard = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    tcp.set_nonblocking(false).unwrap();
    tcp.accept().unwrap();
}

#[test]
fn what_is_no_tool_component_is_not_taken() {
    let w = world();
    let dir = w.outside().to_owned();
    let whole = fs::read(support::hostile("limits_trap")).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut flipped = whole.clone();
    // In the middle of the code, where a changed byte is no longer valid or no longer the same.
    for byte in flipped.iter_mut().skip(whole.len() / 3).step_by(7).take(1000) {
        *byte = !*byte;
    }
    for (what, path) in [
        ("not_a_tool", support::wat("not_a_tool")),
        ("wrong_shape", support::wat("wrong_shape")),
        ("core_module", support::wat("core_module")),
        ("empty", write("empty.wasm", b"")),
        ("garbage", write("garbage.wasm", &[0x5a; 4096])),
        ("text", write("text.wasm", b"(component)")),
        ("header", write("header.wasm", whole.get(..8).unwrap())),
        ("half", write("half.wasm", whole.get(..whole.len() / 2).unwrap())),
        ("short", write("short.wasm", whole.get(..whole.len() - 1).unwrap())),
        ("trailing", write("trailing.wasm", &[whole.as_slice(), b"more"].concat())),
        ("flipped", write("flipped.wasm", &flipped)),
        ("absent", dir.join("absent.wasm")),
        ("directory", dir.clone()),
    ] {
        let refused = w.try_component(&path, &["files", "message"]).expect_err(what);
        assert!(!refused.is_empty(), "{what}");
        assert_ne!(w.call("work", json!({})).outcome(), "ok", "{what}");
    }
    let path = write("whole.wasm", &whole);
    w.try_component(&path, &[]).unwrap();
    assert_eq!(w.call("work", json!({})).text(), "worked");
}

#[test]
fn a_component_is_what_it_was_when_it_was_installed() {
    let w = world();
    let path = w.outside().join("tool.wasm");
    fs::copy(support::hostile("limits_trap"), &path).unwrap();
    w.try_component(&path, &[]).unwrap();
    // Swapped after it was looked at: neither its imports nor its code count for what was agreed to.
    fs::copy(support::hostile("role_message"), &path).unwrap();
    assert_eq!(w.call("work", json!({})).text(), "worked");
    assert_ne!(w.call("grab_message", json!({ "text": "x" })).outcome(), "ok");
    assert!(w.ports().messages().is_empty());
}
