//! Parity S: what starting, announcing and ending a background run comes to, by the numbers of the table. Most of it is held
//! by real runs of a scripted model; what a model service sees, by one that keeps what it was asked.

use crate::support::yard::{HANGS, Process, Yard, buried, request};
use crate::support::{Model, Program, Ran, Says, Terminal};
use ringfence::agent::Said;
use ringfence::authority::{DenialKind, Profile, Role};
use ringfence::provider::{Block, Message};
use ringfence::sandbox::ports::{Execution as Seen, Request};
use ringfence::session::SessionKey;
use ringfence::store::{Delivery, Execution, Store, TaskFilter, Workspace};
use ringfence::tasks::{Standing, source};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// What belongs to main alone.
const MAINS: [&str; 4] = ["message", "spawn", "tasks", "cron"];

fn counts() -> String {
    format!(
        "{HANGS}[[reply]]\nuser = \"count\"\ntext = \"there are 3\"\nrepeat = true\nusage = {{ input = 30, output = 5 }}\n"
    )
}

fn yard() -> (Yard, Process) {
    let yard = Yard::new(&counts());
    let process = yard.process();
    (yard, process)
}

fn main_itself() -> Profile {
    Profile::plain(Role::Main)
}

/// A program whose model is that service.
fn asking(service: &Model, more: &str) -> Program {
    let program = Program::bare();
    program.configure(&format!(
        "{more}\n[providers.test]\nwire = \"chat\"\nmodel = \"m-1\"\nbase_url = \"{}\"\n",
        service.url()
    ));
    program
}

fn says(text: &str) -> Says {
    let choice = json!({ "message": { "content": text }, "finish_reason": "stop" });
    Says::json(200, &json!({ "choices": [choice] }).to_string())
}

fn calls(name: &str, arguments: &Value) -> Says {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "id": "c1", "type": "function", "function": function });
    let choice =
        json!({ "message": { "content": null, "tool_calls": [call] }, "finish_reason": "tool_calls" });
    Says::json(200, &json!({ "choices": [choice] }).to_string())
}

