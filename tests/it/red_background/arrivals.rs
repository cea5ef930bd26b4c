//! Results of a narrow turn do not reach a wide one of the same session.

use super::call;
use crate::support::clockwork::{Clockwork, MINUTE, every};

/// What a turn about a result does: it writes a file, if it may.
fn script() -> String {
    format!(
        "[[reply]]\nuser = \"Background task\"\nresult = \"\"\ntext = \"Told.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Background task\"\nrepeat = true\n{}\
         [[reply]]\nuser = \"Dig.\"\ntext = \"Dug.\"\ndelay_ms = 400\nrepeat = true\n\
         [[reply]]\nuser = \"NARROW\"\nresult = \"\"\ntext = \"It digs.\"\nrepeat = true\n\
         [[reply]]\nuser = \"NARROW\"\nrepeat = true\n{}\
         [[reply]]\nuser = \"WIDE\"\ntext = \"Over.\"\ndelay_ms = 30\nrepeat = true\n\
         [[reply]]\ntext = \"Over.\"\nrepeat = true\n",
        call("write_file", r#"{"path":"made.txt","content":"x"}"#).replace("[[reply]]\n", ""),
        call("spawn", r#"{"task":"Dig."}"#).replace("[[reply]]\n", ""),
    )
}

#[test]
fn a_job_hears_of_what_it_started_itself_and_of_nothing_else() {
    for (narrow, others) in [(true, 5), (false, 0)] {
        let c = Clockwork::new(&script());
        let rights = if narrow { c.read_only() } else { c.rights() };
        let job = c.add_as(&c.origin("a", &rights, None), every(60), "NARROW");
        for at in 0..others {
            c.add("a", every(60), &format!("WIDE {at}"));
        }
        let service = c.service();
        for round in 1..=6 {
            c.later(MINUTE);
            c.turn(&service);
            assert_eq!(c.exists("made.txt"), !narrow, "round {round}: {}", c.said("a"));
        }
        let told = c.said("a").matches("[host] Background task").count();
        assert_eq!(told, 6, "{}", c.said("a"));
        assert_eq!(c.outcomes(&job.id).len(), 6);
    }
}
