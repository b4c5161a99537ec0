//! Every command that changes something, in every situation in which it can be stopped: how many changing requests it sends, and
//! its exit code. `every_change.txt` has one line per change and one column per situation.

use crate::documents::COMMANDS;
use runtail_testkit::process::{Done, command, launch};
use runtail_testkit::still_world::{Fate, Since, StillWorld, with_ids};
use runtail_testkit::table;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use url::Url;

const TABLE: &str = include_str!("every_change.txt");
/// The width of the first column.
const LABEL: usize = 34;

/// The changes: the profile, a name where the command alone is ambiguous, the arguments, and the end of the path of the requests
/// that are broken where not all are.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    ("plane", "", "deployments create -f new.json", ""),
    (
        "plane",
        "",
        "deployments update $DEP --build-on-push false",
        "",
    ),
    ("plane", "", "deployments delete $DEP --confirm bot", ""),
    ("plane", "", "revisions redeploy $DEP $SERVING", ""),
    ("plane", "", "revisions rollback $DEP $FIRST --yes", ""),
    ("plane", "", "revisions interrupt $DEP $NEWEST --yes", ""),
    (
        "plane",
        "",
        "listeners create --compute-id new --namespace a",
        "",
    ),
    ("plane", "", "listeners update $LISTENER --namespace b", ""),
    (
        "plane",
        "",
        "listeners delete $LISTENER --confirm cluster",
        "",
    ),
    ("plane", "", "auth authenticate --provider github", ""),
    (
        "plane",
        "",
        "auth providers create --provider-id new --name N --client-id c --auth-url https://a.example --token-url https://t.example",
        "",
    ),
    (
        "plane",
        "",
        "auth providers discover --provider-id new --name N --mcp-server-url https://m.example",
        "",
    ),
    ("plane", "", "auth providers update github --name N", ""),
    (
        "plane",
        "",
        "auth providers delete github --confirm github",
        "",
    ),
    (
        "plane",
        "one",
        "auth tokens delete $TOKEN --confirm ana",
        "",
    ),
    (
        "plane",
        "of a provider",
        "auth tokens delete --provider github --confirm github",
        "",
    ),
    ("agent", "", "threads create", ""),
    ("agent", "", "threads copy $IDLE", ""),
    ("agent", "", "threads label $IDLE --name mine", ""),
    ("agent", "", "threads cancel $BUSY --yes", ""),
    ("agent", "", "threads delete $IDLE --yes", ""),
    ("agent", "", "threads prune $IDLE --yes", ""),
    ("agent", "", "threads retry $FAILED --yes", ""),
    (
        "agent",
        "edit, 1st",
        "threads retry $FAILED --values {\"note\":\"y\"} --yes",
        "/state",
    ),
    (
        "agent",
        "edit, 2nd",
        "threads retry $FAILED --values {\"note\":\"y\"} --yes",
        "/runs",
    ),
    ("agent", "", "assistants restore $ASSISTANT 1 --yes", ""),
    ("agent", "", "crons create $ASSISTANT --schedule @daily", ""),
    (
        "agent",
        "of a thread",
        "crons create $ASSISTANT --schedule @daily --thread $IDLE",
        "",
    ),
    (
        "agent",
        "",
        "crons update $CRON --timezone Europe/Berlin",
        "",
    ),
    ("agent", "", "crons pause $CRON", ""),
    ("agent", "", "crons resume $PAUSED", ""),
    ("agent", "", "crons delete $CRON --yes", ""),
    ("agent", "", "store put a k {\"x\":2}", ""),
    ("agent", "", "store delete a k --yes", ""),
    ("agent", "one", "runs cancel $BUSY $RUN --yes", ""),
    ("agent", "all", "runs cancel $BUSY --all --yes", ""),
    (
        "agent",
        "roll back",
        "runs cancel $BUSY $RUN --action rollback --yes",
        "",
    ),
    ("agent", "1st", "run agent --input {}", "/threads"),
    ("agent", "2nd", "run agent --input {}", "/stream"),
    ("agent", "thread", "run agent --input {} --thread $IDLE", ""),
    (
        "agent",
        "over another",
        "run agent --input {} --thread $BUSY --on-conflict interrupt --yes",
        "",
    ),
    (
        "agent",
        "resume",
        "run agent --resume {\"decisions\":[{\"type\":\"approve\"}]} --thread $ASKING",
        "",
    ),
    ("agent", "stateless", "run agent --input {} --stateless", ""),
    ("agent", "", "answer $ASKING --approve", ""),
    ("agent", "rules", "answer --rules --yes", ""),
    ("agent", "", "fork $IDLE --checkpoint $C2", ""),
    (
        "agent",
        "input",
        "fork $IDLE --checkpoint $C2 --input {}",
        "",
    ),
    (
        "agent",
        "edit, 1st",
        "fork $IDLE --checkpoint $C2 --update {\"note\":\"y\"}",
        "/state",
    ),
    (
        "agent",
        "edit, 2nd",
        "fork $IDLE --checkpoint $C2 --update {\"note\":\"y\"}",
        "/runs",
    ),
    ("agent", "", "rerun $IDLE $RUN", ""),
    ("agent", "", "reproduce $IDLE --to there/bot", ""),
    (
        "agent",
        "state, 1st",
        "reproduce $IDLE --to there/bot --state",
        "/threads",
    ),
    (
        "agent",
        "state, 2nd",
        "reproduce $IDLE --to there/bot --state",
        "/state",
    ),
    ("agent", "", "state set $IDLE --values {\"note\":\"y\"}", ""),
    (
        "agent",
        "end",
        "state set $ASKING --values null --as-node __end__",
        "",
    ),
    ("agent", "release", "state set $STUCK --values null", ""),
    (
        "",
        "1st",
        "compare agent/bot there/bot --run agent --input {}",
        "/threads",
    ),
    (
        "",
        "2nd",
        "compare agent/bot there/bot --run agent --input {}",
        "/runs",
    ),
];