/// One parent and one child, in the order parent, child, parent: the bodies of what they asked.
fn parent_child_parent(arguments: Value, more: &str, furnish: impl Fn(&Program)) -> Vec<Value> {
    let mut arguments = arguments;
    arguments["wait"] = json!(true);
    let service = Model::start([calls("spawn", &arguments), says("counted: 3"), says("There are 3.")]);
    let program = asking(&service, more);
    furnish(&program);
    let ran = program.run(&["run", "-q", "how many are there?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "There are 3.\n"), "{ran:?}");
    let asked: Vec<Value> = service.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked[1]["messages"].to_string().contains("count the files"), "{}", asked[1]);
    asked
}

fn offered(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

fn system(body: &Value) -> &str {
    body["messages"][0]["content"].as_str().unwrap()
}

#[test]
fn parity_s01_a_subagent_is_offered_files_and_search_and_nothing_of_mains() {
    let asked = parent_child_parent(json!({ "task": "count the files" }), "", |_| {});
    let (parent, child) = (offered(&asked[0]), offered(&asked[1]));
    for tool in ["read_file", "write_file", "grep", "find_files", "list_dir", "edit_file", "apply_patch"] {
        assert!(parent.contains(&tool) && child.contains(&tool), "{tool}: {child:?}");
    }
    for tool in MAINS {
        assert!(parent.contains(&tool) && !child.contains(&tool), "{tool}: {child:?}");
    }
    assert_eq!(parent.len(), child.len() + MAINS.len());
}

#[test]
fn parity_s01_what_is_not_offered_is_refused_by_name() {
    let (yard, process) = yard();
    let at = process.at(&yard, "s");
    let victim = process.start_hanging(&at, "0");
    let before = yard.effects();
    let arguments = [
        json!({ "content": "from below" }),
        json!({ "task": "count from below" }),
        json!({ "action": "cancel", "id": victim }),
        json!({ "action": "add", "message": "from below", "every_seconds": 3600 }),
    ];
    let subagent = Profile::plain(Role::Subagent);
    for (tool, arguments) in MAINS.iter().zip(&arguments) {
        let denial = process.call(&yard, &subagent, &at, tool, arguments).denial();
        assert_eq!(denial.kind, DenialKind::NotForRole, "{denial}");
        assert_eq!(yard.effects(), before, "{tool}");
    }
    for (tool, arguments) in MAINS.iter().zip(&arguments) {
        let before = yard.effects();
        process.call(&yard, &main_itself(), &at, tool, arguments).text();
        assert_ne!(yard.effects(), before, "{tool} did nothing as main");
    }
    process.close();
}

#[test]
fn parity_s02_a_start_is_answered_with_an_id_and_one_run_is_counted_until_it_is_over() {
    let (yard, process) = yard();
    let at = process.at(&yard, "s");
    let arguments = json!({ "task": "hang on", "label": "hanging" });
    let text = process.call(&yard, &main_itself(), &at, "spawn", &arguments).text();
    let [row] = &yard.rows()[..] else { panic!("{:?}", yard.rows()) };
    assert_eq!(
        text,
        format!("started hanging (id {}); its result comes to this conversation when it ends", row.id)
    );
    process.until_begun(1);
    assert_eq!((process.tasks.running(), process.tasks.unended(&at.place)), (1, 1));
    process.end(&yard, &row.id);
    assert_eq!((process.tasks.running(), process.tasks.unended(&at.place)), (0, 0));
    // What is on record of it stays.
    assert_eq!(yard.row(&row.id).execution, Execution::Cancelled);
    process.close();
}

/// There is no run without a session: the host binds one to every turn, and no argument names another.
#[test]
fn parity_s04_a_run_counts_under_the_session_that_its_turn_is_of() {
    let (yard, process) = yard();
    let (one, other) = (process.at(&yard, "one"), process.at(&yard, "other"));
    process.start_hanging(&one, "0");
    process.start_hanging(&one, "1");
    assert_eq!((process.tasks.unended(&one.place), process.tasks.unended(&other.place)), (2, 0));
    let named = json!({ "task": "hang 2", "session": "cli:other" });
    let problem = process.call(&yard, &main_itself(), &one, "spawn", &named).argument_error();
    assert!(problem.contains("session"), "{problem}");
    assert_eq!((process.tasks.unended(&one.place), process.tasks.unended(&other.place)), (2, 0));
    assert!(yard.rows().iter().all(|row| row.channel == "cli" && row.chat == "one"));
    process.close();
}

/// The other system refuses the second one; here it waits, and is refused only when too many do.
#[test]
fn parity_s05_a_second_run_waits_for_its_turn_and_a_further_one_is_refused_with_the_numbers() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\nqueued = 1\n", &[]);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let first = process.start_hanging(&at, "0");
    let second = process.start(&at, request("count them")).unwrap();
    assert_eq!(yard.row(&second).execution, Execution::Queued);
    let arguments = json!({ "task": "count others" });
    let (_, refused) = process.call(&yard, &main_itself(), &at, "spawn", &arguments).error();
    assert!(refused.starts_with("1 background tasks run (1 may) and 1 wait (1 may)"), "{refused}");
    assert_eq!(yard.rows().len(), 2);
    process.end(&yard, &first);
    assert_eq!(process.arrival(&at.place).id, first);
    let second_ended = process.arrival(&at.place);
    assert_eq!((second_ended.id, second_ended.execution), (second, Execution::Succeeded));
    process.close();
}

#[test]
fn parity_s07_a_run_that_is_waited_for_counts_and_ends_with_its_session() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\n", &[]);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let spawner = std::sync::Arc::clone(&at.spawner);
    let inline = process.beside(async move { spawner.run(request("hang on"), 300_000).await });
    process.until_begun(1);
    assert_eq!((process.tasks.running(), process.tasks.unended(&at.place)), (1, 1));
    let other = process.start(&process.at(&yard, "other"), request("count them")).unwrap();
    assert_eq!(yard.row(&other).execution, Execution::Queued, "the limit is reached");
    assert_eq!(process.tasks.cancel_by_session(&at.place, "the person stopped it"), 1);
    let finished = process.block_on(inline).unwrap().unwrap();
    assert_eq!((finished.execution, finished.text.as_str()), (Seen::Cancelled, "the person stopped it"));
    assert_eq!(process.arrival(&yard.place("other")).id, other);
    process.close();
}

