//! How things stand in a chat.

use crate::provider::Usage;
use std::time::Duration;

/// Everything that `/status` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The provider and the model.
    pub model: String,
    /// The session's key.
    pub session: String,
    /// The role or profile.
    pub role: String,
    /// The workspace.
    pub workspace: String,
    /// What stands around commands.
    pub sandbox: String,
    /// Messages that the model is sent.
    pub messages: usize,
    /// Tokens of the last request and reply.
    pub context: u64,
    /// Tokens that a request and its reply may have together.
    pub window: u64,
    /// Tokens that are kept free for a reply.
    pub reply: u64,
    /// Tokens since the chat began.
    pub used: Usage,
    /// What they cost, in millionths of a dollar, where that is known.
    pub cost: Option<u64>,
    /// Turns that run.
    pub turns: usize,
    /// Messages that wait.
    pub waiting: usize,
    /// Background agents that run.
    pub tasks: usize,
    /// Since the chat began.
    pub uptime: Duration,
}

/// How full the model's context is: `used` of what is left of the window beside a reply, at most 999 %.
pub fn context_percent(used: u64, window: u64, reply: u64) -> u64 {
    let usable = window.saturating_sub(reply).max(1);
    (used.saturating_mul(100) / usable).min(999)
}

impl Status {
    /// A line for each.
    pub fn lines(&self) -> String {
        let percent = context_percent(self.context, self.window, self.reply);
        let cached = (self.used.cached * 100).checked_div(self.used.input).unwrap_or(0);
        let cost =
            self.cost.map_or_else(|| "price unknown".to_owned(), |cost| format!("${:.4}", cost as f64 / 1e6));
        let seconds = self.uptime.as_secs();
        [
            format!("version    {}", env!("CARGO_PKG_VERSION")),
            format!("model      {}", self.model),
            format!("session    {}, {} messages", self.session, self.messages),
            format!("role       {} in {}", self.role, self.workspace),
            format!("sandbox    {}", self.sandbox),
            format!("context    {percent} % of {} tokens", self.window.saturating_sub(self.reply)),
            format!(
                "tokens     {} sent ({cached} % of them cached), {} received; {cost}",
                self.used.input, self.used.output
            ),
            format!(
                "running    {} turns, {} background agents; {} messages wait",
                self.turns, self.tasks, self.waiting
            ),
            format!("uptime     {}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60),
        ]
        .join("\n")
    }
}
