//! One 4 KiB `read_file`: bare wasmtime, and through the toolbox. Compare the two of one run; absolute figures are the
//! machine's.

#![allow(missing_docs, reason = "criterion's macros make functions without")]

mod support;

use criterion::{Criterion, criterion_group, criterion_main};
use ringfence::sandbox::Limits;
use support::{Floor, Whole, workspace};

fn calls(c: &mut Criterion) {
    let workspace = workspace();
    let floor = Floor::new(workspace.path());
    let whole = Whole::new(workspace.path(), Limits::default());
    assert_eq!(floor.call(), whole.call(), "both read the same");
    let mut group = c.benchmark_group("read_file 4 KiB");
    group.bench_function("bare wasmtime", |b| b.iter(|| floor.call()));
    group.bench_function("toolbox", |b| b.iter(|| whole.call()));
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
