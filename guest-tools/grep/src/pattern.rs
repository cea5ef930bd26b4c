//! From a pattern to a matcher of bounded size.

use crate::arguments::Arguments;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ringfence_tool::Error;

/// Bytes of a compiled pattern; its cache may take as much again, twice. All of it has to fit a guest's memory.
const MAX_COMPILED: usize = 4 * 1024 * 1024;

/// Bytes of a pattern: reading one takes a multiple of its length.
const MAX_PATTERN: usize = 64 * 1024;

/// Characters of the regex engine's reason that are passed on.
const MAX_REASON: usize = 600;

/// Compiles the pattern.
pub(crate) fn compile(arguments: &Arguments) -> Result<RegexMatcher, Error> {
    let pattern = arguments.pattern.as_str();
    if pattern.is_empty() {
        return Err(Error::invalid("pattern is empty"));
    }
    if pattern.len() > MAX_PATTERN {
        return Err(Error::invalid(format!(
            "pattern has {} bytes; at most {MAX_PATTERN} are searched for",
            pattern.len()
        )));
    }
    if pattern.contains('\n') {
        return Err(Error::invalid("pattern contains a line break, but lines are searched one by one"));
    }
    let built = RegexMatcherBuilder::new()
        .case_insensitive(arguments.case_insensitive)
        .fixed_strings(arguments.fixed_strings)
        // `^` and `$` are about lines, although the engine sees many at once.
        .multi_line(true)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .crlf(true)
        .build(pattern);
    built.map_err(|error| {
        let reason = error.to_string();
        // It quotes the pattern first; of a long one, only what is said about it is of use.
        let reason = match reason.rsplit_once('\n') {
            Some((_, last)) if reason.len() > MAX_REASON => last.to_owned(),
            _ => reason,
        };
        let reason: String = reason.chars().take(MAX_REASON).collect();
        let hint = if arguments.fixed_strings { "" } else { "; fixed_strings=true takes it literally" };
        Error::invalid(format!("pattern cannot be used: {reason}{hint}"))
    })
}
