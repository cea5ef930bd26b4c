//! The configuration of model services: what is understood, what is refused, and where keys come from.

use ringfence::config::{Config, KeySource, Prices, ProviderConfig, TABLES, Wire, env};
use secrecy::ExposeSecret as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

const DOC: &str = include_str!("../../docs/configuration.md");

fn provider(lines: &str) -> Result<ProviderConfig, String> {
    Config::parse(&format!("[providers.x]\n{lines}\n"))
        .map(|mut config| config.providers.remove("x").unwrap())
}

#[track_caller]
fn refused(lines: &str, says: &str) {
    let problem = provider(lines).unwrap_err();
    assert!(problem.contains(says), "{problem}");
    assert!(problem.starts_with("providers.x"), "{problem}");
}

#[test]
fn a_provider_is_read_whole() {
    let text = r#"
        wire = "messages"
        base_url = "https://models.example.com/"
        model = "m"
        key = { env = "WORK_KEY" }
        context_window = 5000
        prices = { input = 2, output = 10.5 }
        headers = { x-team = "seven" }
        body = { thinking = { type = "adaptive" } }
        stream = false
        idle_seconds = 7
    "#;
    let expected = ProviderConfig {
        base_url: Some("https://models.example.com".to_owned()),
        key: Some(KeySource::Env("WORK_KEY".to_owned())),
        context_window: 5000,
        prices: Some(Prices { input: 2.0, cached: 2.0, output: 10.5 }),
        headers: [("x-team".to_owned(), "seven".to_owned())].into(),
        body: [("thinking".to_owned(), serde_json::json!({ "type": "adaptive" }))].into_iter().collect(),
        stream: false,
        idle_seconds: Some(7),
        ..ProviderConfig::new("x", Wire::Messages, "m")
    };
    assert_eq!(provider(text), Ok(expected));
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_forward() {
    refused("model = \"m\"", "`wire` is missing");
    refused("wire = \"chatt\"", "did you mean `chat`?");
    refused("wire = \"chat\"\nbase_ur = \"x\"", "did you mean `base_url`?");
    refused("wire = \"chat\"\nbase_url = \"models.example.com\"", "does not begin with https://");
    refused("wire = \"chat\"\nbase_url = \"https://a:b@models.example.com\"", "a password does not belong");
    refused("wire = \"chat\"\nbase_url = \"https://models.example.com/v1?key=1\"", "a query");
    refused("wire = \"chat\"\ncontext_window = 10", "at least 1000");
    refused("wire = \"chat\"\ncontext_window = \"10\"", "a whole number");
    refused("wire = \"chat\"\nprices = { input = 1 }", "`output` is missing");
    refused("wire = \"chat\"\nprices = { input = -1, output = 1 }", "at least 0");
    refused("wire = \"chat\"\nbody = { messages = [] }", "not free to choose");
    refused("wire = \"chat\"\nheaders = { Authorization = \"x\" }", "key = { env");
    refused("wire = \"scripted\"", "`script`");
    refused("wire = \"chat\"\nscript = \"x\"", "`script`");
    refused("wire = \"chat\"\nkey = { env = \"A\", file = \"/x\" }", "write key =");
    refused("wire = \"chat\"\nkey = { env = \"sk-123\" }", "the name of a variable");
    refused("wire = \"chat\"\nkey = { file = \"relative\" }", "an absolute path");
    refused("wire = \"chat\"\nkey = { command = [] }", "write key =");
}

#[test]
fn a_key_in_the_file_is_refused_and_not_repeated() {
    for line in ["key = \"sk-very-secret\"", "key = { env = \"sk-very-secret\" }"] {
        let problem = provider(&format!("wire = \"chat\"\n{line}")).unwrap_err();
        assert!(!problem.contains("secret"), "{problem}");
    }
}

#[test]
fn a_key_crosses_no_network_unencrypted_unless_told() {
    let lines = |url: &str| format!("wire = \"chat\"\nkey = {{ env = \"A\" }}\nbase_url = \"{url}\"");
    for url in [
        "http://models.example.com",
        "http://10.0.0.7:8000/v1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
    ] {
        refused(&lines(url), "plain_http = true");
        assert!(provider(&format!("{}\nplain_http = true", lines(url))).is_ok());
    }
    for url in
        ["https://models.example.com", "http://localhost:8000", "http://127.0.0.1/v1", "http://[::1]:8000/v1"]
    {
        assert!(provider(&lines(url)).is_ok(), "{url}");
    }
}

#[test]
fn a_known_service_needs_only_what_differs_and_its_key_stays_with_its_address() {
    let config = Config::parse("[providers.openai]\nmodel = \"m\"\n[providers.anthropic]\nbase_url = \"https://elsewhere.example\"\n").unwrap();
    let openai = &config.providers["openai"];
    assert_eq!((openai.wire, openai.model.as_str()), (Wire::Chat, "m"));
    assert_eq!(openai.base_url.as_deref(), Some("https://api.openai.com/v1"));
    assert_eq!(openai.key, Some(KeySource::Env("OPENAI_API_KEY".to_owned())));
    let moved = &config.providers["anthropic"];
    assert_eq!((moved.wire, &moved.key), (Wire::Messages, &None));
}

#[test]
fn a_turn_s_limits_are_read() {
    let config = Config::parse(
        "[agent]\nmain_iterations = 3\nmax_cost = 0.25\ntimeout = \"10m\"\ninstructions = false\n",
    )
    .unwrap();
    let agent = config.agent;
    assert_eq!((agent.main_iterations, agent.subagent_iterations, agent.reply_tokens), (3, 15, 8192));
    assert_eq!((agent.max_cost, agent.max_tokens), (Some(250_000), None));
    assert_eq!((agent.timeout, agent.instructions), (Some(Duration::from_secs(600)), false));
    for wrong in
        ["main_iterations = 0", "timeout = \"soon\"", "max_cost = -1", "max_cost = nan", "max_turns = 3"]
    {
        assert!(Config::parse(&format!("[agent]\n{wrong}\n")).unwrap_err().starts_with("agent"), "{wrong}");
    }
}

#[test]
fn flags_choose_before_the_file() {
    let config = Config::parse(
        "provider = \"a\"\nmodel = \"special\"\n[providers.a]\nwire = \"chat\"\nmodel = \"m-a\"\n\
         [providers.b]\nwire = \"messages\"\nmodel = \"m-b\"\n",
    )
    .unwrap();
    let chosen = |provider, model| {
        let config = config.choose_provider(provider, model).unwrap();
        (config.name, config.model)
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(chosen(None, None), pair("a", "special"));
    assert_eq!(chosen(Some("a"), None), pair("a", "special"));
    assert_eq!(chosen(Some("b"), None), pair("b", "m-b"));
    assert_eq!(chosen(Some("b"), Some("x")), pair("b", "x"));
    assert_eq!(chosen(Some("ollama"), Some("qwen3")), pair("ollama", "qwen3"));
    let problem = |provider| config.choose_provider(Some(provider), None).unwrap_err().to_string();
    assert!(problem("openrouterr").contains("did you mean `openrouter`?"));
    assert!(problem("zzzzzzzzzzzz").contains("there are a, b, anthropic"));
    assert!(problem("ollama").contains("--model"));
}

#[test]
fn key_files_must_be_private_regular_and_not_empty() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let set = |text: &str, mode: u32| {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let source = KeySource::File(path.clone());
    set("  sk-1 \nsecond line\n", 0o600);
    assert_eq!(source.resolve().unwrap().expose_secret(), "sk-1");
    for mode in [0o644, 0o640, 0o604, 0o620] {
        set("sk-1\n", mode);
        let error = source.resolve().unwrap_err();
        assert!(error.problem.contains(&format!("chmod 600 {}", path.display())), "{error}");
    }
    set("\n", 0o400);
    assert_eq!(source.resolve().unwrap_err().problem, "it is empty");
    assert!(KeySource::File(dir.path().to_owned()).resolve().is_err());
    assert!(KeySource::File(dir.path().join("none")).resolve().is_err());
    // A pipe that nobody writes to is no reason to wait.
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg("-m600").arg(&pipe).status().unwrap().success());
    assert_eq!(KeySource::File(pipe).resolve().unwrap_err().problem, "it is not a regular file");
}

#[test]
fn a_command_s_first_line_is_the_key() {
    let source = |words: &[&str]| KeySource::Command(words.iter().map(|word| (*word).to_owned()).collect());
    let key = source(&["printf", "sk-1\\nmore\\n"]).resolve().unwrap();
    assert_eq!(key.expose_secret(), "sk-1");
    // No shell: a word is a word.
    assert_eq!(source(&["printf", "%s", "$(id)"]).resolve().unwrap().expose_secret(), "$(id)");
    let error = source(&["false", "sk-hidden"]).resolve().unwrap_err();
    assert_eq!(error.to_string(), "no key from the command `false`: it failed with exit code 1");
    assert!(source(&["true"]).resolve().unwrap_err().problem.contains("empty"));
    assert!(source(&["/no/such/program"]).resolve().unwrap_err().problem.contains("does not start"));
}

/// The rows of the documentation: the heading's table, the key and its example.
fn rows() -> Vec<(String, String, String)> {
    let mut table = None;
    let mut rows = Vec::new();
    for line in DOC.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            table = match heading.trim_matches('`') {
                "The file itself" => Some(String::new()),
                heading => heading.strip_prefix('[').map(|heading| heading.trim_end_matches(']').to_owned()),
            };
        }
        if let (Some(table), true) = (&table, line.starts_with("| `")) {
            let cells: Vec<&str> = line.split(" | ").collect();
            let code = |cell: &str| cell.trim_matches(['|', ' ']).trim_matches('`').to_owned();
            rows.push((table.clone(), code(cells[0]), code(cells[1])));
        }
    }
    rows
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_understood() {
    let rows = rows();
    for (table, keys) in TABLES {
        for key in *keys {
            assert!(rows.iter().any(|(t, k, _)| t == table && k == key), "[{table}] {key} is not documented");
        }
    }
    for (table, key, example) in rows {
        let known = TABLES.iter().find(|(name, _)| *name == table).unwrap_or_else(|| panic!("[{table}]")).1;
        assert!(known.contains(&key.as_str()), "[{table}] {key} does not exist");
        // What the key cannot be without.
        let beside: &[(&str, &str)] = match (table.as_str(), key.as_str()) {
            ("providers.NAME", "script") => &[("wire", "\"scripted\"")],
            ("providers.NAME", _) => &[("wire", "\"chat\"")],
            ("providers.NAME.prices", _) => &[("input", "1"), ("output", "1")],
            ("profiles.NAME", _) => &[("role", "\"main\"")],
            _ => &[],
        };
        let mut text = String::new();
        if table.ends_with("prices") {
            text.push_str("[providers.NAME]\nwire = \"chat\"\n");
        }
        if !table.is_empty() {
            text.push_str(&format!("[{table}]\n"));
        }
        text.push_str(&format!("{key} = {example}\n"));
        for (other, value) in beside.iter().filter(|(other, _)| *other != key) {
            text.push_str(&format!("{other} = {value}\n"));
        }
        let parsed = Config::parse(&text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        // The example says something: it is not what a file without the key says.
        let without = Config::parse(&text.replacen(&format!("{key} = {example}\n"), "", 1));
        let is_default = matches!(
            key.as_str(),
            "providers" | "agent" | "tasks" | "cron" | "exec" | "profiles" | "plain_http"
        );
        assert!(is_default || without.as_ref() != Ok(&parsed), "{text} changes nothing");
    }
}

#[test]
fn the_example_in_the_documentation_is_understood() {
    let blocks: Vec<&str> =
        DOC.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let (first, others) = blocks.split_first().unwrap();
    let config = Config::parse(first).unwrap();
    assert_eq!(config.choose_provider(None, None).unwrap().name, "work");
    assert_eq!(config.providers["ollama"].base_url.as_deref(), Some("http://localhost:11434/v1"));
    // The others show a table each.
    for block in others {
        let config = Config::parse(block).unwrap_or_else(|problem| panic!("{block}: {problem}"));
        assert_ne!(config, Config::default(), "{block}");
    }
}

#[test]
fn every_variable_is_documented() {
    for variable in env::ALL {
        let row = format!("| `{}` | {} |", variable.name, variable.help);
        assert!(DOC.contains(&row), "{row}");
    }
}
