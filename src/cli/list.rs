//! `ringfence tools list`: the tools, and which of them a role can call.

use super::args::ListArguments;
use super::exit::Exit;
use super::open::Setting;
use super::printer::Printer;
use crate::toolbox::{Offer, Origin};
use serde_json::{Value, json};

pub(super) fn run(printer: &Printer, typed: &ListArguments) -> Exit {
    let setting = match Setting::for_looking() {
        Ok(setting) => setting,
        Err(stop) => return stop.tell(printer),
    };
    let agent = match setting.profile(&typed.role).and_then(|profile| setting.agent(profile, false, &[])) {
        Ok(agent) => agent,
        Err(stop) => return stop.tell(printer),
    };
    let offers = setting.toolbox.offers(&agent);
    if typed.json {
        let all: Vec<Value> = offers.iter().map(as_json).collect();
        return printer.json(&json!({ "role": typed.role, "tools": all }));
    }
    let width = offers.iter().map(|offer| offer.definition.name.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for offer in &offers {
        let name = &offer.definition.name;
        let says = match offer.objections.first() {
            None => first_sentence(&offer.definition.description).to_owned(),
            Some(denial) => format!("({})", denial.to_string().trim_start_matches("denied: ")),
        };
        let mark = if offer.objections.is_empty() { "yes" } else { "no " };
        lines.push(format!("{mark}  {name:width$}  {says}"));
    }
    printer.result(&lines.join("\n"))
}

pub(super) fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim_end()
}

fn as_json(offer: &Offer<'_>) -> Value {
    let origin = match &offer.package.origin {
        Origin::BuiltIn => "built-in".to_owned(),
        Origin::File(path) => path.display().to_string(),
    };
    let denials: Vec<Value> = offer
        .objections
        .iter()
        .map(|denial| json!({ "kind": denial.kind.name(), "subject": denial.subject, "message": denial.to_string() }))
        .collect();
    json!({
        "name": offer.definition.name,
        "description": offer.definition.description,
        "inputSchema": offer.definition.input_schema,
        "outputSchema": offer.definition.output_schema,
        "origin": origin,
        "callable": offer.objections.is_empty(),
        "denials": denials,
    })
}
