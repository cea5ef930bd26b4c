//! Makes the host do much: log lines, random bytes, standard output, one huge argument.

use hostile::{answer, tool};
use serde::{Deserialize, Serialize};
use wasip2::io::streams::OutputStream;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/log@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::log;

#[derive(Deserialize)]
struct Lines {
    lines: u32,
    bytes: usize,
}

tool!(LogFlood, "log_flood", "Writes many lines to the log.", Lines, |asked| {
    let rest = "x".repeat(asked.bytes);
    for number in 0..asked.lines {
        log::write(log::Level::Info, &format!("line {number} {rest}"));
    }
    answer(&asked.lines)
});

#[derive(Deserialize)]
struct Amount {
    mib: usize,
}

tool!(CopyToHost, "copy_to_host", "Writes one huge line to the log.", Amount, |amount| {
    log::write(log::Level::Info, &"x".repeat(amount.mib << 20));
    answer(&amount.mib)
});

#[derive(Deserialize)]
struct Random {
    bytes: u64,
    times: u32,
}

tool!(RandomFlood, "random_flood", "Asks for many random bytes.", Random, |asked| {
    let mut got = 0_u64;
    for _ in 0..asked.times {
        got += wasip2::random::random::get_random_bytes(asked.bytes).len() as u64;
    }
    answer(&got)
});

tool!(InsecureFlood, "insecure_random_flood", "Asks for many cheap random bytes.", Random, |asked| {
    let mut got = 0_u64;
    for _ in 0..asked.times {
        got += wasip2::random::insecure::get_insecure_random_bytes(asked.bytes).len() as u64;
    }
    answer(&got)
});

#[derive(Serialize)]
struct Taken {
    stdout: u64,
    stderr: u64,
}

tool!(StdioFlood, "stdio_flood", "Writes much to standard output and error.", Amount, |amount| {
    answer(&Taken {
        stdout: flood(&wasip2::cli::stdout::get_stdout(), amount.mib),
        stderr: flood(&wasip2::cli::stderr::get_stderr(), amount.mib),
    })
});

/// Writes until the stream is closed or all is written; gives the bytes taken.
fn flood(stream: &OutputStream, mib: usize) -> u64 {
    let piece = [b'x'; 4096];
    let mut taken = 0;
    for _ in 0..mib * 256 {
        if stream.blocking_write_and_flush(&piece).is_err() {
            break;
        }
        taken += piece.len() as u64;
    }
    taken
}

ringfence_tool::export_tool!(LogFlood, CopyToHost, RandomFlood, InsecureFlood, StdioFlood);