/// Commands that send no changing request.
const READING: &[&str] = &[
    "auth providers get",
    "auth providers list",
    "auth tokens list",
    "auth wait",
    "assistants diff",
    "assistants get",
    "assistants graph",
    "assistants list",
    "assistants schemas",
    "assistants versions",
    "bisect",
    "completions",
    "config import",
    "config init",
    "config path",
    "config schema",
    "config show",
    "crons get",
    "crons list",
    "deployments get",
    "deployments list",
    "doctor",
    "inbox",
    "integrations list",
    "integrations repos",
    "join",
    "listeners get",
    "listeners list",
    "logs",
    "man",
    "redact",
    "replay",
    "revisions diff",
    "revisions explain",
    "revisions get",
    "revisions list",
    "revisions wait",
    "runs get",
    "runs list",
    "sim",
    "skill",
    "store get",
    "store namespaces",
    "store search",
    "tail",
    "threads count",
    "threads get",
    "threads history",
    "threads list",
    "threads state",
    "verify",
];

/// Changes that don't look at their target again right before they are sent.
const UNGUARDED: &[&str] = &["threads create", "threads copy", "runs cancel", "run"];

/// The columns of the table.
const SITUATIONS: [(&str, Situation); 13] = [
    ("dry run", Situation::DryRun),
    ("done", Situation::Server(Fate::Done)),
    ("no yes", Situation::Unconfirmed),
    ("sealed", Situation::ReadOnly),
    ("403", Situation::Server(Fate::Refused(403))),
    ("409", Situation::Server(Fate::Refused(409))),
    ("422", Situation::Server(Fate::Refused(422))),
    ("429", Situation::Server(Fate::Refused(429))),
    ("500", Situation::Server(Fate::Refused(500))),
    ("cut", Situation::Server(Fate::NoAnswer)),
    ("half", Situation::Server(Fate::HalfAnswer)),
    ("changed", Situation::Since(Since::Changed)),
    ("run", Situation::Since(Since::RunStarted)),
];

#[derive(Clone, Copy, PartialEq)]
enum Situation {
    DryRun,
    /// The command needs a confirmation and gets none.
    Unconfirmed,
    /// The profile is read-only.
    ReadOnly,
    /// The server answers like this.
    Server(Fate),
    /// Another client acts after what a dry run reads.
    Since(Since),
}

/// A finished command and the server that it used.
struct Ended {
    done: Done,
    world: StillWorld,
}

impl Ended {
    /// Returns the number of changing requests and the exit code.
    fn cell(&self) -> String {
        let code = self
            .done
            .code
            .map_or("signal".to_string(), |code| code.to_string());
        format!("{}:{code}", self.world.writes().len())
    }
}

