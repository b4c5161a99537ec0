//! `packaging/action.py`, run as a workflow runs the step of `action.yml`.

use runtail_testkit::process::{Done, binary, launch};
use runtail_testkit::says::Says;
use runtail_testkit::scripted::{CANARY, Reply, Scripted, refuse, status};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// What the step leaves behind.
struct Step {
    done: Done,
    outputs: String,
    summary: String,
}

/// Runs the step with these variables. The key must be printed nowhere but in the command that masks it.
fn step(variables: &[(&str, &str)]) -> Step {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/action.py"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path())
        .env("RUNNER_TEMP", folder.path())
        .env("GITHUB_OUTPUT", file("outputs"))
        .env("GITHUB_STEP_SUMMARY", file("summary"))
        .env("INPUT_BINARY", binary())
        .env("INPUT_DEPLOYMENT", "bot")
        .env("INPUT_INTERVAL", "100ms")
        .env("INPUT_TIMEOUT", "60s")
        .env("LANGSMITH_API_KEY", CANARY);
    for (name, value) in variables {
        command.env(name, value);
    }
    let done = launch(command, "").wait();
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap_or_default();
    let step = Step {
        outputs: read("outputs"),
        summary: read("summary"),
        done,
    };
    let shown = step
        .done
        .stdout
        .replace(&format!("::add-mask::{CANARY}\n"), "");
    for text in [&shown, &step.done.stderr, &step.outputs, &step.summary] {
        assert!(!text.contains("canary"), "{text}");
    }
    step
}

/// Runs the step against a control plane.
fn wait(server: &Scripted, variables: &[(&str, &str)]) -> Step {
    let url = server.url();
    step(&[&[("INPUT_URL", url.as_str())], variables].concat())
}

#[test]
#[ignore = "needs Python: cargo test --test cli action -- --ignored"]
fn a_deployed_revision_sets_the_outputs() {
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), status("DEPLOYED")])]);
    let record = json!({"id": "bot", "name": "bot", "url": "https://bot.example.com"});
    let list = json!({"resources": [record]}).to_string();
    server.reply("", &[Reply::Http(200, "", list)]);
    let step = wait(&server, &[]);
    step.done
        .expect(0)
        .stdout
        .has("action/bot r-bot: BUILDING\n");
    let expected = "outcome=deployed\nstatus=DEPLOYED\nrevision=r-bot\nurl=https://bot.example.com\nresults=[{\"kind\": \"result\"";
    assert!(step.outputs.starts_with(expected), "{}", step.outputs);
    step.summary.has("1 of 1 deployed");
}

#[test]
#[ignore = "needs Python: cargo test --test cli action -- --ignored"]
fn a_failure_keeps_its_exit_code() {
    for (replies, variables, code, outcome) in [
        (&[status("BUILD_FAILED")][..], &[][..], 1, "failed"),
        (
            &[status("BUILDING")],
            &[("INPUT_TIMEOUT", "300ms")],
            4,
            "deadline",
        ),
        (&[refuse(401)], &[], 3, "unauthorized"),
    ] {
        let server = Scripted::control_plane(&[("bot", replies)]);
        let step = wait(&server, variables);
        let done = step.done.expect(code);
        done.stdout.has(&format!("\n::error::bot: {outcome}"));
        assert!(
            step.outputs.starts_with(&format!("outcome={outcome}\n")),
            "{}",
            step.outputs
        );
        step.outputs.has("\nurl=\n");
        step.summary.has("0 of 1 deployed");
    }
}

