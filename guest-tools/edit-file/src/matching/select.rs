//! Which of several matches an edit means.

use super::{Request, level::Matcher, refusal};
use ringfence_tool::Error;

/// Line numbers that a message lists.
pub const LINES_SHOWN: usize = 10;

/// What is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Every match.
    All,
    /// One match, from 1.
    Nth(u64),
}

/// What there is to choose from.
#[derive(Debug)]
pub struct Survey {
    /// How many matches.
    pub count: u64,
    /// Where the first few start.
    pub lines: Vec<u64>,
    /// How many of them cover the hinted line, and which is the first that does.
    hinted: u64,
    first_hinted: u64,
}

impl Survey {
    /// Counts the matches.
    pub fn of(content: &str, matcher: &Matcher, line_hint: Option<u64>) -> Self {
        let mut survey = Self { count: 0, lines: Vec::new(), hinted: 0, first_hinted: 0 };
        for hit in matcher.hits(content) {
            survey.count += 1;
            if survey.lines.len() < LINES_SHOWN {
                survey.lines.push(hit.first_line);
            }
            if line_hint.is_some_and(|line| hit.first_line <= line && line <= hit.last_line) {
                survey.hinted += 1;
                if survey.hinted == 1 {
                    survey.first_hinted = survey.count;
                }
            }
        }
        survey
    }
}

/// Decides which match is meant.
///
/// # Errors
///
/// When that is not clear, or not as many as expected.
pub fn choose(survey: &Survey, request: &Request<'_>) -> Result<Choice, Error> {
    let choice = match (request.replace_all, request.occurrence, request.line_hint) {
        (true, ..) => Choice::All,
        (_, Some(number), _) if number > survey.count => {
            return Err(refusal::no_such_match(request, survey, number));
        }
        (_, Some(number), _) => Choice::Nth(number),
        (_, _, Some(line)) => match survey.hinted {
            0 => return Err(refusal::not_on_line(request, survey, line)),
            1 => Choice::Nth(survey.first_hinted),
            count => return Err(refusal::ambiguous_line(request, line, count)),
        },
        _ if survey.count == 1 => Choice::Nth(1),
        _ => return Err(refusal::ambiguous(request, survey)),
    };
    let replaced = if choice == Choice::All { survey.count } else { 1 };
    match request.expected {
        Some(expected) if expected != replaced => {
            Err(refusal::unexpected(request, survey, expected, replaced))
        }
        _ => Ok(choice),
    }
}

/// `line 3`, `lines 1 and 3`, `lines 1, 3, 5 and 12 more`.
pub fn lines_in_words(lines: &[u64], count: u64) -> String {
    let mut words: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let more = count.saturating_sub(lines.len() as u64);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => format!("line {only}"),
        Some((last, others)) => format!("lines {} and {last}", others.join(", ")),
    }
}