/// Runs a change in a situation. `planned` is how often its dry run reads each path.
fn run(
    change: &(&str, &str, &str, &'static str),
    situation: Situation,
    planned: &HashMap<String, usize>,
) -> Ended {
    let (profile, _, words, broken) = *change;
    let fate = if let Situation::Server(fate) = situation {
        fate
    } else {
        Fate::Done
    };
    let world = StillWorld::start(fate, broken);
    if let Situation::Since(since) = situation {
        world.change(since, planned.clone());
    }
    let (folder, config) = world.config(if situation == Situation::ReadOnly {
        "read_only = true"
    } else {
        ""
    });
    let mut args = vec!["--config".to_string(), config];
    if !profile.is_empty() {
        args.extend(["-p".to_string(), profile.to_string()]);
    }
    let mut words: Vec<String> = words.split(' ').map(|word| with_ids(word, true)).collect();
    match situation {
        Situation::DryRun => words.push("--dry-run".into()),
        Situation::Unconfirmed => words = unconfirmed(words),
        _ => {}
    }
    let mut command = command(args.into_iter().chain(words));
    command
        .current_dir(folder.path())
        .env("RUNTAIL_TEST_KEY", "a-key");
    let done = launch(command, "").wait();
    Ended { done, world }
}

/// Removes the confirmation.
fn unconfirmed(mut words: Vec<String>) -> Vec<String> {
    if let Some(at) = words.iter().position(|word| word == "--confirm") {
        words.drain(at..at + 2);
    }
    words.retain(|word| word != "--yes");
    words
}

/// Returns the line of a change.
fn line(change: &(&str, &str, &str, &'static str)) -> String {
    let (_, name, words, _) = change;
    let command = command_of(words);
    let mut line = if name.is_empty() {
        command.to_string()
    } else {
        format!("{command} ({name})")
    };
    line = format!("{line:LABEL$}");
    let (mut planned, mut shown, mut requests) = (None, Vec::new(), Vec::new());
    for (title, situation) in SITUATIONS {
        let is_needless = match situation {
            Situation::Unconfirmed => !words.contains("--yes") && !words.contains("--confirm"),
            Situation::Since(_) if UNGUARDED.contains(&command) => true,
            Situation::Since(Since::RunStarted) => planned.is_none() || !is_of_thread(words),
            Situation::Since(_) => planned.is_none() || change.0.is_empty(),
            _ => false,
        };
        let mut cell = "-".to_string();
        if !is_needless {
            let ended = run(
                change,
                situation,
                planned.as_ref().unwrap_or(&HashMap::new()),
            );
            cell = ended.cell();
            match situation {
                // The command has no such option.
                Situation::DryRun if ended.done.stderr.contains("unexpected argument") => {
                    cell = "-".into()
                }
                Situation::DryRun => {
                    planned = Some(ended.world.reads());
                    shown = shown_requests(&ended.done.stdout);
                }
                Situation::Server(Fate::Done) => requests = ended.world.writes(),
                _ => {}
            }
        }
        let _ = write!(line, " {cell:>width$}", width = width_of(title));
    }
    requests.sort();
    assert!(
        shown.is_empty() || shown == requests,
        "{words}: the dry run shows {shown:?}, and {requests:?} are sent"
    );
    format!("{line}  {}", requests.join(", "))
}

/// Returns the requests of the previews that a dry run printed.
fn shown_requests(stdout: &str) -> Vec<String> {
    let of = |request: &Value| {
        let url = Url::parse(request["url"].as_str().expect("a URL")).expect("a URL");
        let method = request["method"].as_str().expect("a method");
        format!("{method} {}", with_ids(url.path(), false))
    };
    let mut requests = Vec::new();
    for line in stdout.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        if row["kind"] == "preview" {
            requests.push(of(&row["request"]));
            let then = &row["then"];
            let several = then.as_array().into_iter().flatten();
            requests.extend(several.chain(then.is_object().then_some(then)).map(of));
        }
    }
    requests.sort();
    requests
}

fn width_of(title: &str) -> usize {
    title.len().max(3)
}

/// Returns whether a change is about a thread that exists.
fn is_of_thread(words: &str) -> bool {
    words.contains("--rules")
        || ["$IDLE", "$FAILED", "$ASKING", "$BUSY", "$STUCK"]
            .iter()
            .any(|id| words.contains(id))
}

/// Returns the command that the words begin with: everything before the first argument.
fn command_of(words: &str) -> &str {
    let lengths = words
        .match_indices(' ')
        .map(|(at, _)| at)
        .chain([words.len()]);
    let known = commands();
    lengths
        .map(|at| &words[..at])
        .rfind(|start| known.iter().any(|command| command == start))
        .unwrap_or(words)
}

/// Returns all commands, from the headings of the page that is generated from their help.
fn commands() -> Vec<String> {
    let headings = COMMANDS.lines().filter(|line| line.starts_with("###"));
    let names: Vec<&str> = headings
        .map(|line| line.trim_start_matches('#').trim())
        .collect();
    let is_group = |name: &str| {
        names.iter().any(|other| {
            other
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    };
    names
        .iter()
        .filter(|name| !is_group(name))
        .map(|name| (*name).to_string())
        .collect()
}

#[test]
fn every_command_is_a_change_or_only_reads() {
    let changes: Vec<&str> = CHANGES.iter().map(|change| command_of(change.2)).collect();
    for command in commands() {
        let is_change = changes.contains(&command.as_str());
        assert!(
            is_change != READING.contains(&command.as_str()),
            "{command}: in one of CHANGES and READING"
        );
    }
}

#[test]
fn every_change_is_sent_once_or_not_at_all() {
    let columns = SITUATIONS.map(|(title, _)| (title, width_of(title)));
    table::check(TABLE, LABEL, &columns, CHANGES, line);
}
