//! Ports that write down what reaches them.

use ringfence::sandbox::ports::{
    Accepted, Answer, Bearer, Command, Courier, Delivery, Error, ErrorKind, Execution, Executor, Finished,
    Input, Job, JobEntry, MainPorts, Outcome, Outgoing, Receipt, Request, Scheduler, Session, SharedPorts,
    Spawner, Stand, Summary,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Heard {
    messages: Vec<String>,
    requests: Vec<(Request, Option<u32>)>,
    asked: Vec<String>,
    waits: Vec<(Vec<String>, u32)>,
    jobs: Vec<String>,
    added: Vec<Job>,
    executed: Vec<String>,
    bearers: Vec<Bearer>,
    commands: Vec<Command>,
    inputs: Vec<Input>,
    log: Vec<String>,
    answers: Answers,
}

/// What the ports answer with.
#[derive(Debug, Default)]
struct Answers {
    error: Option<ErrorKind>,
    finished: Option<(Execution, String)>,
    summaries: Option<Vec<Summary>>,
    entries: Vec<JobEntry>,
    outcomes: VecDeque<Outcome>,
    sessions: Vec<Session>,
}

/// Everything that reached a port.
#[derive(Debug, Default, Clone)]
pub struct Recorder(Arc<Mutex<Heard>>);

impl Recorder {
    pub fn messages(&self) -> Vec<String> {
        self.0.lock().unwrap().messages.clone()
    }
    /// The tasks of the agents that were asked for.
    pub fn spawned(&self) -> Vec<String> {
        self.requests().into_iter().map(|(request, _)| request.task).collect()
    }
    /// The whole requests, and how long was to be waited for each.
    pub fn requests(&self) -> Vec<(Request, Option<u32>)> {
        self.0.lock().unwrap().requests.clone()
    }
    /// The ids that were asked after, and `list`.
    pub fn tasks_asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
    /// What was waited for, and how long.
    pub fn waits(&self) -> Vec<(Vec<String>, u32)> {
        self.0.lock().unwrap().waits.clone()
    }
    /// The messages of the jobs that were added, and `removed ID`.
    pub fn jobs(&self) -> Vec<String> {
        self.0.lock().unwrap().jobs.clone()
    }
    /// The whole jobs that were added.
    pub fn added(&self) -> Vec<Job> {
        self.0.lock().unwrap().added.clone()
    }
    pub fn executed(&self) -> Vec<String> {
        self.0.lock().unwrap().executed.clone()
    }
    /// The whole commands that were to be run.
    pub fn commands(&self) -> Vec<Command> {
        self.0.lock().unwrap().commands.clone()
    }
    /// What was wanted of commands that still run.
    pub fn inputs(&self) -> Vec<Input> {
        self.0.lock().unwrap().inputs.clone()
    }
    pub fn log_lines(&self) -> Vec<String> {
        self.0.lock().unwrap().log.clone()
    }
    pub fn note(&self, line: &str) {
        self.0.lock().unwrap().log.push(line.to_owned());
    }

    /// Who asked for commands.
    pub fn bearers(&self) -> Vec<Bearer> {
        self.0.lock().unwrap().bearers.clone()
    }

    /// Everything that reached any of them.
    pub fn everything(&self) -> Vec<String> {
        let heard = [self.messages(), self.spawned(), self.tasks_asked(), self.jobs()];
        [heard.concat(), self.executed(), self.log_lines()].concat()
    }

    /// From now on every request is refused with an error of this kind.
    pub fn refuse_with(&self, kind: ErrorKind) {
        self.0.lock().unwrap().answers.error = Some(kind);
    }
    /// How a run ends that is waited for.
    pub fn finish_with(&self, execution: Execution, text: &str) {
        self.0.lock().unwrap().answers.finished = Some((execution, text.to_owned()));
    }
    /// The runs that there are.
    pub fn have_tasks(&self, summaries: &[Summary]) {
        self.0.lock().unwrap().answers.summaries = Some(summaries.to_vec());
    }
    /// How the next commands end, or where they stand, one after another.
    pub fn answer_with(&self, outcomes: &[Outcome]) {
        self.0.lock().unwrap().answers.outcomes.extend(outcomes.iter().cloned());
    }
    /// The commands that still run.
    pub fn have_sessions(&self, sessions: &[Session]) {
        self.0.lock().unwrap().answers.sessions = sessions.to_vec();
    }
    /// The jobs that there are.
    pub fn have_jobs(&self, entries: &[JobEntry]) {
        self.0.lock().unwrap().answers.entries = entries.to_vec();
    }

    pub fn shared_ports(&self) -> SharedPorts {
        SharedPorts { executor: Arc::new(self.clone()) }
    }

    pub fn main_ports(&self) -> MainPorts {
        MainPorts {
            shared: self.shared_ports(),
            courier: Arc::new(self.clone()),
            spawner: Arc::new(self.clone()),
            scheduler: Arc::new(self.clone()),
        }
    }

    fn asked(&self, id: String) -> Summary {
        let mut heard = self.0.lock().unwrap();
        heard.asked.push(id.clone());
        let known = heard.answers.summaries.iter().flatten().find(|summary| summary.id == id);
        known.cloned().unwrap_or_else(|| summary(id))
    }

    fn command_stands(&self) -> Answer<'_, Stand> {
        let next = self.0.lock().unwrap().answers.outcomes.pop_front();
        self.answer(next.unwrap_or_else(outcome).into())
    }

    fn answer<'a, T: Send + 'a>(&self, value: T) -> Answer<'a, T> {
        let refused = self.0.lock().unwrap().answers.error;
        let message = || "refused by the test".to_owned();
        let answer = refused.map_or(Ok(value), |kind| Err(Error { kind, message: message() }));
        Box::pin(async move { answer })
    }
}

