//! Which of several matches an edit means.

use super::{Request, level::Matcher, refusal};
use ringfence_tool::Error;

/// Line numbers that a message lists.
const LINES_SHOWN: usize = 10;

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
    /// The lines that they start on.
    pub lines: Lines,
    /// How many of them cover the hinted line, and which is the first that does.
    hinted: u64,
    first_hinted: u64,
}

impl Survey {
    /// Counts the matches.
    pub fn of(content: &str, matcher: &Matcher, line_hint: Option<u64>) -> Self {
        let mut survey = Self { count: 0, lines: Lines::default(), hinted: 0, first_hinted: 0 };
        for hit in matcher.hits(content) {
            survey.count += 1;
            survey.lines.add(hit.first_line);
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

/// Lines that matches start on: the first few, each once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    first: Vec<u64>,
    more: bool,
}

impl Lines {
    /// Adds a line; they come in order.
    pub fn add(&mut self, line: u64) {
        if self.first.last() == Some(&line) {
            return;
        }
        if self.first.len() < LINES_SHOWN {
            self.first.push(line);
        } else {
            self.more = true;
        }
    }
}

/// `line 3`, `lines 1 and 3`, `lines 1, 3, 5 and more`.
impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words: Vec<String> = self.first.iter().map(ToString::to_string).collect();
        if self.more {
            words.push("more".to_owned());
        }
        match words.split_last() {
            None => Ok(()),
            Some((only, [])) => write!(f, "line {only}"),
            Some((last, others)) => write!(f, "lines {} and {last}", others.join(", ")),
        }
    }
}
