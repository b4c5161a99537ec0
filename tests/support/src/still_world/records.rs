//! The records of the world, as they were and as another client left them.

use super::Since;
use serde_json::{Value, json};

/// The ids that tests write by name, such as `$IDLE`.
pub const IDS: &[(&str, &str)] = &[
    ("$DEP", "d0000000-0000-4000-8000-000000000001"),
    ("$FIRST", "d0000000-0000-4000-8000-00000000000a"),
    ("$SERVING", "d0000000-0000-4000-8000-00000000000b"),
    ("$NEWEST", "d0000000-0000-4000-8000-00000000000c"),
    ("$LISTENER", "e0000000-0000-4000-8000-000000000001"),
    ("$TOKEN", "e0000000-0000-4000-8000-000000000002"),
    ("$LINK", "e0000000-0000-4000-8000-000000000003"),
    ("$ASSISTANT", "a0000000-0000-4000-8000-000000000001"),
    ("$CRON", "a0000000-0000-4000-8000-000000000002"),
    ("$PAUSED", "a0000000-0000-4000-8000-000000000003"),
    ("$IDLE", "b0000000-0000-4000-8000-000000000001"),
    ("$FAILED", "b0000000-0000-4000-8000-000000000002"),
    ("$ASKING", "b0000000-0000-4000-8000-000000000003"),
    ("$BUSY", "b0000000-0000-4000-8000-000000000004"),
    ("$STUCK", "b0000000-0000-4000-8000-000000000005"),
    ("$RUN", "c0000000-0000-4000-8000-000000000001"),
    ("$OTHER", "c0000000-0000-4000-8000-000000000002"),
    ("$STARTED", "c0000000-0000-4000-8000-000000000003"),
    ("$C1", "1f1e0000-0000-6000-8001-000000000001"),
    ("$C2", "1f1e0000-0000-6000-8002-000000000002"),
    ("$C3", "1f1e0000-0000-6000-8003-000000000003"),
    ("$C4", "1f1e0000-0000-6000-8004-000000000004"),
];

/// Replaces names by ids, or ids by names; another id is then `$NEW`.
pub fn with_ids(text: &str, by_ids: bool) -> String {
    let mut text = text.to_string();
    for (name, id) in IDS {
        text = if by_ids {
            replace_word(&text, name, id)
        } else {
            text.replace(id, name)
        };
    }
    if !by_ids {
        let other =
            regex::Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
        text = other
            .expect("a pattern")
            .replace_all(&text, "$$NEW")
            .into_owned();
    }
    text
}

fn replace_word(text: &str, name: &str, id: &str) -> String {
    let word = regex::Regex::new(&format!(r"\{name}\b")).expect("a pattern");
    word.replace_all(text, id).into_owned()
}

fn id(name: &str) -> &'static str {
    IDS.iter()
        .find(|(known, _)| *known == name)
        .expect("a known id")
        .1
}

/// The document of a new deployment.
pub const NEW_DEPLOYMENT: &str = r#"{"name": "new", "source": "github",
  "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "dev", "build_on_push": true,
                    "integration_id": "11111111-1111-4111-8111-111111111111"},
  "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json"}}"#;

/// A response.
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
    pub location: Option<String>,
}

impl Default for Answer {
    fn default() -> Answer {
        Answer {
            status: 200,
            kind: "application/json",
            body: String::new(),
            location: None,
        }
    }
}

const AT: &str = "2026-11-20T09:00:00+00:00";

/// What requests have made.
#[derive(Debug, Default)]
pub struct Made {
    threads: Vec<String>,
    /// The threads of runs that were started, and the metadata of these runs.
    runs: Vec<(String, Value)>,
    /// The threads whose state was written.
    states: Vec<String>,
    is_cancelled: bool,
}