fn summary(id: String) -> Summary {
    Summary {
        id,
        label: "recorded".into(),
        execution: Execution::Running,
        delivery: Delivery::Pending,
        age_ms: 1,
        iterations: 2,
        tokens: 3,
        reason: None,
    }
}

impl Courier for Recorder {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        self.0.lock().unwrap().messages.push(message.content);
        self.answer(Receipt { channel: "test".into(), chat: "1".into() })
    }
}

impl Spawner for Recorder {
    fn start(&self, request: Request) -> Answer<'_, Accepted> {
        let label = request.label.clone().unwrap_or_else(|| "recorded".into());
        self.0.lock().unwrap().requests.push((request, None));
        self.answer(Accepted { id: "12345678".into(), label })
    }
    fn run(&self, request: Request, timeout_ms: u32) -> Answer<'_, Finished> {
        let label = request.label.clone().unwrap_or_else(|| "recorded".into());
        let finished = {
            let mut heard = self.0.lock().unwrap();
            heard.requests.push((request, Some(timeout_ms)));
            heard.answers.finished.clone()
        };
        let (execution, text) = finished.unwrap_or((Execution::Succeeded, "result".into()));
        self.answer(Finished { id: "12345678".into(), label, execution, text })
    }
    fn list(&self) -> Answer<'_, Vec<Summary>> {
        let one = self.asked("list".into());
        let all = self.0.lock().unwrap().answers.summaries.clone();
        self.answer(all.unwrap_or_else(|| vec![one]))
    }
    fn status(&self, id: String) -> Answer<'_, Summary> {
        let one = self.asked(id);
        self.answer(one)
    }
    fn result(&self, id: String) -> Answer<'_, String> {
        self.asked(id);
        self.answer("result".into())
    }
    fn cancel(&self, id: String) -> Answer<'_, Summary> {
        let one = self.asked(id);
        self.answer(one)
    }
    fn wait(&self, ids: Vec<String>, timeout_ms: u32) -> Answer<'_, Vec<Summary>> {
        self.0.lock().unwrap().waits.push((ids.clone(), timeout_ms));
        let all = ids.into_iter().map(|id| self.asked(id)).collect();
        self.answer(all)
    }
}

impl Scheduler for Recorder {
    fn add(&self, job: Job) -> Answer<'_, JobEntry> {
        let entry = JobEntry {
            id: "12345678".into(),
            name: job.name.clone().unwrap_or_else(|| "recorded".into()),
            message: job.message.clone(),
            schedule: "later".into(),
            enabled: true,
            last: None,
            next: Some("2026-03-01T09:00:00+01:00[Europe/Berlin]".into()),
        };
        let mut heard = self.0.lock().unwrap();
        heard.jobs.push(job.message.clone());
        heard.added.push(job);
        drop(heard);
        self.answer(entry)
    }
    fn list(&self) -> Answer<'_, Vec<JobEntry>> {
        let entries = self.0.lock().unwrap().answers.entries.clone();
        self.answer(entries)
    }
    fn remove(&self, id: String) -> Answer<'_, ()> {
        self.0.lock().unwrap().jobs.push(format!("removed {id}"));
        self.answer(())
    }
}

impl Executor for Recorder {
    fn run<'a>(&'a self, by: &'a Bearer, command: Command) -> Answer<'a, Stand> {
        let mut heard = self.0.lock().unwrap();
        heard.bearers.push(by.clone());
        heard.executed.push(command.line.clone());
        heard.commands.push(command);
        drop(heard);
        self.command_stands()
    }
    fn interact<'a>(&'a self, _: &'a Bearer, input: Input) -> Answer<'a, Stand> {
        let mut heard = self.0.lock().unwrap();
        heard.executed.push(input.text.clone());
        heard.inputs.push(input);
        drop(heard);
        self.command_stands()
    }
    fn sessions<'a>(&'a self, _: &'a Bearer) -> Answer<'a, Vec<Session>> {
        let sessions = self.0.lock().unwrap().answers.sessions.clone();
        self.answer(sessions)
    }
}

fn outcome() -> Outcome {
    Outcome {
        session: None,
        exit_code: Some(0),
        stdout: String::new(),
        stderr: String::new(),
        dropped: 0,
        elapsed_ms: 1,
        timed_out: false,
        sandbox_level: "recorded".into(),
    }
}
