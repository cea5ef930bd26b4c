//! Tries to reach files that were not handed over, with every operation of `wasi:filesystem` and the path strings that
//! a test gives.

mod change;
mod look;
mod race;

ringfence_tool::export_tool!(
    look::Context,
    look::Open,
    look::OpenAll,
    look::Stat,
    change::Link,
    change::Symlink,
    change::Rename,
    change::Remove,
    change::MakeDirectory,
    change::SetTimes,
    change::ThroughReadHandle,
    race::Read,
    race::Write,
);
