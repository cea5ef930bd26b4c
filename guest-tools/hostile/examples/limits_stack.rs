//! Calls itself without end.

use hostile::{Nothing, answer, tool};
use std::hint::black_box;

fn deeper(depth: u64) -> u64 {
    // Used after the call, so that it is no loop.
    let frame = black_box([depth; 8]);
    if black_box(true) {
        return deeper(depth + 1).wrapping_add(frame[0]);
    }
    depth
}

/// As deep, but by pointers to functions, so that no compiler sees the cycle.
fn by_pointer(depth: u64) -> u64 {
    let next: fn(u64) -> u64 = black_box(by_pointer);
    next(depth + 1).wrapping_add(black_box(depth))
}

tool!(Recurse, "recurse", "Calls itself without end.", Nothing, |_| answer(&deeper(0)));
tool!(RecursePointers, "recurse_pointers", "The same by pointers.", Nothing, |_| answer(&by_pointer(0)));

ringfence_tool::export_tool!(Recurse, RecursePointers);
