//! What other programs call the keys of this one.

/// Words for a key, and the keys that may be meant: of these, the first that the table has.
const WORDS: &[(&[&str], &[&str])] = &[
    (
        &["max_turns", "turns", "iterations", "max_iterations", "main_iterations", "max_steps", "steps"],
        &["main_iterations", "max_iterations"],
    ),
    (&["tokens", "token_limit", "token_budget", "max_total_tokens"], &["max_tokens"]),
    (&["max_output_tokens", "output_tokens", "max_completion_tokens"], &["reply_tokens"]),
    (&["budget", "max_budget", "max_dollars", "cost", "cost_limit"], &["max_cost"]),
    (&["time", "max_time", "time_limit", "deadline", "timeout_seconds", "max_duration"], &["timeout"]),
    (
        &[
            "concurrency",
            "max_concurrent",
            "max_concurrency",
            "parallel",
            "max_parallel",
            "max_running",
            "workers",
        ],
        &["running"],
    ),
    (&["queue", "queue_size", "max_queue", "max_queued", "backlog", "waiting"], &["queued"]),
    (&["max_tasks", "max_per_session", "limit"], &["per_session"]),
    (&["max_jobs", "job_limit"], &["jobs"]),
    (&["max_jobs_per_session", "per_session"], &["jobs_per_session"]),
    (&["misfire_grace", "misfire_grace_time", "grace_period", "max_lateness", "late"], &["grace"]),
    (&["max_failures", "failure_limit", "retries", "max_retries"], &["failures"]),
    (&["subagent", "subagents", "background", "spawn"], &["tasks"]),
    (&["shell", "command", "commands", "bash", "tools_exec"], &["exec"]),
    (
        &["sandbox_level", "level", "minimum_level", "minlevel", "least_level", "require_level"],
        &["min_level"],
    ),
    (
        &[
            "allowed_env_keys",
            "allowedenvkeys",
            "env",
            "env_keys",
            "envkeys",
            "env_vars",
            "variables",
            "pass_env",
            "passenv",
            "env_passthrough",
        ],
        &["environment"],
    ),
    (
        &["sandbox_ro_binds", "sandboxrobinds", "ro_binds", "robinds", "ro_bind", "readonly", "readable"],
        &["read_only"],
    ),
    (
        &[
            "sandbox_rw_binds",
            "sandboxrwbinds",
            "rw_binds",
            "rwbinds",
            "rw_bind",
            "readwrite",
            "writable",
            "binds",
        ],
        &["read_write"],
    ),
    (&["pathprepend", "prepend_path", "path_prefix", "path"], &["path_prepend"]),
    (&["pathappend", "append_path", "path_suffix"], &["path_append"]),
    (&["memory_limit", "max_memory", "mem", "ram"], &["memory"]),
    (&["pids", "max_pids", "max_processes", "nproc", "threads"], &["processes"]),
    (&["max_file_size", "fsize", "file"], &["file_size"]),
    (&["nofile", "max_files", "open_files", "fds", "max_descriptors"], &["descriptors"]),
    (&["tmp", "tmp_size", "tmpfs", "tmpfs_size", "temp"], &["temporary"]),
    (&["cpu", "cpu_time", "cpu_seconds", "processor_time"], &["processor"]),
    (&["schedule", "scheduler", "schedules", "jobs"], &["cron"]),
    (&["role", "roles", "persona", "personas"], &["profiles"]),
    (&["permissions", "allow", "grants"], &["capabilities"]),
    (&["dir", "dirs", "path", "paths", "folders"], &["directories"]),
    (&["domains", "allowed_hosts", "allow_hosts", "network", "host"], &["hosts"]),
    (&["url", "endpoint", "api_base", "host"], &["base_url"]),
    (&["api_key", "token", "secret", "credentials"], &["key"]),
    (&["context", "context_length", "context_size", "max_context", "num_ctx"], &["context_window"]),
    (&["price", "pricing", "costs"], &["prices"]),
    (&["api", "protocol", "kind", "type", "format"], &["wire"]),
];

/// What somebody means who writes a word for a key.
pub(super) enum Meaning<'k> {
    /// This key.
    Key(&'k str),
    /// A key that the table does not have. One that is only spelled alike would lead astray.
    Elsewhere,
    /// Nobody knows.
    Unknown,
}

/// What `word` means in a table with these keys.
pub(super) fn meant<'k>(word: &str, known: &[&'k str]) -> Meaning<'k> {
    // Longer than any of them, and not worth a copy.
    if word.len() > 64 {
        return Meaning::Unknown;
    }
    let word = word.to_ascii_lowercase().replace('-', "_");
    let mut named = WORDS.iter().filter(|(words, _)| words.contains(&word.as_str())).peekable();
    if named.peek().is_none() {
        return Meaning::Unknown;
    }
    let mut keys = named.flat_map(|(_, keys)| keys.iter());
    let key = keys.find_map(|key| known.iter().find(|known| *known == key));
    key.map_or(Meaning::Elsewhere, |key| Meaning::Key(key))
}
