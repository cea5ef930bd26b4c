//! `ringfence tools run`: one tool, under a role.

use super::args::{OutputFormat, RunArguments};
use super::exit::Exit;
use super::native;
use super::open::{Setting, Stop, grant, whole};
use super::printer::Printer;
use super::remedy;
use crate::agent::Recorder;
use crate::config;
use crate::sandbox::{CallError, Content, LimitKind, Limits, MAX_COMPONENT};
use crate::session::SessionKey;
use crate::store::{self, Store};
use crate::toolbox::{Definition, Outcome, PackageError, Reply, text_of};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

pub(super) async fn run(printer: &Printer, typed: &RunArguments) -> Exit {
    if typed.sandbox.none {
        printer.note(native::UNSANDBOXED);
    }
    match call(typed).await {
        Ok((setting, reply)) => tell(printer, typed, &setting, &reply),
        Err(stop) => {
            if typed.output == OutputFormat::Json {
                printer.json(&json!({ "ok": false, "outcome": "stopped", "message": stop.0 }));
            }
            stop.tell(printer)
        }
    }
}

async fn call(typed: &RunArguments) -> Result<(Setting, Reply), Stop> {
    let limits = Limits { time: Duration::from_secs(typed.timeout), ..Limits::default() };
    let rights = &typed.rights;
    let mut setting = Setting::open(rights.workspace.as_deref(), &rights.directories, limits)?;
    if typed.sandbox.none {
        setting.commands = native::commands(&setting.native.settings, true)?;
    }
    let profile = setting.profile(rights.role())?;
    let mut sink = None;
    match Store::open(&setting.dirs.data.join(store::FILE)) {
        Ok(store) => {
            let recorder = Recorder::new(store, &SessionKey::new("cli", "direct"));
            sink = Some(Arc::new(recorder));
        }
        Err(error) => tracing::warn!("the call leaves no audit row: {error}"),
    }
    if let Some(path) = &typed.component {
        let name = path.display();
        let bytes = config::read_component(path, MAX_COMPONENT)
            .map_err(|error| Stop(format!("{name}: {error}"), Exit::Usage))?;
        // Nobody else holds it yet.
        let toolbox = Arc::get_mut(&mut setting.toolbox)
            .ok_or_else(|| Stop("the toolbox is in use".to_owned(), Exit::Failed))?;
        match toolbox.add(path.clone(), bytes, grant(&typed.allow)).await {
            Ok(()) => {}
            Err(PackageError::Denied(denial)) => {
                let reply =
                    Reply { outcome: Outcome::Denied(denial), notes: Vec::new(), time: Duration::ZERO };
                return Ok((setting, reply));
            }
            Err(error) => return Err(Stop(format!("{name}: {}", package_problem(&error)), Exit::Load)),
        }
    }
    let mut agent = setting.agent(profile, rights.read_only, &rights.deny)?;
    if let Some(sink) = sink {
        agent = agent.recording(sink);
    }
    let arguments = match (&typed.arguments, setting.toolbox.find(&typed.name)) {
        (Some(arguments), _) => arguments.clone(),
        (None, Some((_, definition))) => pairs(&typed.pairs, definition)?.to_string(),
        // The toolbox answers, with the name that may be meant.
        (None, None) => String::new(),
    };
    let reply = setting.toolbox.call(&agent, &typed.name, &arguments).await;
    // What it left running has nobody any more.
    setting.commands.shut_down().await;
    Ok((setting, reply))
}

fn package_problem(error: &PackageError) -> String {
    match error {
        PackageError::Definitions(behind) => format!("its definitions cannot be read: {}", whole(behind)),
        error => whole(error),
    }
}

