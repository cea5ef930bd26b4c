//! A session as a file for people or for programs.

use super::{Entry, SessionError, decoded};
use crate::provider::{Block, Message, Speaker};
use crate::store::{MessageRow, Store};
use serde_json::{Value, json};

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown: what was said, the calls, and their results. Without thoughts.
    Markdown,
    /// JSON Lines: a line about the session, then everything of each message, a line each.
    JsonLines,
}

/// The version of the JSON Lines.
const VERSION: u32 = 1;

/// A whole session, what was summed up included.
///
/// # Errors
///
/// When the store cannot be read.
pub fn export(store: &Store, entry: &Entry, format: Format) -> Result<String, SessionError> {
    let rows = store.messages(entry.id, 1)?;
    Ok(match format {
        Format::Markdown => markdown(entry, &rows),
        Format::JsonLines => json_lines(entry, &rows),
    })
}

/// A whole session for a terminal.
///
/// # Errors
///
/// When the store cannot be read.
pub fn plain(store: &Store, entry: &Entry) -> Result<String, SessionError> {
    let mut out = format!("{}  {}\n", entry.key, entry.title);
    out.push_str(&format!("  workspace  {}\n", workspace(entry)));
    out.push_str(&format!("  began      {}\n  last       {}\n", time(entry.created), time(entry.updated)));
    for row in store.messages(entry.id, 1)? {
        let Some(message) = decoded(&row) else {
            out.push_str(&format!("\n[message {} cannot be read]\n", row.seq));
            continue;
        };
        for block in &message.blocks {
            match block {
                Block::Text { text } => {
                    let name = row.source.as_deref().map_or_else(|| format!("{}:", name(&message)), mark);
                    out.push_str(&format!("\n{name} {}\n", text.trim_end()));
                }
                Block::Thinking { .. } => {}
                Block::ToolCall(call) => {
                    out.push_str(&format!("  {} {}\n", call.name, one_line(&call.arguments)))
                }
                Block::ToolResult(result) => {
                    let mark = if result.is_error { "error" } else { "result" };
                    out.push_str(&format!("    {mark}: {}\n", one_line(&result.text)));
                }
            }
        }
    }
    Ok(out)
}

/// A reply of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// When it was kept, in milliseconds since the epoch.
    pub at: i64,
    /// What it says, without thoughts; empty where it only calls.
    pub text: String,
    /// How many calls it makes.
    pub calls: usize,
}

/// The replies of the model in a session, in order.
///
/// # Errors
///
/// When the store cannot be read.
pub fn replies(store: &Store, entry: &Entry) -> Result<Vec<Reply>, SessionError> {
    let rows = store.messages(entry.id, 1)?;
    let reply = |row: &MessageRow| {
        let message = decoded(row).filter(|message| message.speaker == Speaker::Assistant)?;
        Some(Reply { at: row.at, text: message.text(), calls: message.calls().count() })
    };
    Ok(rows.iter().filter_map(reply).collect())
}

fn markdown(entry: &Entry, rows: &[MessageRow]) -> String {
    let title = if entry.title.is_empty() { "(no title)" } else { &entry.title };
    let mut out = format!("# {title}\n\n");
    out.push_str(&format!("- Session: `{}`\n- Workspace: `{}`\n", entry.key, workspace(entry)));
    out.push_str(&format!("- From {} to {}\n", time(entry.created), time(entry.updated)));
    let mut last = None;
    for row in rows {
        let Some(message) = decoded(row) else {
            out.push_str(&format!("\n*Message {} cannot be read.*\n", row.seq));
            continue;
        };
        for block in &message.blocks {
            match block {
                Block::Text { text } if !text.trim().is_empty() => {
                    let heading = match &row.source {
                        Some(source) => mark(source),
                        None if message.speaker == Speaker::User => "User".to_owned(),
                        None => "Assistant".to_owned(),
                    };
                    if last.as_ref() != Some(&heading) {
                        out.push_str(&format!("\n## {heading}\n"));
                        last = Some(heading);
                    }
                    out.push_str(&format!("\n{}\n", text.trim_end()));
                }
                Block::Text { .. } | Block::Thinking { .. } => {}
                Block::ToolCall(call) => {
                    out.push_str(&format!(
                        "\n**Call** `{}`\n\n{}",
                        call.name,
                        fenced("json", &call.arguments)
                    ));
                }
                Block::ToolResult(result) => {
                    let mark = if result.is_error { "Error" } else { "Result" };
                    out.push_str(&format!("\n**{mark}**\n\n{}", fenced("", &result.text)));
                }
            }
        }
    }
    out
}

fn json_lines(entry: &Entry, rows: &[MessageRow]) -> String {
    let mut out = json!({
        "v": VERSION, "type": "session", "session": entry.key.to_string(), "workspace": entry.workspace,
        "title": entry.title, "created": time(entry.created), "updated": time(entry.updated),
    })
    .to_string();
    out.push('\n');
    for row in rows {
        let mut line = json!({ "type": "message", "seq": row.seq, "at": time(row.at) });
        let blocks = decoded(row).and_then(|message| serde_json::to_value(&message.blocks).ok());
        if let Some(line) = line.as_object_mut() {
            if let Some(source) = &row.source {
                line.insert("source".to_owned(), source.as_str().into());
            }
            match blocks {
                Some(blocks) => {
                    line.insert("speaker".to_owned(), row.speaker.as_str().into());
                    line.insert("blocks".to_owned(), blocks);
                }
                None => {
                    line.insert("type".to_owned(), "unreadable".into());
                    let raw = row.blocks.as_deref().map_or(Value::Null, Value::from);
                    line.insert("raw".to_owned(), raw);
                }
            }
        }
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out
}

/// A code block that its content cannot end.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 0;
    for run in text.split(|c| c != '`') {
        longest = longest.max(run.len());
    }
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn workspace(entry: &Entry) -> &str {
    if entry.workspace.is_empty() { "none" } else { &entry.workspace }
}

fn name(message: &Message) -> &'static str {
    super::speaker_name(message.speaker)
}

/// Who speaks in a message that the host put in: `task:1a2b3c4d` is `[task 1a2b3c4d]`.
fn mark(source: &str) -> String {
    format!("[{}]", source.replacen(':', " ", 1))
}

fn one_line(text: &str) -> String {
    let mut lines = text.lines();
    let first: String = lines.next().unwrap_or_default().chars().take(160).collect();
    if lines.next().is_some() || first.len() < text.trim_end().len() { format!("{first} …") } else { first }
}

/// A time of the store, for people and programs: RFC 3339 in UTC.
fn time(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).map(|at| format!("{at:.3}")).unwrap_or_default()
}
