//! Ports that write down what reaches them.

use ringfence::sandbox::ports::{
    Accepted, Answer, Command, Courier, Delivery, Execution, Executor, Finished, Input, Job, JobEntry,
    MainPorts, Outcome, Outgoing, Receipt, Request, Scheduler, Session, SharedPorts, Spawner, Summary,
};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Heard {
    messages: Vec<String>,
    spawned: Vec<String>,
    asked: Vec<String>,
    jobs: Vec<String>,
    executed: Vec<String>,
    log: Vec<String>,
}

/// Everything that reached a port.
#[derive(Debug, Default, Clone)]
pub struct Recorder(Arc<Mutex<Heard>>);

impl Recorder {
    pub fn messages(&self) -> Vec<String> {
        self.0.lock().unwrap().messages.clone()
    }
    pub fn spawned(&self) -> Vec<String> {
        self.0.lock().unwrap().spawned.clone()
    }
    pub fn tasks_asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }
    pub fn jobs(&self) -> Vec<String> {
        self.0.lock().unwrap().jobs.clone()
    }
    pub fn executed(&self) -> Vec<String> {
        self.0.lock().unwrap().executed.clone()
    }
    pub fn log_lines(&self) -> Vec<String> {
        self.0.lock().unwrap().log.clone()
    }
    pub fn note(&self, line: &str) {
        self.0.lock().unwrap().log.push(line.to_owned());
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
        self.0.lock().unwrap().asked.push(id.clone());
        summary(id)
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

fn done<'a, T: Send + 'a>(value: T) -> Answer<'a, T> {
    Box::pin(async move { Ok(value) })
}

impl Courier for Recorder {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        self.0.lock().unwrap().messages.push(message.content);
        done(Receipt { channel: "test".into(), chat: "1".into() })
    }
}

impl Spawner for Recorder {
    fn start(&self, request: Request) -> Answer<'_, Accepted> {
        self.0.lock().unwrap().spawned.push(request.task);
        done(Accepted { id: "12345678".into(), label: "recorded".into() })
    }
    fn run(&self, request: Request, _: u32) -> Answer<'_, Finished> {
        self.0.lock().unwrap().spawned.push(request.task);
        let (id, label) = ("12345678".into(), "recorded".into());
        done(Finished { id, label, execution: Execution::Succeeded, text: "result".into() })
    }
    fn list(&self) -> Answer<'_, Vec<Summary>> {
        let one = self.asked("list".into());
        done(vec![one])
    }
    fn status(&self, id: String) -> Answer<'_, Summary> {
        done(self.asked(id))
    }
    fn result(&self, id: String) -> Answer<'_, String> {
        self.asked(id);
        done("result".into())
    }
    fn cancel(&self, id: String) -> Answer<'_, Summary> {
        done(self.asked(id))
    }
    fn wait(&self, ids: Vec<String>, _: u32) -> Answer<'_, Vec<Summary>> {
        done(ids.into_iter().map(|id| self.asked(id)).collect())
    }
}

impl Scheduler for Recorder {
    fn add(&self, job: Job) -> Answer<'_, JobEntry> {
        self.0.lock().unwrap().jobs.push(job.message);
        let entry = JobEntry {
            id: "12345678".into(),
            name: "recorded".into(),
            message: "recorded".into(),
            schedule: "later".into(),
            enabled: true,
            last: None,
            next: None,
        };
        done(entry)
    }
    fn list(&self) -> Answer<'_, Vec<JobEntry>> {
        done(Vec::new())
    }
    fn remove(&self, id: String) -> Answer<'_, ()> {
        self.0.lock().unwrap().jobs.push(format!("removed {id}"));
        done(())
    }
}

impl Executor for Recorder {
    fn run(&self, command: Command) -> Answer<'_, Outcome> {
        self.0.lock().unwrap().executed.push(command.line);
        done(outcome())
    }
    fn interact(&self, input: Input) -> Answer<'_, Outcome> {
        self.0.lock().unwrap().executed.push(input.text);
        done(outcome())
    }
    fn sessions(&self) -> Answer<'_, Vec<Session>> {
        done(Vec::new())
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
