//! What the tools that speak to the host share. Each of them has bindings of its own, so that it imports its interface and no
//! other one; these are macros over the generated types.

/// Defines `told`, which makes an error of a host interface one of the tool. Takes the path of the generated module
/// `ringfence:host/types`.
#[macro_export]
macro_rules! host_errors {
    ($($types:ident)::+) => {
        fn told(error: $($types)::+::Error) -> $crate::Error {
            use $($types)::+::ErrorKind as Theirs;
            let kind = match error.kind {
                Theirs::Invalid => $crate::ErrorKind::InvalidArguments,
                Theirs::NotFound => $crate::ErrorKind::NotFound,
                Theirs::Denied => $crate::ErrorKind::Denied,
                Theirs::Limit => $crate::ErrorKind::Conflict,
                Theirs::Timeout | Theirs::Unavailable => $crate::ErrorKind::Unavailable,
                Theirs::Failed => $crate::ErrorKind::Failed,
            };
            $crate::Error::new(kind, error.message)
        }
    };
}

/// Defines `state`, the word for how far a run is, and `ended`, whether it can change no more. Takes the path of the
/// generated module `ringfence:host/types`.
#[macro_export]
macro_rules! run_states {
    ($($types:ident)::+) => {
        fn state(execution: $($types)::+::Execution) -> &'static str {
            use $($types)::+::Execution as Of;
            match execution {
                Of::Queued => "queued",
                Of::Running => "running",
                Of::WaitingApproval => "waiting-approval",
                Of::Succeeded => "succeeded",
                Of::Incomplete => "incomplete",
                Of::Failed => "failed",
                Of::TimedOut => "timed-out",
                Of::Cancelled => "cancelled",
                Of::Lost => "lost",
            }
        }

        fn ended(execution: $($types)::+::Execution) -> bool {
            use $($types)::+::Execution as Of;
            !matches!(execution, Of::Queued | Of::Running | Of::WaitingApproval)
        }
    };
}
