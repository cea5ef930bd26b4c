//! Takes memory, and looks into fresh memory for what an earlier call left.

use hostile::{Nothing, answer, tool};
use ringfence_tool::{Error, Output};
use serde::{Deserialize, Serialize};
use std::{
    arch::wasm32,
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering},
};

/// Pages of 64 KiB in a mebibyte.
const PAGES: usize = 16;
const MEBIBYTE: usize = 1 << 20;

#[derive(Deserialize)]
struct Amount {
    mib: usize,
}

#[derive(Serialize)]
struct Grown {
    grown_mib: usize,
    refused: bool,
}

tool!(GrowMemory, "grow_memory", "Grows its memory and goes on when that is refused.", Amount, |amount| {
    let grown_mib = (0..amount.mib).take_while(|_| wasm32::memory_grow::<0>(PAGES) != usize::MAX).count();
    answer(&Grown { grown_mib, refused: grown_mib < amount.mib })
});

tool!(Allocate, "allocate", "Allocates and touches memory; aborts when there is none.", Amount, |amount| {
    let pieces: Vec<Vec<u8>> = (0..amount.mib).map(|n| vec![n as u8 | 1; MEBIBYTE]).collect();
    answer(&black_box(pieces).len())
});

#[derive(Deserialize)]
struct Secret {
    text: String,
}

tool!(LeaveSecret, "leave_secret", "Fills 8 MiB of fresh memory with a text.", Secret, |secret| {
    let filled: Vec<u8> = secret.text.bytes().cycle().take(8 * MEBIBYTE).collect();
    answer(&black_box(filled).len())
});

#[derive(Serialize)]
struct Left {
    searched_mib: usize,
    bytes_that_are_not_zero: usize,
}

tool!(FindLeft, "find_left", "Looks for what is not zero in 16 MiB of fresh memory.", Nothing, |_| {
    let before = wasm32::memory_grow::<0>(16 * PAGES);
    if before == usize::MAX {
        return Err(Error::invalid("no memory"));
    }
    let fresh = std::ptr::with_exposed_provenance::<u8>(before * 65_536);
    // SAFETY: the 16 MiB that start there were just added to the memory; the allocator does not know of them.
    let fresh = unsafe { std::slice::from_raw_parts(fresh, 16 * MEBIBYTE) };
    let bytes_that_are_not_zero = fresh.iter().filter(|byte| **byte != 0).count();
    answer(&Left { searched_mib: 16, bytes_that_are_not_zero })
});

static CALLS: AtomicU32 = AtomicU32::new(0);

tool!(CountCalls, "count_calls", "Tells how often this instance was called.", Nothing, |_| {
    Ok(Output::text((CALLS.fetch_add(1, Ordering::Relaxed) + 1).to_string()))
});

ringfence_tool::export_tool!(GrowMemory, Allocate, LeaveSecret, FindLeft, CountCalls);