/// An object of `key=value` words. A value stays text where the schema wants text; otherwise it is read as JSON where it
/// is JSON, and the toolbox casts and checks the rest.
fn pairs(words: &[String], definition: &Definition) -> Result<Value, Stop> {
    let mut object = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Stop(format!("`{word}` is not KEY=VALUE"), Exit::Usage));
        };
        let wanted = definition.input_schema.pointer(&format!("/properties/{key}/type"));
        let text = wanted.and_then(Value::as_str) == Some("string");
        let parsed = if text { None } else { serde_json::from_str(value).ok() };
        object.insert(key.to_owned(), parsed.unwrap_or_else(|| value.into()));
    }
    Ok(Value::Object(object))
}

fn tell(printer: &Printer, typed: &RunArguments, setting: &Setting, reply: &Reply) -> Exit {
    let written = match (typed.output, &reply.outcome) {
        (OutputFormat::Json, _) => printer.json(&as_json(typed, setting, reply)),
        (OutputFormat::Text, Outcome::Done(output)) => printer.result(&text_of(&output.content)),
        (OutputFormat::Text, _) => Exit::Done,
    };
    match &reply.outcome {
        Outcome::Done(_) => written,
        Outcome::Failed(error) => printer.error(&error.message, Exit::Failed),
        Outcome::Denied(denial) => {
            printer.note(&denial.to_string());
            printer.hint(&remedy::line(denial, typed, setting));
            Exit::Denied
        }
        Outcome::Arguments(error) => {
            let exit = printer.error(&error.to_string(), Exit::Usage);
            printer.hint(&format!("to see what it takes: {}", remedy::look_at(typed)));
            exit
        }
        Outcome::Unknown { tool, near } => {
            let exit = printer.error(&format!("there is no tool `{tool}`"), Exit::Usage);
            printer.hint(&match (near, &typed.component) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, Some(_)) => format!("to see which there are: {}", remedy::look_at(typed)),
                (None, None) => "to see which there are: ringfence tools list".to_owned(),
            });
            exit
        }
        Outcome::Ended(error) => {
            let exit = match error {
                CallError::Limit(LimitKind::Time) => Exit::TimedOut,
                CallError::Load(_) => Exit::Load,
                CallError::Directories(_) => Exit::Config,
                _ => Exit::Failed,
            };
            printer.error(&error.to_string(), exit)
        }
    }
}

fn as_json(typed: &RunArguments, setting: &Setting, reply: &Reply) -> Value {
    let outcome = &reply.outcome;
    let mut object = json!({
        "ok": matches!(outcome, Outcome::Done(_)),
        "outcome": outcome.name(),
        "ms": u64::try_from(reply.time.as_millis()).unwrap_or(u64::MAX),
    });
    let Some(map) = object.as_object_mut() else { return object };
    if let Some(kind) = outcome.kind() {
        map.insert("kind".to_owned(), kind.into());
    }
    match outcome {
        Outcome::Done(output) => {
            map.insert("content".to_owned(), output.content.iter().map(content).collect());
            if let Some(structured) = &output.structured {
                map.insert("structured".to_owned(), structured.clone());
            }
        }
        Outcome::Denied(denial) => {
            map.insert("message".to_owned(), denial.to_string().into());
            map.insert("subject".to_owned(), denial.subject.clone().into());
            map.insert("remedy".to_owned(), remedy::line(denial, typed, setting).into());
        }
        Outcome::Failed(error) => {
            map.insert("message".to_owned(), error.message.clone().into());
        }
        Outcome::Arguments(error) => {
            map.insert("message".to_owned(), error.to_string().into());
        }
        Outcome::Ended(error) => {
            map.insert("message".to_owned(), error.to_string().into());
        }
        Outcome::Unknown { .. } => {
            map.insert("message".to_owned(), outcome.for_model().into());
        }
    }
    object
}

fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Image { mime_type, data } => {
            json!({ "type": "image", "mimeType": mime_type, "bytes": data.len() })
        }
        Content::ResourceLink { uri, name, mime_type } => {
            json!({ "type": "resource_link", "uri": uri, "name": name, "mimeType": mime_type })
        }
    }
}
