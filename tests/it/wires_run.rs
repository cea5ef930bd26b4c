//! The program itself against a model service: keys and proxies of the environment, and what is said without a service.

use crate::support::{Model, Program, Ran, Says};

fn fine() -> Says {
    Says::events(&[r#"{"choices":[{"delta":{"content":"All is well."},"finish_reason":"stop"}]}"#, "[DONE]"])
}

fn run(program: &Program, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = program.command();
    command.envs(variables.iter().copied()).arg("run").args(arguments);
    Ran::of(command.output().unwrap())
}

#[test]
fn a_key_in_the_environment_is_enough() {
    let service = Model::start([fine()]);
    let variables = [("OPENAI_API_KEY", "sk-very-secret"), ("OPENAI_BASE_URL", &service.url())];
    let ran = run(&Program::bare(), &variables, &["is all well?"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "All is well."), "{ran:?}");
    let asked = &service.asked()[0];
    assert_eq!(asked.line, "POST /chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer sk-very-secret"));
    assert!(asked.body["messages"].to_string().contains("is all well?"));
}

#[test]
fn a_key_that_is_not_taken_ends_the_run_and_is_not_shown() {
    let service = Model::start([Says::json(401, r#"{"error":{"message":"bad key sk-very-secret"}}"#)]);
    let variables = [
        ("OPENAI_API_KEY", "sk-very-secret"),
        ("OPENAI_BASE_URL", &service.url()),
        ("RINGFENCE_LOG", "trace"),
    ];
    let ran = run(&Program::bare(), &variables, &["hello"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{ran:?}");
    assert!(!ran.stderr.contains("very-secret") && !ran.stdout.contains("very-secret"), "{ran:?}");
}

#[test]
fn without_any_service_the_two_quickest_ways_are_named() {
    let ran = run(&Program::bare(), &[], &["hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
    assert!(
        ran.stderr.contains("export ANTHROPIC_API_KEY=") && ran.stderr.contains("ringfence demo"),
        "{ran:?}"
    );
}

#[test]
fn variables_choose_before_the_file() {
    let service = Model::start([fine()]);
    let program = Program::bare();
    program.configure(&format!(
        "provider = \"a\"\n[providers.a]\nwire = \"chat\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:1\"\n\
         [providers.b]\nwire = \"chat\"\nmodel = \"y\"\nbase_url = \"{}\"\n",
        service.url()
    ));
    let ran = run(&program, &[("RINGFENCE_PROVIDER", "b"), ("RINGFENCE_MODEL", "z")], &["hello"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(service.asked()[0].body["model"], "z");
}

#[test]
fn a_proxy_of_the_environment_is_used_but_not_to_this_machine() {
    let proxy = Model::start([fine()]);
    let program = Program::bare();
    let table = |url: &str| format!("[providers.a]\nwire = \"chat\"\nmodel = \"x\"\nbase_url = \"{url}\"\n");
    program.configure(&table("http://models.example/v1"));
    let ran = run(&program, &[("http_proxy", &proxy.url())], &["hello"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(proxy.asked()[0].line, "POST http://models.example/v1/chat/completions");

    let service = Model::start([fine()]);
    program.configure(&table(&service.url()));
    let ran = run(&program, &[("http_proxy", &proxy.url())], &["hello"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((proxy.asked().len(), service.asked().len()), (1, 1));
}
