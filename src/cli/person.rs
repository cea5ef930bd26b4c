//! The person at the terminal, as a port: a message to them is a line on stderr, since stdout is for the result.

use super::printer::Printer;
use crate::bus::Sender;
use crate::sandbox::ports::{Answer, Courier, Outgoing, Receipt};
use crate::session::SessionKey;
use std::path::Path;

/// The person at the terminal.
#[derive(Debug)]
pub(super) struct Person(Printer, Sender);

impl Person {
    /// Who is reached from a workspace.
    pub(super) fn new(workspace: &Path) -> Self {
        Self(
            Printer::new(),
            Sender { key: SessionKey::new("cli", "direct"), workspace: workspace.to_owned() },
        )
    }
}

impl Courier for Person {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        let answer = self.1.admit(message).map(|out| {
            self.0.note(&format!("message: {}", super::turn::shown(&out)));
            Receipt { channel: out.channel, chat: out.chat }
        });
        Box::pin(async move { answer })
    }
}