impl Made {
    /// Notes what a request makes.
    pub fn note(&mut self, method: &str, path: &str, body: &str) {
        let sent: Value = serde_json::from_str(body).unwrap_or_default();
        match (
            method,
            path.trim_matches('/')
                .split('/')
                .collect::<Vec<_>>()
                .as_slice(),
        ) {
            ("POST", ["threads"]) => {
                let thread = sent["thread_id"]
                    .as_str()
                    .unwrap_or(id("$OTHER"))
                    .to_string();
                self.states
                    .extend(sent["supersteps"].is_array().then(|| thread.clone()));
                self.threads.push(thread);
            }
            ("POST", ["threads", thread, "runs"] | ["threads", thread, "runs", "stream"]) => {
                self.runs
                    .push(((*thread).to_string(), sent["metadata"].clone()));
            }
            ("POST", ["threads", thread, "state"]) => self.states.push((*thread).to_string()),
            ("POST", [.., "cancel"]) => self.is_cancelled = true,
            _ => {}
        }
    }
}

/// Answers a request: its method, its target and its body.
pub fn answer(since: Since, made: &Made, (method, target, body): (&str, &str, &str)) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let sent: Value = serde_json::from_str(body).unwrap_or_default();
    let is_changed = since == Since::Changed;
    if let ["threads", thread, "runs", "stream"] = parts[..] {
        return stream(Some(thread));
    }
    if let ["threads", thread, "runs", run, "stream"] = parts[..] {
        let answer = stream(Some(thread));
        return Answer {
            body: answer.body.replace(id("$STARTED"), run),
            location: None,
            ..answer
        };
    }
    if parts == ["runs", "stream"] {
        return stream(None);
    }
    let found = match parts.first() {
        Some(&"v2") => of_plane(is_changed, method, &parts[1..], &sent),
        Some(&"threads") => of_threads((since, made), method, &parts[1..], &sent),
        Some(&"store") if query.contains("key=new") => Some(Value::Null),
        _ => of_agent(is_changed, method, &parts, &sent),
    };
    let status = match (method, &found) {
        (_, None) => 404,
        ("DELETE" | "PUT", Some(Value::Null)) => 204,
        ("POST", _)
            if matches!(parts[..], ["v2", "deployments" | "listeners"])
                || path.ends_with("/connections") =>
        {
            201
        }
        _ => 200,
    };
    let body = found.unwrap_or_else(|| json!({"detail": "Not Found"}));
    Answer {
        status,
        body: if status == 204 {
            String::new()
        } else {
            body.to_string()
        },
        ..Answer::default()
    }
}

/// The stream of a run that ends well.
fn stream(thread: Option<&str>) -> Answer {
    let run = id("$STARTED");
    Answer {
        kind: "text/event-stream",
        body: format!(
            "event: metadata\r\ndata: {{\"run_id\":\"{run}\",\"attempt\":1}}\r\n\r\nevent: values\r\ndata: {{\"note\":\"x\"}}\r\n\r\n\
             event: end\r\ndata: null\r\n\r\n"
        ),
        location: thread.map(|thread| format!("/threads/{thread}/runs/{run}")),
        ..Answer::default()
    }
}

