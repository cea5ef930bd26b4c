//! `ringfence tools inspect`: what a component asks for, and what each role would say.

use super::args::InspectArguments;
use super::exit::Exit;
use super::open::{Setting, Stop, grant, whole};
use super::printer::Printer;
use crate::authority::{Capability, Denial, Grant, Profile, Role};
use crate::config;
use crate::sandbox::{Asker, Component, ImportClass, MAX_COMPONENT, objections, requests};
use crate::toolbox::Definition;
use serde_json::{Value, json};
use std::path::Path;

/// What is known of a component.
struct Findings<'a> {
    built_in: bool,
    component: &'a Component,
    grant: Grant,
    definitions: Result<Vec<&'a Definition>, String>,
}

pub(super) async fn run(printer: &Printer, typed: &InspectArguments) -> Exit {
    match look(printer, typed).await {
        Ok(exit) => exit,
        Err(stop) => stop.tell(printer),
    }
}

async fn look(printer: &Printer, typed: &InspectArguments) -> Result<Exit, Stop> {
    let setting = Setting::for_looking()?;
    let what = typed.what.as_str();
    if let Some((package, definition)) = setting.toolbox.find(what) {
        let component = package.component().map_err(|error| Stop(format!("{what}: {error}"), Exit::Load))?;
        let grant = package.grant.clone();
        let findings = Findings { built_in: true, component, grant, definitions: Ok(vec![definition]) };
        return Ok(show(printer, typed, &setting, &findings));
    }
    let path = Path::new(what);
    if !what.ends_with(".wasm") && !what.contains('/') {
        let near = crate::toolbox::nearest(what, setting.toolbox.names());
        let hint = near.map_or_else(
            || "to see which there are: ringfence tools list".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Stop(format!("there is no tool `{what}`; {hint}"), Exit::Usage));
    }
    let bytes = config::read_component(path, MAX_COMPONENT)
        .map_err(|error| Stop(format!("{what}: {error}"), Exit::Usage))?;
    let component = Component::read(bytes).map_err(|error| Stop(format!("{what}: {error}"), Exit::Load))?;
    // Read with everything that it asks for granted, so that what each role says is about the role alone.
    let wanted: Vec<Capability> = requests(&component.survey).iter().collect();
    let probed = setting.toolbox.probe(&component).await.map_err(|error| whole(&error));
    let definitions = probed.as_ref().map(|all| all.iter().collect()).map_err(Clone::clone);
    let readable = definitions.is_ok();
    let findings = Findings { built_in: false, component: &component, grant: grant(&wanted), definitions };
    let shown = show(printer, typed, &setting, &findings);
    Ok(if readable { shown } else { Exit::Load })
}

fn verdict(setting: &Setting, findings: &Findings<'_>, tool: &str, role: Role) -> Vec<Denial> {
    let profile = Profile::plain(role);
    let Ok(agent) = setting.agent(profile.clone(), false, &[]) else { return Vec::new() };
    let ceiling = crate::authority::Ceiling::of(role, &setting.workspace);
    let flags = agent.flags();
    let asker = Asker { tool, profile: &profile, ceiling: &ceiling, grant: &findings.grant, flags };
    objections(&findings.component.survey, asker)
}

fn show(printer: &Printer, typed: &InspectArguments, setting: &Setting, findings: &Findings<'_>) -> Exit {
    let survey = &findings.component.survey;
    let name = typed.what.as_str();
    let verdicts: Vec<(Role, Vec<Denial>)> =
        Role::ALL.into_iter().map(|role| (role, verdict(setting, findings, name, role))).collect();
    if typed.json {
        return printer.json(&as_json(findings, &verdicts));
    }
    let mut lines =
        vec![format!("digest       {:?}", survey.digest), format!("size         {} bytes", survey.size)];
    let wanted = requests(survey);
    let may: Vec<&str> = wanted.iter().map(Capability::in_words).collect();
    lines
        .push(format!("wants        {}", if may.is_empty() { "nothing".to_owned() } else { may.join("; ") }));
    for (role, denials) in &verdicts {
        let says = match denials.first() {
            None if findings.built_in || wanted.iter().next().is_none() => "can be called".to_owned(),
            None => format!("can be called where {wanted} is granted (--allow)"),
            Some(denial) => denial.to_string(),
        };
        lines.push(format!("as {:10}{says}", format!("{role}:")));
    }
    lines.push("imports".to_owned());
    for import in &survey.imports {
        lines.push(format!("  {import}  ({})", class(ImportClass::of(import))));
    }
    match &findings.definitions {
        Ok(definitions) => {
            for definition in definitions {
                lines.push(format!("tool         {}", definition.name));
                lines.push(format!("  {}", definition.description.replace('\n', "\n  ")));
                let schema = serde_json::to_string_pretty(&definition.input_schema).unwrap_or_default();
                lines.push(format!("  {}", schema.replace('\n', "\n  ")));
            }
        }
        Err(problem) => lines.push(format!("tools        cannot be read: {problem}")),
    }
    printer.result(&lines.join("\n"))
}

fn class(class: ImportClass) -> String {
    match class {
        ImportClass::Request(capability) => format!("asks for {capability}"),
        ImportClass::Leftover => {
            "of the language runtime; no files, no network, nobody to talk to".to_owned()
        }
        ImportClass::Types => "types only".to_owned(),
        ImportClass::OtherVersion => "known here at another version".to_owned(),
        ImportClass::Unknown => "unknown here".to_owned(),
    }
}

fn as_json(findings: &Findings<'_>, verdicts: &[(Role, Vec<Denial>)]) -> Value {
    let survey = &findings.component.survey;
    let imports: Vec<Value> = survey
        .imports
        .iter()
        .map(|import| json!({ "name": import.to_string(), "class": class(ImportClass::of(import)) }))
        .collect();
    let roles: serde_json::Map<String, Value> = verdicts
        .iter()
        .map(|(role, denials)| {
            let denials: Vec<Value> = denials
                .iter()
                .map(|d| json!({ "kind": d.kind.name(), "subject": d.subject, "message": d.to_string() }))
                .collect();
            (role.to_string(), json!({ "callable": denials.is_empty(), "denials": denials }))
        })
        .collect();
    let definitions: Value = match &findings.definitions {
        Ok(definitions) => definitions
            .iter()
            .map(|d| {
                json!({
                    "name": d.name, "description": d.description,
                    "inputSchema": d.input_schema, "outputSchema": d.output_schema,
                })
            })
            .collect(),
        Err(problem) => json!({ "error": problem }),
    };
    json!({
        "digest": survey.digest.to_string(),
        "size": survey.size,
        "wants": requests(survey).iter().map(Capability::name).collect::<Vec<_>>(),
        "imports": imports,
        "roles": roles,
        "tools": definitions,
    })
}