#[test]
fn parity_s08_a_temperature_is_the_childs_alone() {
    let with = json!({ "task": "count the files", "temperature": 0.9 });
    let asked = parent_child_parent(with, "", |_| {});
    let temperatures: Vec<&Value> = asked.iter().map(|body| &body["temperature"]).collect();
    assert_eq!(temperatures, [&Value::Null, &json!(0.9), &Value::Null]);
    let asked = parent_child_parent(json!({ "task": "count the files" }), "", |_| {});
    assert!(asked.iter().all(|body| body.get("temperature").is_none()), "{asked:?}");
}

/// What was changed holds for what starts from then on.
#[test]
fn parity_s10_a_child_has_the_model_calls_that_are_configured() {
    let looks = "[[reply]]\nuser = \"look\"\nrepeat = true\ntools = true\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\n\
                 [[reply]]\ntools = false\ntext = \"not done\"\nrepeat = true\n";
    for (configured, wanted, most) in [
        ("", None, 15),
        ("[agent]\nsubagent_iterations = 37\n", None, 37),
        ("[agent]\nsubagent_iterations = 37\n", Some(3), 3),
        ("[agent]\nsubagent_iterations = 4\n", Some(37), 4),
    ] {
        let yard = Yard::with(looks, configured, &[]);
        let process = yard.process();
        let at = process.at(&yard, "s");
        let asked = Request { max_iterations: wanted, ..request("look for ever") };
        let ended = process.run(&at, asked);
        assert_eq!(ended.row.max_iterations, most);
        assert_eq!(ended.execution, Execution::Incomplete);
        // And one more for its last words.
        assert_eq!(ended.row.iterations, most + 1);
        assert!(ended.text.contains(&format!("it used up its {most} model calls")), "{}", ended.text);
        process.close();
    }
}

#[test]
fn parity_s11_success_is_announced_as_such() {
    let (yard, process) = yard();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, request("count them"));
    assert_eq!((ended.execution, ended.standing), (Execution::Succeeded, Standing::New));
    let head = format!(
        "[host] Background task {} (\"count them\") completed successfully.\nThe task was: count them\n",
        ended.id
    );
    assert!(ended.text.starts_with(&head) && ended.text.contains("\nthere are 3\n"), "{}", ended.text);
    assert_eq!(
        ended.line,
        format!("task {} (count them) completed successfully; it says: there are 3", ended.id)
    );
    let row = yard.row(&ended.id);
    assert_eq!((row.result.as_deref(), row.iterations), (Some("there are 3"), 1));
    assert_eq!((row.input, row.output, row.delivery), (30, 5, Delivery::Pending));
    process.close();
}

#[test]
fn parity_s13_a_failure_is_announced_with_its_cause() {
    let script = "[[reply]]\nfault = { kind = \"quota\", message = \"no money left\" }\nrepeat = true\n";
    let yard = Yard::new(script);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, request("count them"));
    assert_eq!(ended.execution, Execution::Failed);
    for told in [&ended.text, &ended.line] {
        assert!(told.contains(" failed: ") && told.contains("no money left"), "{told}");
    }
    assert!(!ended.text.contains("successfully") && ended.text.contains("There is no text of it."));
    assert!(yard.row(&ended.id).reason.unwrap().contains("no money left"));
    // What breaks in the host itself is no other case.
    process.panics.store(1, Ordering::SeqCst);
    let broken = process.run(&at, request("count others"));
    assert_eq!(broken.execution, Execution::Failed);
    assert!(broken.text.contains(" failed: the program failed"), "{}", broken.text);
    process.close();
}