fn of_plane(is_changed: bool, method: &str, parts: &[&str], sent: &Value) -> Option<Value> {
    let other = |was: &str| {
        if is_changed {
            "other".to_string()
        } else {
            was.to_string()
        }
    };
    let revision = |name: &str, status: &str| {
        let status = if is_changed { "DEPLOYED" } else { status };
        json!({"id": id(name), "status": status, "created_at": AT, "updated_at": AT, "source": "github",
               "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json",
                                          "repo_commit_sha": format!("9fceb02d0ae598e95dc970b74767f19372d6{:.4}", id(name))}})
    };
    let revisions = [
        revision("$NEWEST", "BUILDING"),
        revision("$SERVING", "DEPLOYED"),
        revision("$FIRST", "DEPLOYED"),
    ];
    let deployment = json!({
        "id": id("$DEP"), "name": other("bot"), "source": "github", "status": "READY", "created_at": AT, "updated_at": AT,
        "latest_revision_id": id(if is_changed { "$OTHER" } else { "$NEWEST" }), "active_revision_id": id("$SERVING"),
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "dev", "build_on_push": !is_changed},
        "source_revision_config": {"repo_ref": other("main"), "langgraph_config_path": "langgraph.json"},
        "secrets": [{"name": "A", "value": "canary-of-a"}],
    });
    let listener = json!({"id": id("$LISTENER"), "compute_id": other("cluster"), "compute_type": "k8s", "version": other("1"),
                          "compute_config": {"k8s_namespaces": [other("a")]}, "created_at": AT, "updated_at": AT});
    let provider = json!({"provider_id": other("github"), "name": other("GitHub"), "client_id": other("c"), "provider_type": null,
                          "auth_url": "https://a.example", "token_url": "https://t.example", "uses_pkce": false});
    let token = json!({"id": id("$TOKEN"), "provider_id": "github", "provider_account_label": other("ana"), "is_default": is_changed,
                       "scopes": [other("repo")], "expires_at": null});
    let rows = |rows: &[Value]| Some(json!({"resources": rows, "offset": 0}));
    let is = |one: &str, name: &str| one == id(name);
    match (method, parts) {
        ("DELETE", ["auth", "tokens"]) => Some(json!({"deleted": 1})),
        ("DELETE", _) => Some(Value::Null),
        ("GET", ["deployments"]) => rows(&[deployment]),
        ("POST", ["deployments"]) => {
            let mut made = deployment;
            made["id"] = id("$OTHER").into();
            made["name"] = sent["name"].clone();
            Some(made)
        }
        ("GET" | "PATCH", ["deployments", one]) if is(one, "$DEP") => Some(deployment),
        ("GET", ["deployments", _, "revisions"]) => rows(&revisions),
        ("GET", ["deployments", _, "revisions", one]) => {
            revisions.into_iter().find(|row| row["id"] == *one)
        }
        (
            "POST",
            [
                "deployments",
                _,
                "revisions",
                _,
                "redeploy" | "interruption",
            ],
        ) => Some(deployment),
        ("GET", ["listeners"]) => rows(&[listener]),
        ("POST", ["listeners"]) => Some(listener),
        ("GET" | "PATCH", ["listeners", one]) if is(one, "$LISTENER") => Some(listener),
        ("GET", ["auth", "providers"]) => Some(json!([provider])),
        ("POST", ["auth", "providers", ..]) => Some(provider),
        ("GET" | "PATCH", ["auth", "providers", "github"]) => Some(provider),
        ("GET", ["auth", "tokens"]) => Some(json!([token])),
        ("POST", ["auth", "authenticate"]) => Some(
            json!({"status": "completed", "token": "canary", "auth_id": id("$LINK"), "url": null}),
        ),
        ("GET", ["integrations", ..]) => Some(json!([])),
        _ => None,
    }
}

fn of_agent(is_changed: bool, method: &str, parts: &[&str], sent: &Value) -> Option<Value> {
    let other = |was: &str| {
        if is_changed {
            "other".to_string()
        } else {
            was.to_string()
        }
    };
    let assistant = |version: i64| {
        json!({"assistant_id": id("$ASSISTANT"), "graph_id": "agent", "name": "agent", "version": version,
               "description": other(if version == 1 { "first" } else { "second" }), "config": {}, "context": {},
               "metadata": {"created_by": "system"}, "created_at": AT, "updated_at": AT})
    };
    let cron = |name: &str| {
        let mut cron = json!({"cron_id": id(name), "assistant_id": id("$ASSISTANT"), "thread_id": null, "schedule": "0 9 * * *",
                              "enabled": name == "$CRON", "on_run_completed": "delete", "end_time": null, "timezone": null,
                              "metadata": {"owner": other("ana")}, "payload": {"input": {}, "assistant_id": id("$ASSISTANT")},
                              "next_run_date": AT, "created_at": AT, "updated_at": AT});
        for (field, value) in sent
            .as_object()
            .into_iter()
            .flatten()
            .filter(|_| method == "PATCH")
        {
            cron[field] = value.clone();
        }
        cron
    };
    let item = json!({"namespace": ["a"], "key": "k", "value": {"x": if is_changed { 9 } else { 1 }}, "created_at": AT, "updated_at": AT});
    match (method, parts) {
        ("DELETE", _) => Some(Value::Null),
        ("GET", ["info"]) => Some(
            json!({"version": "0.16.7", "langgraph_py_version": "1.2.22", "flags": {"assistants": true, "crons": true}}),
        ),
        ("GET", ["ok"]) => Some(json!({"ok": true})),
        ("POST", ["assistants", "search"]) => Some(json!([assistant(2)])),
        ("POST", ["assistants", _, "versions"]) => Some(json!([assistant(2), assistant(1)])),
        ("POST", ["assistants", _, "latest"]) => Some(assistant(1)),
        ("GET", ["assistants", _, "graph"]) => Some(json!({
            "nodes": [{"id": "__start__", "type": "schema", "data": "__start__"},
                      {"id": "work", "type": "runnable", "data": {"id": ["x"], "name": "work"}},
                      {"id": "__end__", "type": "schema", "data": "__end__"}],
            "edges": [{"source": "__start__", "target": "work"}, {"source": "work", "target": "__end__"}],
        })),
        ("GET", ["assistants", _, "schemas"]) => {
            let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}});
            Some(
                json!({"graph_id": "agent", "input_schema": schema, "output_schema": schema, "state_schema": schema,
                        "config_schema": {"type": "object"}, "context_schema": {"type": "object"}}),
            )
        }
        ("GET", ["assistants", one]) if *one == id("$ASSISTANT") || *one == "agent" => {
            Some(assistant(2))
        }
        ("POST", ["runs", "crons", "search"]) => Some(json!([cron("$CRON"), cron("$PAUSED")])),
        ("POST", ["runs", "crons"]) => Some(cron("$CRON")),
        ("GET" | "PATCH", ["runs", "crons", one]) => {
            let known = ["$CRON", "$PAUSED"]
                .into_iter()
                .find(|name| *one == id(name))?;
            Some(cron(known))
        }
        ("GET", ["store", "items"]) => Some(item),
        ("PUT", ["store", "items"]) => Some(Value::Null),
        ("POST", ["store", "items", "search"]) => Some(json!({"items": [item]})),
        ("POST", ["store", "namespaces"]) => Some(json!({"namespaces": [["a"]]})),
        _ => None,
    }
}

