//! All integration tests, in one binary.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "tests look at the world from outside of the walls, and fail by panicking"
)]

mod architecture;