/// The other system calls it success.
#[test]
fn parity_s14_a_run_at_its_limit_is_incomplete_and_not_a_success() {
    let script = "[[reply]]\ntools = true\nrepeat = true\ntext = \"I looked.\"\n\
                  calls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nusage = { input = 100, output = 10 }\n\
                  [[reply]]\ntools = false\ntext = \"Half of it is done.\"\nrepeat = true\n";
    let yard = Yard::new(script);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, Request { max_iterations: Some(2), ..request("do all of it") });
    assert_eq!(ended.execution, Execution::Incomplete);
    assert!(ended.text.contains("is incomplete: it used up its 2 model calls"), "{}", ended.text);
    assert!(ended.text.contains("What it had until then") && ended.text.contains("Half of it is done."));
    assert!(!ended.text.contains("successfully"), "{}", ended.text);
    // So is one whose tokens are over.
    let tokens = process.run(&at, Request { max_tokens: Some(1), ..request("do more of it") });
    assert_eq!(tokens.execution, Execution::Incomplete);
    assert!(tokens.text.contains("it used up its 1 tokens"), "{}", tokens.text);
    process.close();
}

#[test]
fn parity_s16_an_announcement_stands_once_in_its_conversation_however_often_it_comes() {
    let script = format!("{}[[reply]]\nuser = \"[host]\"\ntext = \"You have 3.\"\nrepeat = true\n", counts());
    let yard = Yard::new(&script);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, request(&buried("count")));
    process.tasks.tell_quietly(&ended).unwrap();
    process.tasks.tell_quietly(&ended).unwrap();
    let told = |yard: &Yard| {
        let history = yard.history("s");
        history.iter().filter(|kept| kept.source.as_deref() == Some(&source(&ended.id))).count()
    };
    assert_eq!((told(&yard), yard.history("s").len()), (1, 1));
    // Turns about it, and one that it comes into, add their answers only.
    process.turn(&yard, &at, vec![ended.said()], &Vec::new);
    process.turn(&yard, &at, vec![ended.said(), ended.said()], &Vec::new);
    let once = AtomicBool::new(true);
    let again = || if once.swap(false, Ordering::SeqCst) { vec![ended.said()] } else { Vec::new() };
    process.turn(&yard, &at, vec![Said::by_person("count")], &again);
    assert_eq!(told(&yard), 1);
    assert_eq!(yard.session("s").answered(&source(&ended.id)).unwrap(), Some(true));
    // It is delivered once as well.
    assert!(process.tasks.delivered(&ended.id).unwrap());
    assert!(!process.tasks.delivered(&ended.id).unwrap());
    process.close();
}

#[test]
fn parity_s17_a_result_and_a_persons_words_that_come_together_are_two_messages() {
    let script = format!(
        "{}[[reply]]\nuser = \"begin\"\ncalls = [{{ name = \"list_dir\", arguments = {{ path = \".\" }} }}]\n[[reply]]\ntext = \"Both heard.\"\n",
        counts()
    );
    let yard = Yard::new(&script);
    let process = yard.process();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, request(&buried("count")));
    let once = AtomicBool::new(true);
    let meanwhile = || match once.swap(false, Ordering::SeqCst) {
        true => vec![Said::by_person("and be quick"), ended.said(), Said::by_person("please")],
        false => Vec::new(),
    };
    let end = process.turn(&yard, &at, vec![Said::by_person("begin")], &meanwhile);
    assert_eq!(end.text, "Both heard.");
    let history = yard.history("s");
    let said: Vec<(Option<&str>, String)> = history
        .iter()
        .map(|kept| (kept.source.as_deref(), kept.message.text()))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let name = source(&ended.id);
    assert_eq!(
        said,
        [
            (None, "begin".to_owned()),
            (None, "and be quick".to_owned()),
            (Some(name.as_str()), ended.text.clone()),
            (None, "please".to_owned()),
            (None, "Both heard.".to_owned()),
        ]
    );
    // The model sees each as a text of its own.
    let session = yard.session("s");
    let texts = |message: &Message| {
        let blocks = message.blocks.iter();
        let texts = blocks.filter_map(|block| match block {
            Block::Text { text } => Some(text.clone()),
            _ => None,
        });
        texts.collect::<Vec<_>>()
    };
    let together = session.messages().iter().map(texts).find(|texts| texts.contains(&ended.text)).unwrap();
    assert_eq!(together, ["and be quick".to_owned(), ended.text.clone(), "please".to_owned()]);
    process.close();
}

