//! The `message` tool: sends a message through the host. It holds that interface and nothing else.

use ringfence_tool::{Output, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:message-tool;
            world imports { import ringfence:host/message@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:message-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{message, types};

struct Message;

#[derive(serde::Deserialize)]
struct Arguments {
    content: String,
    channel: Option<String>,
    chat_id: Option<String>,
    #[serde(default)]
    media: Vec<String>,
}

impl Tool for Message {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let attached = arguments.media.len();
        let receipt = message::send(&message::Outgoing {
            content: arguments.content,
            channel: arguments.channel,
            chat: arguments.chat_id,
            attachments: arguments.media,
        })
        .map_err(told)?;
        let with = match attached {
            0 => String::new(),
            1 => " with 1 attachment".to_owned(),
            n => format!(" with {n} attachments"),
        };
        Ok(Output::text(format!("sent to {}:{}{with}", receipt.channel, receipt.chat)))
    }
}

ringfence_tool::host_errors!(types);
ringfence_tool::export_tool!(Message);
