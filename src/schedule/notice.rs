//! What a person is told of a job by the host: letters to its session.

use super::service::Inner;
use crate::store::{JobRow, JobState, NewLetter, Workspace};
use crate::toolbox::one_line;

/// A job was paused or disabled.
pub(super) fn halted(inner: &Inner, job: &JobRow, state: JobState, why: &str) {
    let on = match state {
        JobState::Disabled => format!("to remove it: ringfence cron rm {}", job.id),
        _ => format!(
            "to see its runs: ringfence cron history {0}; to go on: ringfence cron resume {0}",
            job.id
        ),
    };
    let text = format!(
        "scheduled job {} ({}) is {}: {}; {on}",
        job.id,
        one_line(&job.name),
        state.name(),
        one_line(why)
    );
    letter(inner, job, &text, &format!("job:{}:{}:{}", job.id, state.name(), (inner.now)()));
}

/// A run failed, and the person should know before it goes on like that.
pub(super) fn failed(inner: &Inner, job: &JobRow, run: i64, why: &str) {
    let how = match (job.state, job.failures) {
        (JobState::Done, _) => "failed, and is not due again".to_owned(),
        (_, failures) => format!("failed {failures} times in a row"),
    };
    let text = format!(
        "scheduled job {} ({}) {how}: {}; to see its runs: ringfence cron history {}",
        job.id,
        one_line(&job.name),
        one_line(why),
        job.id
    );
    letter(inner, job, &text, &format!("job:{}:failed:{run}", job.id));
}

fn letter(inner: &Inner, job: &JobRow, content: &str, source: &str) {
    if job.channel.is_empty() || job.chat.is_empty() {
        return tracing::warn!("{content}");
    }
    let workspace = Workspace::at(&job.workspace_path);
    let letter = NewLetter {
        workspace: &workspace,
        channel: &job.channel,
        chat: &job.chat,
        source: Some(source),
        kind: "notice",
        content,
        attachments: &[],
    };
    if let Err(error) = inner.store.put_letter(&letter) {
        tracing::error!("a notice about job {} cannot be kept: {error}", job.id);
    }
}