#[test]
fn parity_s17_what_the_host_put_in_is_not_shown_as_the_persons_words() {
    let script = r#"
[[reply]]
user = "[host]"
text = "You have three."
[[reply]]
user = "number"
text = "there are 3 of them"
[[reply]]
user = "begin"
calls = [{ name = "spawn", arguments = { task = "TASK", label = "counting" } }]
[[reply]]
user = "begin"
text = "It is on its way."
"#;
    let program = Program::scripted(&script.replace("TASK", &buried("number")));
    // It comes in the middle of the turn or after it; the conversation has it in either case.
    let ran = program.run(&["run", "-q", "-s", "talk", "begin"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut command = program.command();
    command.env("TERM", "dumb").args(["-s", "talk"]);
    let mut terminal = Terminal::start(command);
    terminal.expect("session cli:talk");
    terminal.keys("/history 20\r");
    terminal.expect("you: begin");
    terminal.expect("agent: You have three.");
    terminal.keys("/exit\r");
    assert_eq!(terminal.end(), 0);
    let seen = terminal.seen();
    let shown = seen.rsplit("you: begin").next().unwrap();
    assert!(!shown.contains("you: [host]") && !shown.contains("there are 3 of them"), "{shown}");
    assert!(shown.contains("host: [task "), "{shown}");
}

#[test]
fn parity_s19_a_result_is_kept_before_the_model_is_asked_and_after_a_crash_it_is_asked_again() {
    let script = format!(
        "{}[[reply]]\nuser = \"[host]\"\ndelay_ms = 3600000\ntext = \"never\"\n\
         [[reply]]\nuser = \"[host]\"\ntext = \"You have 3.\"\n",
        counts()
    );
    let task = buried("count");
    let yard = Yard::new(&script);
    let killed = yard.process();
    let at = killed.at(&yard, "s");
    let ended = killed.run(&at, request(&task));
    assert_eq!(ended.execution, Execution::Succeeded, "{ended:?}");
    assert_eq!(yard.row(&ended.id).result.as_deref(), Some("there are 3"));
    killed.abandon(&yard, &at, vec![ended.said()]);
    drop(at);
    killed.die();
    let kept = |yard: &Yard| yard.history("s").into_iter().filter(|kept| kept.source.is_some()).count();
    assert_eq!((kept(&yard), yard.row(&ended.id).delivery), (1, Delivery::Pending));

    let process = yard.process();
    let place = yard.place("s");
    let elsewhere = process.tasks.recover(Some(yard.workspace()), Some(&place)).unwrap();
    assert_eq!(elsewhere, []);
    let again = process.arrival(&place);
    assert_eq!((&again.id, again.standing), (&ended.id, Standing::Told));
    assert_eq!(process.tasks.arrived(&place), []);
    let at = process.at(&yard, "s");
    let end = process.turn(&yard, &at, vec![again.said()], &Vec::new);
    assert_eq!(end.text, "You have 3.");
    assert_eq!((kept(&yard), yard.history("s").len()), (1, 2));
    assert!(process.tasks.delivered(&again.id).unwrap());
    drop(at);
    process.die();

    // Nobody hears of it once more.
    let last = yard.process();
    assert_eq!(last.tasks.recover(Some(yard.workspace()), Some(&place)).unwrap(), []);
    assert_eq!(last.tasks.arrived(&place), []);
    last.close();
}

#[test]
fn parity_s19_a_result_that_was_answered_and_not_marked_is_not_asked_about_again() {
    let script = format!("{}[[reply]]\ntext = \"You have 3.\"\n", counts());
    let task = buried("count");
    let yard = Yard::new(&script);
    let killed = yard.process();
    let at = killed.at(&yard, "s");
    let ended = killed.run(&at, request(&task));
    assert_eq!(killed.turn(&yard, &at, vec![ended.said()], &Vec::new).text, "You have 3.");
    drop(at);
    killed.die();
    let process = yard.process();
    let place = yard.place("s");
    process.tasks.recover(Some(yard.workspace()), Some(&place)).unwrap();
    assert_eq!(process.arrival(&place).standing, Standing::Answered);
    process.close();
}

/// The metadata of an announcement are the run's id; where its letters go, the session says.
#[test]
fn parity_s20_a_result_of_a_thread_is_answered_in_that_thread() {
    let yard = Yard::new(&format!("{}[[reply]]\ntext = \"You have 3.\"\n", counts()));
    let process = yard.process();
    let thread = "web:room:thread-7";
    let announced = process.run(&process.at(&yard, thread), request(&buried("count")));
    assert_eq!((announced.row.channel.as_str(), announced.row.chat.as_str()), ("web", "room:thread-7"));
    let inbound = announced.inbound();
    assert_eq!((inbound.channel.as_str(), inbound.sender.as_str()), ("system", "subagent"));
    assert_eq!(inbound.session(), SessionKey::new("web", "room:thread-7"));
    assert_eq!(inbound.metadata.get("task"), Some(&announced.id));

    let end = process.hear(&yard, thread, vec![announced.clone()]);
    assert_eq!(end.text, "You have 3.");
    let letters = yard.store.letters(Some(&Workspace::at(yard.workspace()))).unwrap();
    let [answer] = &letters[..] else { panic!("{letters:?}") };
    assert_eq!((answer.channel.as_str(), answer.chat.as_str()), ("web", "room:thread-7"));
    assert_eq!((answer.kind.as_str(), answer.content.as_str()), ("answer", "You have 3."));
    assert_eq!(answer.source.as_deref(), Some(format!("answer:{}", announced.source()).as_str()));
    assert_eq!(yard.row(&announced.id).delivery, Delivery::Delivered);
    assert_eq!(yard.history(thread).len(), 2);
    assert_eq!(yard.history("room:thread-7").len(), 0);
    process.close();
}

#[test]
fn parity_s22_at_the_end_all_children_have_ended_before_the_process_leaves() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 2\n", &[]);
    let process = yard.process();
    let (one, two) = (process.at(&yard, "one"), process.at(&yard, "two"));
    process.start_hanging(&one, "0");
    process.start_hanging(&two, "1");
    process.start(&one, request("hang 2")).unwrap();
    process.block_on(process.tasks.close("the program ends"));
    assert_eq!((process.tasks.running(), process.tasks.waiting()), (0, 0));
    for row in yard.rows() {
        assert_eq!((row.execution, row.reason.as_deref()), (Execution::Cancelled, Some("the program ends")));
    }
    // Nothing begins any more.
    assert!(process.start(&one, request("count them")).is_err());
    assert_eq!(yard.rows().len(), 3);
    process.tasks.leave();
    assert_eq!(yard.store.processes().unwrap(), []);
}

/// The other system blocks the parent's turn; here only the call that asks for it waits, and no longer than it says.
#[test]
fn parity_s23_a_parent_waits_for_its_children_only_where_it_asks_to() {
    let (yard, process) = yard();
    let at = process.at(&yard, "s");
    let slow = process.start_hanging(&at, "0");
    let quick = process.start(&at, request("count them")).unwrap();
    let waited = process.block_on(at.spawner.wait(vec![quick.clone()], 60_000)).unwrap();
    assert_eq!(waited[0].execution, Seen::Succeeded);
    let both = process.block_on(at.spawner.wait(vec![slow.clone(), quick.clone()], 1)).unwrap();
    assert_eq!([both[0].execution, both[1].execution], [Seen::Running, Seen::Succeeded]);
    process.end(&yard, &slow);
    // Where nothing is on its way any more, nobody waits: this would take longer than a test may.
    let over = process.block_on(at.spawner.wait(vec![slow, quick], 300_000)).unwrap();
    assert_eq!([over[0].execution, over[1].execution], [Seen::Cancelled, Seen::Succeeded]);
    process.close();
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: What {name} does.\n---\nBody of {name}.\n")
}

#[test]
fn parity_s25_a_child_works_in_the_sessions_workspace_and_has_the_skills_of_both() {
    let asked = parent_child_parent(json!({ "task": "count the files" }), "", |program| {
        let mine = program.home().join("config/skills/mine");
        std::fs::create_dir_all(&mine).unwrap();
        std::fs::write(mine.join("SKILL.md"), skill("mine")).unwrap();
        std::fs::create_dir_all(program.workspace().join("skills/projects")).unwrap();
        program.file("skills/projects/SKILL.md", &skill("projects"));
    });
    let workspace = |body: &Value| {
        let text = system(body).to_owned();
        let from = text.find("Workspace: ").unwrap();
        text[from..].lines().next().unwrap().to_owned()
    };
    assert_eq!(workspace(&asked[0]), workspace(&asked[1]));
    for name in ["What mine does.", "What projects does."] {
        assert!(system(&asked[1]).contains(name), "{name}: {}", system(&asked[1]));
    }
    let writes = "[[reply]]\nuser = \"write\"\ncalls = [{ name = \"write_file\", arguments = { path = \"a.txt\", content = \"x\" } }]\n\
                  [[reply]]\ntext = \"written\"\n";
    let yard = Yard::new(writes);
    let process = yard.process();
    process.run(&process.at(&yard, "s"), request("write it"));
    assert_eq!(std::fs::read_to_string(yard.path("a.txt")).unwrap(), "x");
    process.close();
}

#[test]
fn parity_s26_a_disabled_skill_is_not_in_a_childs_prompt() {
    let furnish = |program: &Program| {
        std::fs::create_dir_all(program.workspace().join("skills/tidy")).unwrap();
        program.file("skills/tidy/SKILL.md", &skill("tidy"));
    };
    let task = json!({ "task": "count the files" });
    for (more, there) in [("", true), ("[agent]\ndisabled_skills = [\"tidy\"]\n", false)] {
        let asked = parent_child_parent(task.clone(), more, furnish);
        assert_eq!(system(&asked[1]).contains("What tidy does."), there, "{more}");
    }
}

/// The person's one line has its first line; the log has none.
#[test]
fn parity_s28_the_text_of_a_result_is_not_in_the_log() {
    let middle = buried("down there");
    let script = format!(
        r#"
[[reply]]
user = "down there"
text = "The first words.\nSECRET-4711 is what I found."
repeat = true
[[reply]]
user = "begin"
calls = [{{ name = "spawn", arguments = {{ task = "{middle}", label = "one" }} }},
         {{ name = "spawn", arguments = {{ task = "again {middle}", label = "two", wait = true }} }}]
[[reply]]
text = "I have it."
repeat = true
"#
    );
    for level in ["debug", "trace"] {
        let program = Program::scripted(&script);
        let ran = Ran::of(
            program.command().env("RINGFENCE_LOG", level).args(["run", "-s", "s", "begin"]).output().unwrap(),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.lines().any(|line| line.contains(" INFO ")), "no log");
        assert!(!ran.stderr.contains("SECRET-4711") && !ran.stdout.contains("SECRET-4711"), "{}", ran.stderr);
        for line in ran.stderr.lines().filter(|line| line.contains("The first words.")) {
            assert!(line.starts_with("task ") && line.contains("; it says: The first words."), "{line}");
        }
        // It was there, and is on record.
        let rows = Store::open(&program.state()).unwrap().tasks(&TaskFilter::default()).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.result.as_deref().unwrap().contains("SECRET-4711")));
        assert!(rows.iter().all(|row| row.delivery == Delivery::Delivered), "{rows:?}");
    }
}
