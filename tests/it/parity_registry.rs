//! Calling tools by name and with the arguments that models write: rows R of the parity table, their neighbours, and what
//! text comes back.

use crate::support::{self, World};
use proptest::prelude::*;
use ringfence::sandbox::RawDefinition;
use ringfence::toolbox::{
    ArgumentError, Definition, ErrorKind, MAX_NAME, Outcome, escape_controls, invisible, is_name, look,
    nearest, prepare, view,
};
use serde_json::{Value, json};

/// A definition with this schema.
fn definition(schema: &Value) -> Definition {
    Definition::check(RawDefinition {
        name: "tool".to_owned(),
        description: "Does nothing.".to_owned(),
        input_schema: schema.to_string(),
        output_schema: None,
    })
    .unwrap()
}

/// A schema of one property called `value`.
fn one(property: &Value) -> Definition {
    definition(&json!({ "type": "object", "properties": { "value": property } }))
}

fn prepared(definition: &Definition, arguments: &Value) -> Result<Value, ArgumentError> {
    prepare(definition, &arguments.to_string())
}

/// What becomes of one value under the schema of its property.
fn cast(property: &Value, value: Value) -> Result<Value, String> {
    let prepared = prepared(&one(property), &json!({ "value": value })).map_err(|error| error.to_string())?;
    Ok(prepared.get("value").cloned().unwrap_or(Value::Null))
}

#[test]
fn parity_r01_a_name_that_is_nearly_right_gets_a_suggestion_and_nothing_runs() {
    let w = World::new();
    let write = json!({ "path": "new.txt", "content": "x" });
    for (typed, meant) in [
        ("write_fil", "write_file"),
        ("write-file", "write_file"),
        ("writefile", "write_file"),
        ("Write_File", "write_file"),
        ("WRITE_FILE", "write_file"),
        ("write_file ", "write_file"),
        ("wirte_file", "write_file"),
        ("reat_file", "read_file"),
    ] {
        let reply = w.call(typed, write.clone());
        match &reply.0.outcome {
            Outcome::Unknown { tool, near } => {
                assert_eq!((tool.as_str(), near.as_deref()), (typed, Some(meant)));
            }
            other => panic!("{typed}: {other:?}"),
        }
        let told = reply.0.outcome.for_model();
        assert!(
            told.contains(&format!("did you mean `{meant}`?")) && told.contains("Nothing was run"),
            "{told}"
        );
    }
    assert!(!w.exists("new.txt"));
    w.call("write_file", write).text();
    assert!(w.exists("new.txt"));
}

#[test]
fn parity_r01_a_name_that_may_be_two_gets_no_suggestion() {
    let w = World::new();
    for typed in ["edad_file", "reit_file", "", "file", "launch_rockets", "grep; rm -rf /", "tools/grep"] {
        match &w.call(typed, json!({ "path": "." })).0.outcome {
            Outcome::Unknown { near: None, .. } => {}
            other => panic!("{typed}: {other:?}"),
        }
    }
    // No name is as long as this, and what is told of it is short.
    let endless = "read_file".repeat(500_000);
    let reply = w.call(&endless, json!({}));
    assert!(matches!(&reply.0.outcome, Outcome::Unknown { near: None, .. }));
    assert!(reply.0.outcome.for_model().len() < 1000);
}

