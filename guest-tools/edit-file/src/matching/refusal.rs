//! The lines that refuse an edit: what failed, where, and what to try next.

use super::{Request, closest, hints, select::Survey};
use ringfence_tool::{Error, ErrorKind};

/// Refuses requests that make no sense, whatever the file holds.
///
/// # Errors
///
/// When this is one.
pub fn check(request: &Request<'_>) -> Result<(), Error> {
    if request.old == request.new {
        return Err(Error::invalid(format!(
            "{}: old_text and new_text are the same, so nothing would change",
            request.name
        )));
    }
    let zero = [
        ("occurrence", request.occurrence),
        ("line_hint", request.line_hint),
        ("expected_replacements", request.expected),
    ];
    if let Some((parameter, _)) = zero.iter().find(|(_, value)| *value == Some(0)) {
        return Err(Error::invalid(format!("{parameter} counts from 1; 0 is none")));
    }
    let selectors = [
        ("replace_all", request.replace_all),
        ("occurrence", request.occurrence.is_some()),
        ("line_hint", request.line_hint.is_some()),
    ];
    let given: Vec<&str> = selectors.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if given.len() > 1 {
        return Err(Error::invalid(format!("{} contradict each other; give only one", given.join(" and "))));
    }
    Ok(())
}

fn conflict(request: &Request<'_>, message: &str) -> Error {
    Error::new(ErrorKind::Conflict, format!("{}: {message}. Nothing was written", request.name))
}

fn matches(survey: &Survey) -> String {
    let lines = &survey.lines;
    match survey.count {
        1 => format!("old_text occurs once, on {lines}"),
        count => format!("old_text occurs {count} times, on {lines}"),
    }
}

/// Several matches and no word on which.
pub fn ambiguous(request: &Request<'_>, survey: &Survey) -> Error {
    let found = matches(survey);
    conflict(
        request,
        &format!(
            "{found}. Give more of the text around the right one, or occurrence or line_hint to pick one, or replace_all=true for all"
        ),
    )
}

/// Fewer matches than the one asked for.
pub fn no_such_match(request: &Request<'_>, survey: &Survey, number: u64) -> Error {
    conflict(request, &format!("there is no occurrence {number}: {}", matches(survey)))
}

/// No match on the hinted line.
pub fn not_on_line(request: &Request<'_>, survey: &Survey, line: u64) -> Error {
    conflict(request, &format!("no match covers line {line} (line_hint): {}", matches(survey)))
}

/// Several matches on the hinted line.
pub fn ambiguous_line(request: &Request<'_>, line: u64, count: u64) -> Error {
    conflict(
        request,
        &format!(
            "line_hint {line} is ambiguous: old_text occurs {count} times on that line. Give more of the text around it, or occurrence"
        ),
    )
}

/// Not as many replacements as expected.
pub fn unexpected(request: &Request<'_>, survey: &Survey, expected: u64, replaced: u64) -> Error {
    let found = matches(survey);
    let hint = if request.replace_all || survey.count < expected {
        ""
    } else {
        "; replace_all=true replaces all of them"
    };
    conflict(
        request,
        &format!("expected_replacements is {expected}, but {replaced} would be made: {found}{hint}"),
    )
}

/// The result is what was there.
pub fn unchanged(request: &Request<'_>) -> Error {
    let why =
        if request.keep_trailing_blanks { "" } else { " (blanks at the ends of new lines are left out)" };
    conflict(request, &format!("the edit would change nothing{why}"))
}

/// The result is larger than a file may be.
pub fn too_large(request: &Request<'_>) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "{}: the result would be larger than {} bytes, the limit here. Nothing was written",
            request.name, request.limit
        ),
    )
}

/// No match at all.
pub fn not_found(content: &str, request: &Request<'_>) -> Error {
    let name = request.name;
    if content.is_empty() {
        let message = format!("{name} is empty, so old_text is not in it; an empty old_text fills it");
        return Error::new(ErrorKind::NotFound, message);
    }
    let mut message = format!("old_text was not found in {name}; nothing was written");
    for hint in hints::of(content, request.old) {
        message.push_str("\n- ");
        message.push_str(&hint);
    }
    match closest::block(content, request.old) {
        Some(block) => message.push_str(&format!("\n{block}")),
        None => message.push_str("\nNothing in the file is much like it; read the file again"),
    }
    Error::new(ErrorKind::NotFound, message)
}