/// A status or a log is a server's text: it must neither set an output nor be a command to the runner.
#[test]
#[ignore = "needs Python: cargo test --test cli action -- --ignored"]
fn a_servers_text_is_no_workflow_command() {
    let hostile = "BUILD\noutcome=deployed\n::error::%0A_FAILED";
    let server = Scripted::control_plane(&[("bot", &[status(hostile)])]);
    let log = json!({"logs": [{"id": "1", "timestamp": "2026-11-20T09:00:00Z", "message": "::set-output name=url::evil", "level": "ERROR"}]});
    server.reply(
        "/bot/revisions/r-bot/build_logs",
        &[Reply::Http(200, "", log.to_string())],
    );
    let step = wait(&server, &[("INPUT_LOGS", "true")]);
    let stdout = step.done.expect(1).stdout;
    let (mut token, mut stopped) = (None, 0);
    for line in stdout.lines() {
        match (&token, line.strip_prefix("::stop-commands::")) {
            (None, Some(new)) => (token, stopped) = (Some(format!("::{new}::")), stopped + 1),
            (Some(end), _) if line == end => token = None,
            (Some(_), _) => {}
            (None, None) => assert!(
                [
                    "::add-mask::",
                    "::error::bot: failed (BUILD",
                    "::group::",
                    "::endgroup::"
                ]
                .iter()
                .any(|own| line.starts_with(own)),
                "{line}"
            ),
        }
    }
    assert_eq!((token, stopped), (None, 2), "{stdout}");
    stdout.has("::error::bot: failed (BUILD%0Aoutcome=deployed%0A::error::%250A_FAILED)\n");
    let names: Vec<&str> = step
        .outputs
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert_eq!(names, ["outcome", "status", "revision", "url", "results"]);
}

#[test]
#[ignore = "needs Python: cargo test --test cli action -- --ignored"]
fn wrong_inputs_are_usage_errors() {
    for (variables, why) in [
        (
            &[("INPUT_DEPLOYMENT", " ")][..],
            "the input deployment is empty",
        ),
        (&[("LANGSMITH_API_KEY", "")], "there is no key"),
        (
            &[("INPUT_CONFIG", "a.toml"), ("INPUT_REGION", "eu")],
            "region can't be combined with config",
        ),
        (
            &[("INPUT_REGION", "eu"), ("INPUT_URL", "http://127.0.0.1:9")],
            "region and url exclude each other",
        ),
        (&[("INPUT_REGION", "mars\"\n[x")], "unknown region"),
        (&[("INPUT_TIMEOUT", "soon")], "expected a duration"),
        (
            &[("INPUT_BINARY", "/nowhere/runtail")],
            "cannot start /nowhere/runtail",
        ),
        (
            &[("INPUT_BINARY", ""), ("INPUT_VERSION", "../1")],
            "not a version such as 1.2.3",
        ),
    ] {
        step(variables).done.expect(2).stdout.has(why);
    }
}

#[test]
#[ignore = "needs Python: cargo test --test cli action -- --ignored"]
fn a_release_is_installed_if_its_checksum_is_right() {
    let system = if cfg!(target_os = "macos") {
        "apple-darwin"
    } else {
        "unknown-linux-musl"
    };
    let name = format!("runtail-{}-{system}", std::env::consts::ARCH);
    let releases = tempfile::tempdir().unwrap();
    let release = releases.path().join("v1.2.3");
    let script = "mkdir -p $0/$1 && cd $0 && printf '#!/bin/sh\nexit 3\n' >$1/runtail && chmod +x $1/runtail && tar -czf $1.tar.gz $1 \
                  && (sha256sum $1.tar.gz || shasum -a 256 $1.tar.gz) >$1.tar.gz.sha256";
    let made = Command::new("sh")
        .args(["-c", script])
        .arg(&release)
        .arg(&name)
        .status();
    assert!(made.unwrap().success());
    let url = format!("file://{}", releases.path().display());
    let install = |version| {
        step(&[
            ("INPUT_BINARY", ""),
            ("INPUT_VERSION", version),
            ("RUNTAIL_RELEASES", &url),
        ])
        .done
    };
    install("v1.2.3").expect(3);
    install("1.2.4").expect(5).stdout.has("cannot download");
    std::fs::write(release.join(format!("{name}.tar.gz.sha256")), "0 *x\n").unwrap();
    install("1.2.3")
        .expect(2)
        .stdout
        .has("is not the released one");
}