/// What a thread is.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Idle,
    Failed,
    Asking,
    Busy,
    Stuck,
    /// A run on it was started by a request.
    New,
}

fn of_threads(
    (since, made): (Since, &Made),
    method: &str,
    parts: &[&str],
    sent: &Value,
) -> Option<Value> {
    let kinds = [
        ("$IDLE", Kind::Idle),
        ("$FAILED", Kind::Failed),
        ("$ASKING", Kind::Asking),
        ("$BUSY", Kind::Busy),
        ("$STUCK", Kind::Stuck),
    ];
    let known = |thread: &str| {
        kinds
            .iter()
            .find(|(name, _)| thread == id(name))
            .map(|(_, kind)| *kind)
    };
    if let [thread, ..] = parts
        && thread.contains('-')
        && known(thread).is_none()
        && !made.threads.iter().any(|own| own == thread)
    {
        return None;
    }
    let kind = |thread: &str| match known(thread).unwrap_or(Kind::New) {
        // An update releases it.
        Kind::Stuck if made.states.iter().any(|own| own == thread) => Kind::Idle,
        kind => kind,
    };
    let is_empty = |thread: &str| {
        let has_run = made.runs.iter().any(|(on, _)| on == thread);
        kind(thread) == Kind::New && !has_run && !made.states.iter().any(|own| own == thread)
    };
    match (method, parts) {
        ("POST", ["search"]) => {
            let of_status = |(_, kind): &&(&str, Kind)| {
                sent["status"].is_null() || sent["status"] == status(*kind)
            };
            let found = kinds
                .iter()
                .filter(of_status)
                .map(|(name, kind)| thread_record(since, id(name), *kind));
            Some(if sent["offset"].as_u64().unwrap_or(0) == 0 {
                found.collect()
            } else {
                json!([])
            })
        }
        ("POST", ["count"]) => Some(json!(kinds.len())),
        ("POST", ["prune"]) => Some(json!({"pruned_count": 1})),
        ("POST", []) => {
            let thread = sent["thread_id"].as_str().unwrap_or(id("$OTHER"));
            let mut made = thread_record(since, thread, Kind::Idle);
            made["metadata"] = sent["metadata"].clone();
            Some(made)
        }
        ("GET", [thread]) => Some(thread_record(since, thread, kind(thread))),
        ("PATCH", [thread]) => {
            let mut made = thread_record(since, thread, kind(thread));
            for (key, value) in sent["metadata"].as_object().into_iter().flatten() {
                made["metadata"][key] = value.clone();
            }
            Some(made)
        }
        ("POST", [_, "copy"]) => Some(thread_record(since, id("$OTHER"), Kind::Idle)),
        ("POST", [thread, "state"]) => {
            let at = json!({"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id("$C4")});
            Some(json!({"checkpoint": at, "checkpoint_id": id("$C4"), "configurable": at}))
        }
        ("GET", [thread, "state"]) if is_empty(thread) => Some(
            json!({"values": {}, "next": [], "tasks": [], "metadata": {}, "checkpoint": null, "interrupts": []}),
        ),
        ("GET" | "POST", [thread, "history"]) if is_empty(thread) => Some(json!([])),
        ("GET", [thread, "state"]) => Some(states(since, thread, kind(thread)).swap_remove(0)),
        ("POST", [thread, "state", "checkpoint"]) => Some(state_at(
            since,
            thread,
            kind(thread),
            sent["checkpoint"]["checkpoint_id"]
                .as_str()
                .unwrap_or_default(),
        )),
        ("GET", [thread, "state", checkpoint]) => {
            Some(state_at(since, thread, kind(thread), checkpoint))
        }
        ("GET" | "POST", [thread, "history"]) => Some(states(since, thread, kind(thread)).into()),
        ("GET", [thread, "runs"]) => Some(runs((since, made), thread, kind(thread)).into()),
        ("POST", [thread, "runs"]) => Some(run_record(thread, "$STARTED", "pending")),
        ("POST", [thread, "runs", "crons"]) => {
            Some(json!({"cron_id": id("$CRON"), "thread_id": thread}))
        }
        ("GET", [thread, "runs", one]) => {
            // A run that another client started is over when it is cancelled.
            let other = (*one == id("$OTHER")).then(|| run_record(thread, "$OTHER", "interrupted"));
            other.or_else(|| {
                runs((since, made), thread, kind(thread))
                    .into_iter()
                    .find(|run| run["run_id"] == *one)
            })
        }
        ("POST", [_, "runs", _, "cancel"]) | ("DELETE", _) => Some(Value::Null),
        _ => None,
    }
}

fn status(kind: Kind) -> &'static str {
    match kind {
        Kind::Idle | Kind::New => "idle",
        Kind::Failed => "error",
        Kind::Asking => "interrupted",
        Kind::Busy | Kind::Stuck => "busy",
    }
}

fn question(since: Since) -> Value {
    let (of, to) = if since == Since::Changed {
        ("q-2", 2)
    } else {
        ("q-1", 1)
    };
    let allowed = json!(["approve", "edit", "reject", "respond"]);
    json!({"id": of, "value": {"action_requests": [{"name": "send", "args": {"to": to}, "description": "?"}],
                               "review_configs": [{"action_name": "send", "allowed_decisions": allowed}]}})
}

fn thread_record(since: Since, thread: &str, kind: Kind) -> Value {
    let is_busy = since == Since::RunStarted || matches!(kind, Kind::Busy);
    let mut metadata = json!({"graph_id": "agent", "assistant_id": id("$ASSISTANT")});
    if since == Since::Changed {
        (metadata["name"], metadata["starred"]) = ("other".into(), true.into());
    }
    let interrupts = if kind == Kind::Asking && !is_busy {
        json!({"t1": [question(since)]})
    } else {
        json!({})
    };
    let error = if kind == Kind::Failed && !is_busy {
        json!({"error": "ValueError", "message": "boom"})
    } else {
        Value::Null
    };
    json!({"thread_id": thread, "created_at": AT, "updated_at": AT, "state_updated_at": AT, "metadata": metadata,
           "status": if is_busy { "busy" } else { status(kind) }, "config": {}, "values": {"note": "x"}, "error": error,
           "interrupts": interrupts})
}

/// The states of a thread, newest first.
fn states(since: Since, thread: &str, kind: Kind) -> Vec<Value> {
    let task = |name: &str, result: Value| {
        json!({"id": format!("t-{name}"), "name": name, "path": ["__pregel_pull", name], "error": null, "interrupts": [],
               "checkpoint": null, "state": null, "result": result})
    };
    let at =
        |name: &str| json!({"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": id(name)});
    let run = if kind == Kind::New {
        "$STARTED"
    } else {
        "$RUN"
    };
    let state = |own: &str,
                 parent: Option<&str>,
                 step: i64,
                 values: Value,
                 next: Value,
                 tasks: Value| {
        json!({"values": values, "next": next, "tasks": tasks, "created_at": AT, "checkpoint": at(own), "checkpoint_id": id(own),
               "parent_checkpoint": parent.map(at), "parent_checkpoint_id": parent.map(id), "interrupts": [],
               "metadata": {"source": if step < 0 { "input" } else { "loop" }, "step": step, "run_id": id(run),
                            "graph_id": "agent", "assistant_id": id("$ASSISTANT"), "parents": {}}})
    };
    let first = state(
        "$C1",
        None,
        -1,
        json!({}),
        json!(["__start__"]),
        json!([task("__start__", json!({"note": "in"}))]),
    );
    let open = |task: Value| {
        state(
            "$C2",
            Some("$C1"),
            0,
            json!({"note": "in"}),
            json!(["work"]),
            json!([task]),
        )
    };
    let mut unfinished = task("work", Value::Null);
    let mut states = match kind {
        Kind::Idle | Kind::Stuck | Kind::New => {
            let last = state(
                "$C3",
                Some("$C2"),
                1,
                json!({"note": "x"}),
                json!([]),
                json!([]),
            );
            vec![last, open(task("work", json!({"note": "x"}))), first]
        }
        Kind::Busy => vec![open(unfinished), first],
        Kind::Failed => {
            unfinished["error"] = "ValueError('boom')".into();
            vec![open(unfinished), first]
        }
        Kind::Asking => {
            unfinished["interrupts"] = json!([question(since)]);
            let mut state = open(unfinished);
            state["interrupts"] = json!([question(since)]);
            vec![state, first]
        }
    };
    if since == Since::Changed {
        let mut newer = states[0].clone();
        newer["parent_checkpoint"] = newer["checkpoint"].clone();
        newer["parent_checkpoint_id"] = newer["checkpoint_id"].clone();
        (newer["checkpoint"], newer["checkpoint_id"]) = (at("$C4"), id("$C4").into());
        states.insert(0, newer);
    }
    states
}

/// The state at a checkpoint. The one that an edit made leads on to `work`.
fn state_at(since: Since, thread: &str, kind: Kind, checkpoint: &str) -> Value {
    let known = states(since, thread, kind)
        .into_iter()
        .find(|state| state["checkpoint_id"] == checkpoint);
    known.unwrap_or_else(|| {
        let mut edited = states(since, thread, Kind::Busy).swap_remove(0);
        edited["checkpoint_id"] = checkpoint.into();
        edited["checkpoint"]["checkpoint_id"] = checkpoint.into();
        edited
    })
}

/// The runs of a thread, newest first.
fn runs((since, made): (Since, &Made), thread: &str, kind: Kind) -> Vec<Value> {
    let own = match kind {
        Kind::Idle | Kind::Stuck => Some("success"),
        Kind::Failed => Some("error"),
        Kind::Asking => Some("interrupted"),
        Kind::Busy if since == Since::Changed => Some("success"),
        Kind::Busy if made.is_cancelled => Some("interrupted"),
        Kind::Busy => Some("running"),
        Kind::New => None,
    };
    let started = made
        .runs
        .iter()
        .filter(|(on, _)| on == thread)
        .map(|(_, metadata)| {
            let mut run = run_record(thread, "$STARTED", "success");
            for (key, value) in metadata.as_object().into_iter().flatten() {
                run["metadata"][key] = value.clone();
            }
            run
        });
    let other = (since == Since::RunStarted).then(|| run_record(thread, "$OTHER", "running"));
    other
        .into_iter()
        .chain(started)
        .chain(own.map(|status| run_record(thread, "$RUN", status)))
        .collect()
}

fn run_record(thread: &str, run: &str, status: &str) -> Value {
    json!({"run_id": id(run), "thread_id": thread, "assistant_id": id("$ASSISTANT"), "status": status, "created_at": AT,
           "updated_at": AT, "metadata": {"graph_id": "agent", "assistant_id": id("$ASSISTANT")}, "multitask_strategy": "enqueue",
           "kwargs": {"input": {"note": "in"}, "command": null, "config": {"configurable": {}}, "stream_mode": ["values"]}})
}
