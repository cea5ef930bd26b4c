//! Ends in ways that are no answer.

use hostile::{Nothing, tool};
use ringfence_tool::Output;
use serde::Deserialize;
use std::hint::black_box;

tool!(Panic, "panic", "Panics.", Nothing, |_| panic!("a tool that panics"));

tool!(Unreachable, "unreachable", "Executes an instruction that traps.", Nothing, |_| {
    std::arch::wasm32::unreachable()
});

tool!(OutOfBounds, "out_of_bounds", "Reads beyond its memory.", Nothing, |_| {
    let beyond = std::ptr::with_exposed_provenance::<u8>(black_box(0xffff_fff0));
    // SAFETY: none; the point is that the engine catches it. A read beyond the memory traps and returns nothing.
    let byte = unsafe { beyond.read_volatile() };
    Ok(Output::text(byte.to_string()))
});

#[derive(Deserialize)]
struct Exit {
    success: bool,
}

tool!(Leave, "exit", "Asks the host to end the program.", Exit, |exit| {
    wasip2::cli::exit::exit(if exit.success { Ok(()) } else { Err(()) });
    Ok(Output::text("still here"))
});

tool!(Work, "work", "Works.", Nothing, |_| Ok(Output::text("worked")));

ringfence_tool::export_tool!(Panic, Unreachable, OutOfBounds, Leave, Work);