#[test]
fn parity_r02_arguments_in_a_string_or_one_level_too_deep_are_unwrapped() {
    let w = World::new();
    w.file("a.txt", "one\n");
    let whole = r#"{"path":"a.txt","force":true}"#;
    let string = Value::String(whole.to_owned()).to_string();
    for sent in [
        whole,
        &string,
        &format!("  {whole}\n"),
        &format!(r#"{{"arguments":{whole}}}"#),
        &format!(r#"{{"arguments":{string}}}"#),
        &Value::String(format!(r#"{{"arguments":{whole}}}"#)).to_string(),
    ] {
        let text = w.call_text("read_file", sent).text();
        assert!(text.starts_with("1| one\n"), "{sent}: {text}");
    }
    // Nothing at all is an empty object, which is enough where nothing is required.
    for sent in ["", "  ", "null", "{}", r#"{"arguments":null}"#, r#"{"arguments":{}}"#, r#""{}""#] {
        assert!(w.call_text("find_files", sent).text().contains("a.txt"), "{sent}");
        assert!(w.call_text("read_file", sent).argument_error().contains("path"), "{sent}");
    }
}

#[test]
fn parity_r02_what_is_no_object_is_refused() {
    let w = World::new();
    w.file("a.txt", "one\n");
    for sent in [
        r#"["a.txt"]"#,
        r#"[{"path":"a.txt"}]"#,
        "5",
        "true",
        r#""a.txt""#,
        r#""null""#,
        r#""[]""#,
        r#""{\"path\":""#,
        r#"{"path":"a.txt""#,
        "path=a.txt",
        "{'path': 'a.txt'}",
        r#"{"path":"a.txt"} {}"#,
        r#"{"arguments":["a.txt"]}"#,
        r#"{"arguments":"a.txt"}"#,
        r#"{"arguments":"[]"}"#,
        r#"{"arguments":5}"#,
        "NaN",
        "\u{0}",
    ] {
        let said = w.call_text("read_file", sent).argument_error();
        assert!(said.starts_with("invalid arguments for `read_file`: they "), "{sent}: {said}");
        assert!(said.len() < 1000, "{sent}: {said}");
    }
}

#[test]
fn parity_r02_a_tool_that_takes_arguments_by_that_name_gets_them() {
    let takes = definition(&json!({
        "type": "object",
        "properties": { "arguments": { "type": "object" } },
        "required": ["arguments"],
    }));
    let sent = json!({ "arguments": { "a": 1 } });
    assert_eq!(prepared(&takes, &sent).unwrap(), sent);
    // Beside another member it is one like any other.
    let any = definition(&json!({ "type": "object" }));
    let sent = json!({ "arguments": { "a": 1 }, "b": 2 });
    assert_eq!(prepared(&any, &sent).unwrap(), sent);
}

#[test]
fn parity_r03_members_that_are_missing_or_unknown_are_named() {
    let w = World::new();
    for (tool, sent, named) in [
        ("write_file", json!({ "path": "new.txt" }), "\"content\""),
        ("write_file", json!({ "content": "x" }), "\"path\""),
        ("write_file", json!({ "path": "new.txt", "contents": "x", "content": "x" }), "contents"),
        ("write_file", json!({ "path": "new.txt", "content": "x", "pth": 1 }), "did you mean `path`?"),
        ("read_file", json!({ "path": "" }), "path"),
        ("read_file", json!({ "path": "a", "offset": 0 }), "offset"),
        ("grep", json!({ "pattern": "a", "output_mode": "all" }), "output_mode"),
        ("apply_patch", json!({ "edits": [] }), "edits"),
        ("apply_patch", json!({ "edits": [{ "path": "new.txt", "action": "move" }] }), "edits.0.action"),
    ] {
        let said = w.call(tool, sent.clone()).argument_error();
        assert!(said.contains(named), "{tool} {sent}: {said}");
    }
    assert!(!w.exists("new.txt"));
    // All at once, so that one correction is enough, but no flood.
    let said = w.call("read_file", json!({ "offset": -1, "limit": "many", "force": 7 })).argument_error();
    for named in ["path", "offset", "limit", "force"] {
        assert!(said.contains(named), "{said}");
    }
    let flood: serde_json::Map<String, Value> =
        (0..1000).map(|n| (format!("{n}{}", "x".repeat(1000)), json!(n))).collect();
    assert!(w.call("read_file", Value::Object(flood)).argument_error().len() < 3000);
}

#[test]
fn parity_r04_scalars_are_taken_for_what_they_say() {
    let (integer, number, boolean, text) = (
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
        json!({ "type": "boolean" }),
        json!({ "type": "string" }),
    );
    for (property, sent, got) in [
        (&integer, json!("5"), json!(5)),
        (&integer, json!(" -5 "), json!(-5)),
        (&integer, json!(5.0), json!(5)),
        (&number, json!("2.5"), json!(2.5)),
        (&number, json!("1e3"), json!(1000.0)),
        (&number, json!(5), json!(5)),
        (&boolean, json!("true"), json!(true)),
        (&boolean, json!("False"), json!(false)),
        (&text, json!(5), json!("5")),
        (&text, json!(true), json!("true")),
        (&text, json!("5"), json!("5")),
        (&text, json!("true"), json!("true")),
    ] {
        assert_eq!(cast(property, sent.clone()), Ok(got), "{property} {sent}");
    }
    for (property, sent) in [
        (&integer, json!(true)),
        (&integer, json!("true")),
        (&integer, json!("five")),
        (&integer, json!("5.5")),
        (&integer, json!(5.5)),
        (&integer, json!("99999999999999999999")),
        (&integer, json!([5])),
        (&integer, json!({ "value": 5 })),
        (&number, json!("NaN")),
        (&number, json!("inf")),
        (&number, json!("-Infinity")),
        (&number, json!(false)),
        (&boolean, json!(1)),
        (&boolean, json!("maybe")),
        (&boolean, json!("")),
        (&text, json!(["a"])),
        (&text, json!({})),
    ] {
        assert!(cast(property, sent.clone()).is_err(), "{property} {sent}");
    }
    // What is no number of JSON is none here either, however it is written.
    for sent in [r#"{"value":NaN}"#, r#"{"value":Infinity}"#, r#"{"value":1e999}"#] {
        assert!(prepare(&one(&number), sent).is_err(), "{sent}");
    }
}

#[test]
fn parity_r04_lists_are_unpacked_from_text_and_made_of_nothing_else() {
    let list = json!({ "type": "array", "items": { "type": "integer" } });
    assert_eq!(cast(&list, json!(["1", 2, "3"])), Ok(json!([1, 2, 3])));
    assert_eq!(cast(&list, json!("[1, \"2\"]")), Ok(json!([1, 2])));
    for sent in
        [json!(1), json!("1"), json!("1,2"), json!(true), json!({ "0": 1 }), json!("{}"), json!("[1,")]
    {
        assert!(cast(&list, sent.clone()).is_err(), "{sent}");
    }
    let object = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "additionalProperties": false });
    assert_eq!(cast(&object, json!("{\"n\":\"5\"}")), Ok(json!({ "n": 5 })));
    assert!(cast(&object, json!("n=5")).is_err());
    // Through a tool, with the effect: one edit as text, its members as models send them.
    let w = World::new();
    let edits = json!([{ "path": "new.txt", "action": "add", "new_text": "x\n" }]).to_string();
    w.call("apply_patch", json!({ "edits": edits, "dry_run": "true" })).text();
    assert!(!w.exists("new.txt"));
    w.call("apply_patch", json!({ "edits": edits, "dry_run": "false" })).text();
    assert_eq!(w.read("new.txt"), "x\n");
}

#[test]
fn parity_r04_null_is_left_out_or_kept_as_the_schema_says() {
    let nullable = json!({ "type": ["integer", "null"] });
    assert_eq!(prepared(&one(&nullable), &json!({ "value": null })).unwrap(), json!({ "value": null }));
    assert_eq!(cast(&nullable, json!("5")), Ok(json!(5)));
    let plain = one(&json!({ "type": "integer" }));
    assert_eq!(prepared(&plain, &json!({ "value": null })).unwrap(), json!({}));
    let required = definition(
        &json!({ "type": "object", "properties": { "value": { "type": "integer" } }, "required": ["value"] }),
    );
    assert!(prepared(&required, &json!({ "value": null })).unwrap_err().to_string().contains("value"));
    let w = World::new();
    w.file("a.txt", "one\n");
    let sent = json!({ "path": "a.txt", "offset": null, "limit": null, "force": null });
    assert!(w.call("read_file", sent).text().contains("1| one"));
    assert!(w.call("read_file", json!({ "path": null })).argument_error().contains("path"));
}

#[test]
fn parity_r05_a_text_that_begins_like_an_error_is_a_result() {
    let w = World::new();
    w.component(&support::hostile("limits_output"), &[]);
    for text in [
        "Error: nothing is wrong",
        "error: exit code 1",
        "denied: not at all",
        "Traceback (most recent call last)",
    ] {
        let reply = w.call("say", json!({ "text": text }));
        assert_eq!(reply.outcome(), "ok");
        assert_eq!((reply.text().as_str(), reply.0.outcome.for_model().as_str()), (text, text));
        // The same text from a call that failed is one, and says how to go on.
        let reply = w.call("say_error", json!({ "text": text }));
        assert_eq!(reply.error(), (ErrorKind::Failed, text.to_owned()));
        assert_eq!(reply.0.outcome.for_model(), format!("{text} [try another way]"));
    }
    w.file("a.txt", "Error: as it stands in the file\n");
    assert!(w.call("read_file", json!({ "path": "a.txt" })).text().starts_with("1| Error: as it stands"));
}

#[test]
fn parity_r06_every_end_tells_a_model_how_to_go_on() {
    let w = World::new();
    w.component(&support::hostile("limits_trap"), &[]);
    for (tool, sent, told) in [
        ("read_file", json!({ "path": "absent.txt" }), "[try another way]"),
        ("read_file", json!({ "path": "../x" }), "[do not retry; ask the user if it is needed]"),
        ("read_file", json!({}), "[correct the arguments and call again]"),
        ("panic", json!({}), "[nothing was returned]"),
        ("read_fil", json!({}), "Nothing was run."),
    ] {
        let text = w.call(tool, sent).0.outcome.for_model();
        assert!(text.ends_with(told), "{tool}: {text}");
        assert_eq!(text.lines().count(), 1, "{tool}: {text}");
    }
}

#[test]
fn names_are_ascii_identifiers() {
    for name in ["a", "read_file", "a-b", "A1", &"a".repeat(MAX_NAME)] {
        assert!(is_name(name), "{name}");
    }
    for name in [
        "",
        "1a",
        "_a",
        "-a",
        "a b",
        "a.b",
        "a/b",
        "a\n",
        "é",
        "ехес",
        "a\u{200b}",
        &"a".repeat(MAX_NAME + 1),
    ] {
        assert!(!is_name(name), "{name:?}");
    }
}

#[test]
fn names_that_look_alike_have_one_look() {
    for (one, other) in [
        ("read_file", "read-file"),
        ("read_file", "ReadFile"),
        ("read_file", "read_f1le"),
        ("read_file", "readflle"),
        ("exec", "EXEC"),
        ("tool0", "toolO"),
        ("tasks", "ta5ks"),
    ] {
        assert_eq!(look(one), look(other), "{one} {other}");
    }
    for (one, other) in [("read_file", "read_files"), ("read_file", "write_file"), ("cron", "corn")] {
        assert_ne!(look(one), look(other), "{one} {other}");
    }
}

#[test]
fn the_nearest_name_is_one_or_none() {
    let known = ["grep", "read_file", "tool_a", "tool_b"];
    assert_eq!(nearest("grpe", known), Some("grep"));
    assert_eq!(nearest("tool_c", known), None);
    assert_eq!(nearest("tool_a", known), Some("tool_a"));
    assert_eq!(nearest("anything", []), None);
    assert_eq!(nearest("", known), None);
}

#[test]
fn what_nobody_sees_is_found() {
    for c in [
        '\u{0}',
        '\u{7}',
        '\u{1b}',
        '\u{7f}',
        '\u{9b}',
        '\u{ad}',
        '\u{200b}',
        '\u{200e}',
        '\u{202e}',
        '\u{2066}',
        '\u{feff}',
        '\u{fe0f}',
        '\u{e0041}',
        '\u{3164}',
        '\r',
    ] {
        assert_eq!(invisible(&format!("seen{c}seen")), Some(c), "U+{:04X}", u32::from(c));
    }
    for text in ["", "plain", "two\nlines\tand a tab", "é ü 漢字 العربية עברית ไทย 😀", "“quotes” — dash …"]
    {
        assert_eq!(invisible(text), None, "{text}");
    }
}

/// The schemas of the built-in tools, and some that they do not have.
fn schemas() -> Vec<Value> {
    let w = World::new();
    let toolbox = w.toolbox().read().unwrap();
    let mut schemas: Vec<Value> =
        toolbox.names().map(|name| toolbox.find(name).unwrap().1.input_schema.clone()).collect();
    schemas.extend([
        json!({ "type": "object" }),
        json!({ "type": "object", "properties": { "path": { "type": ["integer", "null", "boolean"] } } }),
        json!({ "type": "object", "properties": { "path": { "anyOf": [{ "type": "integer" }, { "type": "array" }] } } }),
        json!({
            "type": "object",
            "properties": { "path": { "$ref": "#/$defs/number" }, "edits": { "items": { "$ref": "#/$defs/number" } } },
            "$defs": { "number": { "type": "integer" } },
        }),
        json!({ "type": "object", "properties": { "path": true, "edits": { "items": { "type": "number" } } } }),
        json!({ "type": "object", "required": ["path"], "properties": { "path": { "type": "null" } } }),
        json!({ "type": "object", "additionalProperties": { "type": "string", "pattern": "^(a+)+$" } }),
        json!({ "type": "object", "properties": 5, "required": 7, "items": "none" }),
    ]);
    schemas
}

/// JSON with the members that the schemas know among others, and texts that look like something else.
fn arbitrary_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        ".{0,8}",
        prop::sample::select(vec![
            "5",
            "-1",
            "2.5",
            "true",
            "no",
            "NaN",
            "inf",
            "null",
            "[1]",
            "{}",
            "{\"path\":1}",
            "[",
            ""
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop_oneof![
        prop::sample::select(vec![
            "path",
            "content",
            "arguments",
            "edits",
            "action",
            "new_text",
            "old_text",
            "offset",
            "force",
            "pattern"
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Asserts what holds of every text: it is refused in few words, or what comes of it is an object that fits the schema.
fn assert_fits_or_refused(definition: &Definition, sent: &str) -> Result<(), TestCaseError> {
    match prepare(definition, sent) {
        Ok(value) => {
            prop_assert!(value.is_object(), "{value}");
            // By another reader of the schema than the one that was asked.
            let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
            let validator = options.build(&definition.input_schema).unwrap();
            prop_assert!(validator.is_valid(&value), "{value} does not fit {}", definition.input_schema);
        }
        Err(error) => {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(error.to_string().len() < 2000, "{}", error);
        }
    }
    Ok(())
}

#[test]
fn whatever_is_sent_fits_or_is_refused() {
    // A schema that is none is refused as a whole, with every call.
    let (good, bad): (Vec<Definition>, Vec<Definition>) = schemas()
        .iter()
        .map(definition)
        .partition(|definition| jsonschema::options().build(&definition.input_schema).is_ok());
    assert_eq!((good.len(), bad.len()), (21, 1));
    for definition in &bad {
        assert!(prepare(definition, "{}").is_err());
    }
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) };
    proptest!(cases.clone(), |(value in arbitrary_json(), which in 0..good.len())| {
        assert_fits_or_refused(&good[which], &value.to_string())?;
        assert_fits_or_refused(&good[which], &Value::String(value.to_string()).to_string())?;
        assert_fits_or_refused(&good[which], &json!({ "arguments": value }).to_string())?;
    });
    // Objects that nearly fit, which come furthest.
    proptest!(cases.clone(), |(
        members in prop::collection::vec(arbitrary_json(), 4),
        which in 0..good.len(),
    )| {
        let names = ["path", "content", "edits", "offset"];
        let object: serde_json::Map<String, Value> =
            names.iter().map(|name| (*name).to_owned()).zip(members).collect();
        assert_fits_or_refused(&good[which], &Value::Object(object).to_string())?;
    });
    proptest!(cases, |(
        text in prop_oneof![".*", "[\\[\\]{}\":,a-z0-9\\\\ ]{0,40}"],
        value in arbitrary_json(),
        cut in any::<prop::sample::Index>(),
        which in 0..good.len(),
    )| {
        assert_fits_or_refused(&good[which], &text)?;
        // A whole text that broke off.
        let whole = value.to_string();
        let end = whole.floor_char_boundary(cut.index(whole.len() + 1));
        assert_fits_or_refused(&good[which], &whole[..end])?;
    });
}

#[test]
fn what_was_prepared_once_stays_as_it_is() {
    let strict: Vec<Definition> = schemas()
        .iter()
        .filter(|schema| schema["additionalProperties"] == json!(false))
        .map(definition)
        .collect();
    assert_eq!(strict.len(), 14, "the built-in tools");
    let valid = [
        json!({ "path": "a", "offset": "3", "force": "yes" }),
        json!({ "path": 5, "content": true }),
        json!({ "edits": "[{\"path\":1,\"action\":\"add\",\"new_text\":2}]" }),
        json!({ "pattern": "a", "head_limit": "0", "glob": null }),
        json!({ "content": "x", "media": "[\"a\"]" }),
    ];
    let mut fitting = 0;
    for definition in &strict {
        for sent in &valid {
            let Ok(once) = prepared(definition, sent) else { continue };
            assert_eq!(prepared(definition, &once).unwrap(), once, "{}", definition.name);
            fitting += 1;
        }
    }
    assert!(fitting >= valid.len(), "{fitting}");
}

/// The longest note between head and tail: two numbers of at most twenty digits, and words.
const NOTE: usize = 90;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_view_keeps_head_and_tail(text in "(?s).{0,300}", most in 0usize..400) {
        let total = text.chars().count();
        let seen = view(&text, most);
        if total <= most {
            prop_assert_eq!(seen, text);
        } else {
            prop_assert!(seen.chars().count() <= most + NOTE, "{} > {most}", seen.chars().count());
            let head: String = text.chars().take(most * 3 / 4).collect();
            let tail: String = text.chars().skip(total - most / 4).collect();
            let missing = total - most * 3 / 4 - most / 4;
            let note = format!("\n[... {missing} of {total} characters left out ...]\n");
            prop_assert_eq!(seen, format!("{head}{note}{tail}"));
        }
    }

    #[test]
    fn nothing_that_was_escaped_controls_a_terminal(text in "(?s)[\\x00-\\x7f\u{80}-\u{9f}é漢\\n\\t]{0,60}") {
        let escaped = escape_controls(&text);
        prop_assert!(!escaped.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{escaped:?}");
        prop_assert_eq!(&escape_controls(&escaped), &escaped);
        let controls = text.chars().filter(|c| c.is_control() && *c != '\n' && *c != '\t').count();
        prop_assert_eq!(escaped.matches("\\u{").count() >= controls, true);
        if controls == 0 {
            prop_assert_eq!(escaped, text);
        }
    }

    #[test]
    fn a_name_is_one_by_its_bytes_alone(name in prop_oneof!["[a-zA-Z0-9_-]{0,70}", "(?s).{0,10}"]) {
        let mut bytes = name.bytes();
        let model = bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            && name.len() <= 64;
        prop_assert_eq!(is_name(&name), model);
        // What is no name is never taken for one that is known, but at most suggested.
        let known = ["grep", "read_file"];
        if let Some(near) = nearest(&name, known) {
            prop_assert!(known.contains(&near));
        }
    }
}
