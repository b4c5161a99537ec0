//! A dashboard with hostile servers: every response has the same hostile text in every field that can hold text, and the resulting
//! screens are checked cell by cell.

pub use runtail_testkit::dash::{Dash, demo_like};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use runtail_api::doctor::{Check, Fault};
use runtail_api::{
    ApiError, AuthWaited, Kind, Listing, Outcome, Place, PlanError, Revisions, SentRequest,
    ServerHealth, ServerInbox, ServerInfo, ServerKind, ServerLoad, UnreadRows,
};
use runtail_core::config::{Config, ConfigError};
use runtail_core::graph::Graph;
use runtail_core::model::{
    AuthAnswer, Branch, BranchStep, BranchStepKind, CardLog, Change, Checkpoint, Configuration,
    Consent, Evidence, FailureCard, InboxCause, InboxThread, LogEvidence, LogLine, NewRevision,
    Note, PlainRequest, Preview, Question, RepeatedCalls, Target, ThreadStatus,
};
use runtail_stream::bisect::{HistoryError, RecordingBisect};
use runtail_stream::comparison::{FileContents, read_pair};
use runtail_stream::{Data, Decoder, Event, Frame, Framer, Item, Record, Seq};
use runtail_tui::input::key::{Code, Key};
use runtail_tui::session::checkpoints::{
    CheckpointDetails, CheckpointPage, CheckpointState, HistoryRequest,
};
use runtail_tui::session::compare::{SideContents, SideRef};
use runtail_tui::session::effect::DeploymentDocument;
use runtail_tui::session::msg::{
    Applied, Effect, EffectResult, Msg, NextPoll, Sent, Subscription, SubscriptionEvent,
    SubscriptionId, SubscriptionKind, ThreadsRead,
};
use runtail_tui::session::msg::{Chunk, FileStep};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Characters that must never reach a cell, a title, a file or the clipboard: terminal controls and bidi controls.
pub fn is_dangerous(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

/// Texts that have broken similar programs.
pub const HOSTILE: [&str; 13] = [
    "\u{1b}c\u{1b}[5;10r\u{1b}[?5h\u{1b}[6n\u{1b}[21t\u{1b}#8\u{1b}(0reset",
    "\u{1b}[2J\u{1b}[Hgone",
    "\u{1b}]0;owned\u{7}title",
    "\u{1b}]52;c;b3duZWQ=\u{1b}\\clipboard",
    "\u{1b}P$q\"p\u{1b}\\ \u{1b}_apc\u{1b}\\ \u{1b}^pm\u{1b}\\ \u{1b}Xsos",
    "\u{9b}31m\u{9d}0;c1\u{9c}\u{90}dcs\u{9c}",
    "\u{202e}live\u{2066}\u{200f}\u{61c}",
    "a\0b\u{7}c\u{8}d\u{7f}e\u{85}f\u{b}g\u{c}h\r\ni\rj\tk",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}\u{308}\u{309}\u{30a}\u{30b}\u{30c}\u{30d}\u{30e}\u{30f}\u{310}\u{311}",
    "\u{1b}[201~rm -rf x\n\u{1b}[200~",
    "\u{feff}\u{200b}\u{ad}\u{e0041}\u{2028}\u{2029}\u{fff9}",
    "日本\u{1b}[31m語👩\u{200d}👩\u{200d}👧🇵🇱",
    "\u{1b}",
];

/// A record with the text in every field that any screen reads.
fn record(text: &str) -> Value {
    let list = json!([{"name": text, "value": text, "id": text}, text]);
    let mut all = json!({
        "id": text, "name": text, "display_name": text, "status": text, "source": text, "url": "https://h.example",
        "latest_revision_id": text, "active_revision_id": text, "created_at": "2026-11-21T10:00:00Z",
        "updated_at": "2026-11-21T11:00:00Z", "status_message": text, "description": text, "provider_id": text,
        "thread_id": text, "run_id": text, "assistant_id": text, "graph_id": text, "checkpoint_id": text,
        "metadata": {"graph_id": text, "assistant_id": text, "owner": text}, "values": {text: text, "messages": messages(text)},
        "error": {"error": text, "message": text}, "multitask_strategy": text, "version": 3,
        "interrupts": {"t": [{"id": text, "value": {text: text}, "when": text}]},
        "secrets": list, "env_vars": {text: text}, "resource_spec": {text: text}, "scopes": [text],
        "message": text, "level": text, "timestamp": "2026-11-21T10:00:00Z", "token": null, "login_url": text,
    });
    all["source_config"] =
        json!({"repo_url": text, "deployment_type": text, "integration_id": text});
    all["source_revision_config"] = json!({"repo_ref": text, "repo_commit_sha": text, "langgraph_config_path": text, "image_uri": text});
    all[text] = json!({text: [text, {text: null}]});
    all
}

fn messages(text: &str) -> Value {
    json!([
        {"type": "human", "id": "1", "content": text, "name": text},
        {"type": "ai", "id": "2", "name": text, "response_metadata": {"model_name": text, "finish_reason": text},
         "content": [{"type": "text", "text": text}, {"type": "reasoning", "reasoning": text}, {"type": text, text: text},
                     {"type": "image_url", "image_url": {"url": text}}],
         "tool_calls": [{"id": text, "name": text, "args": {text: text}}], "usage_metadata": {"input_tokens": 1}},
        {"type": "tool", "id": "3", "tool_call_id": text, "name": text, "content": text, "status": "error"},
        {"type": text, "id": text, "role": text, "content": {text: text}},
        text,
    ])
}

/// Parses the record as a model type.
fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_value(record(text)).expect("a record is what the models read")
}

/// An error whose message is the text.
fn error(text: &str) -> ApiError {
    let at = Place {
        profile: "prod-us".into(),
        method: "GET".into(),
        host: text.into(),
        path: text.into(),
        request_id: Some(text.into()),
        ..Place::default()
    };
    ApiError {
        kind: Kind::Invalid(vec![text.into()]),
        at,
        detail: text.into(),
        hint: Some(text.into()),
    }
}

/// Stream items with the text in names, namespaces, ids and payloads.
fn items(text: &str, seq: u64, at: Timestamp) -> Vec<Item> {
    let bare = Value::String(text.into());
    let payloads = [
        ("metadata", json!({"run_id": text, "attempt": 1})),
        (
            "messages",
            json!([messages(text)[1], {"langgraph_node": text, "langgraph_step": 1, "ls_model_name": text}]),
        ),
        ("messages/partial", messages(text)),
        (
            "updates",
            json!({text: {"messages": messages(text), text: text}, "__interrupt__": [{"id": text, "value": text}]}),
        ),
        (
            "values",
            json!({"messages": messages(text), text: {text: text}, "list": [text]}),
        ),
        (
            "tasks",
            json!({"id": "t1", "name": text, "input": {text: text}, "triggers": [text], "interrupts": []}),
        ),
        (
            "tasks",
            json!({"id": "t1", "name": text, "result": [[text, text]], "error": text, "interrupts": [{"value": text}]}),
        ),
        (
            "checkpoints",
            json!({"config": {"configurable": {"thread_id": text}}, "values": {text: text}, "next": [text], "tasks": []}),
        ),
        (
            "debug",
            json!({"type": text, "timestamp": text, "payload": {"name": text, "id": text}}),
        ),
        (
            "events",
            json!({"event": "on_tool_start", "name": text, "run_id": text, "data": {"input": text}, "tags": [text]}),
        ),
        (
            "custom",
            json!({"progress": 0.5, "label": text, text: text}),
        ),
        ("custom", bare.clone()),
        ("error", json!({"error": text, "message": text})),
        (text, bare),
    ];
    let mut out = vec![Item::Record(Record::Open {
        at,
        conn: 1,
        status: 200,
        resumed_after: Some(text.into()),
    })];
    for (seq, (name, payload)) in (seq..).zip(payloads) {
        let data = Data::Json(payload.to_string().into());
        let ns = [format!("{text}:1").into(), text.into()].into();
        out.push(Item::Record(Record::Event(Event {
            seq: Seq(seq),
            at,
            conn: 1,
            replayed: false,
            name: name.into(),
            ns,
            id: Some(text.into()),
            data,
        })));
    }
    let seq = seq + 14;
    for (seq, data) in (seq..).zip([
        Data::Malformed(text.into()),
        Data::TooLarge {
            size: 1 << 30,
            head: text.into(),
        },
    ]) {
        let (name, ns) = ("custom".into(), [].into());
        out.push(Item::Record(Record::Event(Event {
            seq: Seq(seq),
            at,
            conn: 1,
            replayed: false,
            name,
            ns,
            id: None,
            data,
        })));
    }
    out.push(Item::Record(Record::Close {
        at,
        conn: 1,
        reason: text.into(),
    }));
    out.push(Item::Record(Record::Gap {
        at,
        why: text.into(),
    }));
    out.push(Item::Retrying {
        at,
        attempt: 1,
        wait: Duration::from_secs(1),
        why: text.into(),
        request: text.into(),
    });
    out.push(Item::ModesKept { why: text.into() });
    out
}

/// A page of checkpoints, or the state at one. The checkpoints are a parent of each other, among others.
fn history(sub: &Subscription, text: &str, well: bool) -> Option<SubscriptionEvent> {
    let SubscriptionKind::History(_, request) = &sub.what else {
        return None;
    };
    let entry = |id: &str, parent: &str| {
        json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "next": [text], "values": {text: [text, {text: text}]},
               "metadata": {"source": text, "step": 7, "run_id": text}, "created_at": "2026-11-21T13:00:00Z",
               "tasks": [{"name": text, "error": text, "result": {text: text, "messages": [text]},
                          "interrupts": [{"id": text, "value": text}], "checkpoint": {"checkpoint_ns": text}}]})
    };
    let error = || error(text);
    Some(match request {
        HistoryRequest::Page { .. } => {
            let rows = [
                entry("3", "2"),
                entry("2", "1"),
                entry(text, "1"),
                entry("1", "2"),
                entry("0", text),
            ];
            let checkpoints = rows
                .iter()
                .filter_map(|row| Checkpoint::read(&row.to_string()))
                .collect();
            let page = CheckpointPage {
                checkpoints,
                is_last: text.len().is_multiple_of(2),
            };
            SubscriptionEvent::Checkpoints(if well { Ok(page) } else { Err(error()) })
        }
        HistoryRequest::State { checkpoint } => {
            let state = CheckpointState::read(entry(checkpoint, text).to_string().into());
            SubscriptionEvent::CheckpointState(if well {
                Ok(state.map(Into::into))
            } else {
                Err(error())
            })
        }
        HistoryRequest::Details { checkpoint } => {
            let details = CheckpointDetails::new(
                entry(checkpoint, text).to_string().into(),
                vec![text.to_string()],
            );
            SubscriptionEvent::CheckpointDetails(if well {
                Ok(Some(details))
            } else {
                Err(error())
            })
        }
    })
}

/// A side of a comparison whose every text is hostile, as a saved comparison has it.
fn side(text: &str, seq: u64) -> Arc<FileContents> {
    let step = |node: &str, wrote: u64| {
        json!({"node": node, "namespace": [text], "step": seq, "took_ms": seq, "calls": [text], "results": [text],
            "error": if wrote.is_multiple_of(2) { Value::Null } else { json!(text) }, "state": "failed", "asked": true,
            "fingerprint": format!("{wrote}"), "output": {"messages": [{"type": "ai", "content": text,
            "tool_calls": [{"name": text, "args": text}]}], (text): wrote}})
    };
    let side = |wrote: u64| {
        json!({"name": text, "source": {"kind": "thread", "server": text, "thread_id": text, "run_id": null},
            "profile": text, "graph_id": text, "status": text, "notes": [text], "state": {(text): wrote},
            "steps": [step(text, wrote), step("same", 1), step(&format!("{text}{wrote}"), wrote)]})
    };
    let saved = json!({"kind": "comparison", "version": 1, "a": side(seq), "b": side(seq + 1)});
    Arc::new(FileContents::Pair(Box::new(
        read_pair(&saved.to_string()).expect("a saved comparison"),
    )))
}

/// The configuration of a revision whose every text is hostile.
fn configuration(text: &str, seq: u64, at: Timestamp) -> SideContents {
    let deployment = json!({"id": format!("{text}{seq}"), "name": text, "url": text, (text): text, "secrets": {(text): text},
        "source_config": {"repo_url": text, (text): {(text): [text, {"name": text, "env": {(text): text}}]}}});
    let revision = json!({"id": text, "status": text, "status_message": text, "created_at": text, (text): [text],
        "source_revision_config": {"repo_ref": text, "repo_commit_sha": text, (text): format!("{text}{seq}")}});
    SideContents::Configuration(Arc::new(Configuration::of(&deployment, &revision, at)))
}

/// The hostile response to a subscription.
pub fn answer(
    sub: &Subscription,
    text: &str,
    well: bool,
    seq: u64,
    at: Timestamp,
) -> Option<SubscriptionEvent> {
    let next = NextPoll::At(at + SignedDuration::from_secs(4));
    let result = |value| if well { Ok(value) } else { Err(error(text)) };
    Some(match &sub.key {
        SubscriptionId::Deployments(_) => {
            let items = (0..3).map(|n| {
                let mut row = record(text);
                row["id"] = json!(format!("{text}{n}"));
                serde_json::from_value(row).expect("a deployment")
            });
            let listing = Listing {
                incomplete: Some(error(text)),
                ..Listing::new(items.collect(), unread(text))
            };
            SubscriptionEvent::Deployments {
                result: result(listing),
                is_truncated: false,
                skew: SignedDuration::ZERO,
                took: Duration::ZERO,
                next,
            }
        }
        SubscriptionId::Newest(_) => {
            let deployment = sub.params.newest.first()?.deployment.clone();
            let revision = if well {
                Ok(read(text))
            } else {
                Err(error(text))
            };
            SubscriptionEvent::Newest {
                deployment,
                revision,
            }
        }
        SubscriptionId::Watch(_) => SubscriptionEvent::Watched(
            if well {
                Ok(read(text))
            } else {
                Err(error(text))
            },
            next,
        ),
        SubscriptionId::Deletion(..) => SubscriptionEvent::Deleting(
            if well {
                Ok(read(text))
            } else {
                Err(error(text))
            },
            next,
        ),
        SubscriptionId::Log(..) => {
            let lines = if well {
                Ok(vec![
                    LogLine::from(record(text)),
                    LogLine::from(json!(text)),
                ])
            } else {
                Err(error(text))
            };
            SubscriptionEvent::Lines {
                lines,
                incomplete: true,
            }
        }
        SubscriptionId::Revisions(..) => {
            let other = read(&format!("{text}2"));
            let all = Revisions {
                items: vec![read(text), other],
                was_sorted: false,
                unread: unread(text),
            };
            SubscriptionEvent::Revisions(if well { Ok(all) } else { Err(error(text)) }, next)
        }
        SubscriptionId::Past(_) => {
            let deployment = sub.params.past.first()?.0.clone();
            SubscriptionEvent::Past {
                deployment,
                revisions: vec![read(text), read(&format!("{text}2"))],
            }
        }
        SubscriptionId::Card(_) => {
            let evidence = Evidence {
                address: text,
                options: "",
                deployment: &record(text),
                revision: &record(text),
                history: &[record(text)],
                times: &[],
                now: Timestamp::MAX,
                log: LogEvidence::Unread(CardLog::Build, text),
            };
            SubscriptionEvent::Card(if well {
                Ok(Box::new(FailureCard::new(&evidence)))
            } else {
                Err(error(text))
            })
        }
        SubscriptionId::Threads(_) => SubscriptionEvent::Threads(ThreadsRead::all(if well {
            Ok(vec![read(text)])
        } else {
            Err(error(text))
        })),
        SubscriptionId::Health(_) => {
            let (pending, wait) = (
                seq.wrapping_mul(u64::MAX / 3),
                Duration::from_secs(u64::MAX / 4),
            );
            let load = ServerLoad {
                pending: Some(pending),
                running: Some(seq),
                oldest: Some(wait),
                workers: Some((seq, 0)),
            };
            SubscriptionEvent::Health(well.then_some(ServerHealth {
                is_healthy: Some(seq.is_multiple_of(2)),
                load: Some(load),
            }))
        }
        SubscriptionId::ThreadStatuses(_) => {
            let of = sub.params.statuses.first()?.clone();
            let error = text.to_string();
            let status = ThreadStatus::Failed {
                at: Some(at),
                error,
                nodes: vec![text.into()],
                timed_out: false,
            };
            SubscriptionEvent::ThreadStatus {
                of,
                status: if well {
                    Ok(status)
                } else {
                    Err(self::error(text))
                },
            }
        }
        SubscriptionId::Runs(..) => SubscriptionEvent::Runs(if well {
            Ok(Listing::new(vec![read(text)], unread(text)))
        } else {
            Err(error(text))
        }),
        SubscriptionId::Inbox(_) => {
            let question = Question {
                value: record(text),
                node: Some(text.into()),
                ..Question::default()
            };
            let thread = InboxThread {
                thread_id: text.into(),
                graph: Some(text.into()),
                cause: Some(if seq.is_multiple_of(2) {
                    InboxCause::Question
                } else {
                    InboxCause::Error
                }),
                since: Some(at),
                questions: vec![question],
                detail: text.into(),
                owner: Some(text.into()),
                ..InboxThread::default()
            };
            let inbox = ServerInbox {
                threads: vec![thread],
                limits: vec![text.into()],
                ..ServerInbox::default()
            };
            let server = sub.params.servers.first()?.clone();
            SubscriptionEvent::Inbox {
                server,
                began: at,
                result: if well { Ok(inbox) } else { Err(error(text)) },
            }
        }
        SubscriptionId::Stream(_) if well => SubscriptionEvent::Items(items(text, seq, at)),
        SubscriptionId::Stream(_) => {
            SubscriptionEvent::Items(vec![Item::Failed(Box::new(error(text)))])
        }
        SubscriptionId::Wait(_) if well => {
            SubscriptionEvent::Waited(Ok(AuthWaited::Ended(AuthAnswer::new(record(text)))))
        }
        SubscriptionId::Wait(_) => SubscriptionEvent::WaitTrouble(error(text)),
        SubscriptionId::Doctor(_) => {
            let check = Check::bad(Fault::Access, "access", text)
                .seen(text)
                .likely(text)
                .to_do(text);
            SubscriptionEvent::Checked(Some(Box::new(check)))
        }
        SubscriptionId::Side(..) => SubscriptionEvent::Side(match &sub.what {
            _ if !well => Err(text.into()),
            SubscriptionKind::Side(SideRef::Configuration(_)) => Ok(configuration(text, seq, at)),
            _ => Ok(SideContents::Steps(side(text, seq))),
        }),
        SubscriptionId::Graph(_) => {
            let node = |id: &str| json!({"id": id, "data": {"name": text}, "metadata": {"__interrupt": text}});
            let edge = |from: &str, to: &str| json!({"source": from, "target": to, "data": text, "conditional": text});
            let described = json!({
                "nodes": [node("__start__"), node(text), node(&format!("{text}:{text}")), node("x:y:z"), {"id": seq}],
                "edges": [edge("__start__", text), edge(text, text), edge(text, "x:y:z"), edge("x:y:z", "__start__"), 7],
            });
            SubscriptionEvent::Graph(if well {
                Ok(Arc::new(Graph::read(&described)))
            } else {
                Err(error(text))
            })
        }
        SubscriptionId::History(_) => history(sub, text, well)?,
        SubscriptionId::Bisect(_) => {
            let SubscriptionKind::Bisect(_, _, query) = &sub.what else {
                return None;
            };
            let mut reading = RecordingBisect::new((**query).clone());
            for item in items(text, seq, at) {
                if let Item::Record(record) = item {
                    reading.apply(record);
                }
            }
            let failed = Err(HistoryError::Request(Box::new(error(text))));
            SubscriptionEvent::Bisected(if well {
                Ok(Arc::new(reading.finish()))
            } else {
                failed
            })
        }
        SubscriptionId::Job(_) => {
            let SubscriptionKind::Job(task) = &sub.what else {
                return None;
            };
            let mut job = task.begin();
            loop {
                match job.step() {
                    (_, Some(more)) => job = more,
                    (part, None) => return Some(SubscriptionEvent::Worked(part)),
                }
            }
        }
    })
}

/// The preview of a change with text of the server.
fn preview(text: &str) -> Preview {
    let word = || Some(Value::String(text.into()));
    Preview {
        title: text.into(),
        profile: "prod-us".into(),
        target: Some(Target {
            kind: "deployment",
            id: text.into(),
            name: text.into(),
        }),
        request: request(text),
        then: Vec::new(),
        changes: vec![Change {
            path: text.into(),
            before: word(),
            after: word(),
        }],
        revision: NewRevision::Yes(text.into()),
        branch: text.len().is_multiple_of(2).then(|| branch(text)),
        notes: vec![Note::fact(text)],
        consent: Consent::Name(text.into()),
    }
}

/// A run from a checkpoint with text of the server.
fn branch(text: &str) -> Branch {
    let step = |kind| BranchStep {
        kind,
        nodes: vec![text.into(), format!("{text} ×2")],
        certain: kind == BranchStepKind::Runs,
        run_id: Some(text.into()),
        detail: text.into(),
    };
    let kinds = [
        BranchStepKind::Runs,
        BranchStepKind::RunsAgain,
        BranchStepKind::ThenLikely,
        BranchStepKind::Skipped,
    ];
    let one = BranchStep {
        nodes: vec![text.into()],
        ..step(BranchStepKind::ThenLikely)
    };
    Branch {
        checkpoint_id: text.into(),
        writers: vec![text.into()],
        steps: kinds.into_iter().map(step).chain([one]).collect(),
        repeats: Some(RepeatedCalls {
            calls: vec![text.into()],
            run_id: Some(text.into()),
        }),
        ..Branch::default()
    }
}

fn request(text: &str) -> PlainRequest {
    PlainRequest {
        method: "POST".into(),
        url: "https://h.example/v2".into(),
        headers: vec![(text.into(), text.into())],
        body: Some(record(text)),
    }
}

/// The hostile response to a one-shot effect.
pub fn done(effect: &Effect, text: &str, well: bool, at: Timestamp) -> Option<EffectResult> {
    let fail = || error(text);
    Some(match effect {
        Effect::FetchInfo(server) => {
            let info = ServerInfo {
                kind: ServerKind::Other,
                version: text.into(),
                raw: record(text),
            };
            EffectResult::Info(server.clone(), if well { Ok(info) } else { Err(fail()) })
        }
        Effect::FetchAssistants(server) => EffectResult::Assistants(
            server.clone(),
            if well {
                Ok(Listing::new(vec![read(text), read(text)], unread(text)))
            } else {
                Err(fail())
            },
        ),
        Effect::Describe(what) => EffectResult::Described(
            what.clone(),
            if well { Ok(text.into()) } else { Err(fail()) },
        ),
        Effect::Find(number, source, _) => EffectResult::Found(
            *number,
            source.clone(),
            if well { Ok(None) } else { Err(fail()) },
        ),
        Effect::Explain(of, ..) => EffectResult::Card(of.clone(), Err(fail())),
        Effect::Write(profile, id, name) => {
            let record = json!({"name": text, "source": text, "source_revision_config": {"repo_ref": text},
                "secrets": [{"name": text, "value": text}]});
            let current = runtail_core::model::SpecForm::of_record(&record);
            let document = DeploymentDocument {
                text: format!("# {text}\nname = \"x\"\n"),
                current,
            };
            EffectResult::Written(
                profile.clone(),
                id.clone(),
                name.clone(),
                if well { Ok(document) } else { Err(fail()) },
            )
        }
        Effect::Plan(number, ..) if well => {
            EffectResult::Planned(*number, Ok((Box::new(preview(text)), None)))
        }
        Effect::Plan(number, ..) => {
            EffectResult::Planned(*number, Err(PlanError::Wrong(vec![text.into()])))
        }
        Effect::ListRecords(number, _, query) => {
            let rows = vec![
                record(text),
                Value::String(text.into()),
                Value::Array(vec![text.into()]),
            ];
            EffectResult::RecordsListed(
                *number,
                query.clone(),
                if well {
                    Ok(Listing::new(rows, unread(text)))
                } else {
                    Err(fail())
                },
            )
        }
        Effect::Send(number, ..) => {
            let made = Applied {
                said: text.into(),
                ..Applied::default()
            };
            EffectResult::Sent(
                *number,
                Sent::Record(if well { Ok(made) } else { Err(fail()) }),
            )
        }
        Effect::ReadJournal => {
            let outcome = Outcome::NoAnswer(text.into());
            let place = error(text).at;
            EffectResult::Journal(vec![SentRequest {
                title: text.into(),
                at,
                place,
                request: request(text),
                outcome,
                took: Duration::from_secs(1),
            }])
        }
        Effect::Browse(number, ..) => {
            let rows = vec![record(text), Value::String(text.into())];
            let listing = Listing {
                incomplete: Some(fail()),
                ..Listing::new(rows, unread(text))
            };
            EffectResult::Browsed(*number, if well { Ok(listing) } else { Err(fail()) })
        }
        Effect::Authenticate(number, ..) => EffectResult::Authenticated(
            *number,
            if well {
                Ok(AuthAnswer::new(record(text)))
            } else {
                Err(fail())
            },
        ),
        Effect::File(number, _) => {
            EffectResult::FileStepped(*number, if well { Ok(7) } else { Err(text.into()) })
        }
        Effect::OpenLink(link) => EffectResult::LinkNotOpened(link.clone(), text.into()),
        Effect::Try(number, _) => {
            EffectResult::Tried(*number, if well { Ok(()) } else { Err(fail()) })
        }
        Effect::DraftFile(..) => EffectResult::Drafted(Err(ConfigError::new(text))),
        _ => return None,
    })
}

/// A dashboard with its pending requests.
pub struct World {
    /// The dashboard.
    pub dash: Dash,
    /// Effects that have not been answered.
    pub asked: Vec<Effect>,
    seq: u64,
}

impl World {
    /// Two regions with deployments.
    pub fn new(size: (u16, u16)) -> World {
        World {
            dash: demo_like(size),
            asked: Vec::new(),
            seq: 1,
        }
    }

    /// Applies a message, keeps the effects, and checks what leaves the dashboard.
    pub fn feed(&mut self, msg: Msg) {
        let effects = self.dash.feed(msg);
        effects.iter().for_each(check_outgoing);
        self.asked.extend(effects);
        // A limit: no user presses so many keys before a response arrives.
        self.asked.truncate(64);
    }

    /// Presses keys, in the tests' notation.
    pub fn keys(&mut self, keys: &str) {
        for key in runtail_tui::input::key::parse_keys(keys).expect("keys") {
            self.feed(Msg::Key(key));
        }
    }

    /// Answers all pending requests, successfully or not.
    pub fn answer_all(&mut self, text: &str, well: bool) {
        self.answer_once(text, well);
        for sub in self.dash.subscriptions() {
            self.tell(&sub, text, well);
        }
        self.answer_once(text, well);
    }

    /// Answers the one-shot effects and finishes the background work.
    pub fn answer_once(&mut self, text: &str, well: bool) {
        // A response may cause more requests and more work.
        for _ in 0..3 {
            for effect in std::mem::take(&mut self.asked) {
                if let Some(done) = done(&effect, text, well, self.dash.now) {
                    self.feed(self.dash.done_msg(done));
                }
            }
            self.dash.relayout();
            let jobs = self
                .dash
                .subscriptions()
                .into_iter()
                .filter(|sub| matches!(sub.key, SubscriptionId::Job(_)));
            jobs.for_each(|sub| self.tell(&sub, text, well));
        }
    }

    /// Answers one subscription.
    pub fn tell(&mut self, sub: &Subscription, text: &str, well: bool) {
        let Some(answer) = answer(sub, text, well, self.seq, self.dash.now) else {
            return;
        };
        if matches!(answer, SubscriptionEvent::Items(_)) {
            self.seq += 16;
        }
        self.feed(Msg::Subscription {
            key: sub.key.clone(),
            epoch: sub.epoch,
            event: answer,
        });
    }

    /// Opens the first thread of the first server.
    pub fn open_thread(&mut self) {
        self.dash.open_thread();
    }

    /// Sends items of the open stream; the closure gets the next event's number.
    pub fn items(&mut self, items: impl FnOnce(u64) -> Vec<Item>) {
        let Some(sub) = self
            .dash
            .subscriptions()
            .into_iter()
            .find(|sub| matches!(sub.key, SubscriptionId::Stream(_)))
        else {
            return;
        };
        let answer = SubscriptionEvent::Items(items(self.seq));
        self.seq += 1;
        self.feed(Msg::Subscription {
            key: sub.key,
            epoch: sub.epoch,
            event: answer,
        });
    }

    /// Sends bytes of the open stream, as a server would.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let Some(sub) = self
            .dash
            .subscriptions()
            .into_iter()
            .find(|sub| matches!(sub.key, SubscriptionId::Stream(_)))
        else {
            return;
        };
        let (mut framer, mut decoder) = (Framer::new(4096), Decoder::default());
        framer.push(Bytes::copy_from_slice(bytes));
        let mut items = Vec::new();
        while let Some(frame) = framer.next_frame() {
            let Frame::Block(block) = frame else { continue };
            let Some(decoded) = decoder.decode(block) else {
                continue;
            };
            items.push(Item::Record(Record::Event(decoded.at(
                Seq(self.seq),
                self.dash.now,
                1,
                false,
            ))));
            self.seq += 1;
        }
        self.feed(Msg::Subscription {
            key: sub.key,
            epoch: sub.epoch,
            event: SubscriptionEvent::Items(items),
        });
    }

    /// Checks every cell. Returns whether a marked bidi control is shown.
    pub fn look(&mut self) -> bool {
        let (width, height) = self.dash.size();
        let buffer = self.dash.buffer();
        let mut is_marked = false;
        for y in 0..height {
            let mut row = String::new();
            for x in 0..width {
                let symbol = buffer[(x, y)].symbol();
                assert!(
                    !symbol.contains(is_dangerous),
                    "{symbol:?} at {x},{y} of\n{}",
                    self.dash.screen()
                );
                row.push_str(symbol);
            }
            is_marked |= row.contains("<U+");
        }
        is_marked
    }
}

/// Checks what leaves the dashboard for the clipboard, a notification or a file.
fn check_outgoing(effect: &Effect) {
    let harmless = |text: &str| {
        assert!(
            !text.replace('\n', "").contains(is_dangerous),
            "{text:?} in {effect:?}"
        )
    };
    match effect {
        Effect::Copy(text) => harmless(text),
        Effect::File(_, FileStep::Write(chunks)) => {
            // The other parts of an export are cleaned when they are written.
            chunks.iter().for_each(|chunk| {
                if let Chunk::Text(text) = chunk {
                    harmless(text);
                }
            });
        }
        Effect::OpenLink(link) => assert!(!link.contains(is_dangerous), "{link:?}"),
        _ => {}
    }
}

/// Keys other than letters.
const NAMED: [Code; 14] = [
    Code::Enter,
    Code::Esc,
    Code::Tab,
    Code::BackTab,
    Code::Backspace,
    Code::Delete,
    Code::Up,
    Code::Down,
    Code::Left,
    Code::Right,
    Code::Home,
    Code::End,
    Code::PageUp,
    Code::PageDown,
];

/// Runs a fuzzer's input as actions on a dashboard.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn bytes(&mut self) -> &[u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (head, rest) = self.0.split_at(length);
        self.0 = rest;
        head
    }

    /// Returns one of the harmful texts, or the next bytes as a text.
    fn text(&mut self) -> String {
        match usize::from(self.byte()) {
            known if known < HOSTILE.len() => HOSTILE[known].to_string(),
            _ => String::from_utf8_lossy(self.bytes()).into_owned(),
        }
    }
}

/// Whatever messages arrive in whatever order, the state can be drawn and the screen contains nothing dangerous.
pub fn update(data: &[u8]) {
    let mut script = Script(data);
    let mut world = World::new((100, 30));
    let mut steps = 0;
    while !script.0.is_empty() && steps < 80 {
        steps += 1;
        match script.byte() % 20 {
            0..=4 => {
                let key = Key::char(char::from(b' ' + script.byte() % 95));
                world.feed(Msg::Key(key));
            }
            5 => {
                let key = Key {
                    ctrl: true,
                    ..Key::char(char::from(b'a' + script.byte() % 26))
                };
                world.feed(Msg::Key(key));
            }
            6 | 7 => {
                let key = Key::plain(NAMED[usize::from(script.byte()) % NAMED.len()]);
                world.feed(Msg::Key(key));
            }
            8 => {
                let size = (script.short() % 300, script.short() % 120);
                world.feed(Msg::Resize(size.0, size.1));
            }
            9 => {
                let (lines, x, y) = (
                    script.byte() as i8,
                    script.short() % 300,
                    script.short() % 120,
                );
                world.feed(Msg::Wheel { lines, x, y });
                world.feed(Msg::Click { x, y });
                // A press, held and moved.
                world.feed(Msg::Drag { x: y, y: x });
            }
            10 => {
                let text = script.text();
                world.feed(Msg::Paste(text));
            }
            11 | 12 => {
                let (well, which) = (script.byte() % 4 > 0, usize::from(script.byte()));
                let text = script.text();
                world.dash.relayout();
                let subs = world.dash.subscriptions();
                if let Some(sub) = subs.get(which % subs.len().max(1)) {
                    world.tell(sub, &text, well);
                }
            }
            13 => {
                let well = script.byte() % 4 > 0;
                let text = script.text();
                world.answer_all(&text, well);
            }
            14 | 15 => {
                let bytes = script.bytes().to_vec();
                world.bytes(&bytes);
            }
            16 => {
                // The clock is set forward or back, or the machine slept.
                let seconds = i64::from(script.short() as i16) * i64::from(script.byte()) * 60;
                world.dash.later(seconds * 1000);
                world.feed(Msg::Tick);
            }
            17 => {
                let attended = script.byte() % 2 == 0;
                world.feed(Msg::Focus(attended));
            }
            18 => {
                let text = script.text();
                world.feed(Msg::TaskPanicked {
                    key: None,
                    text: text.clone(),
                });
                world.feed(Msg::Edited(Ok(text)));
            }
            _ => {
                let text = script.text();
                let read = Config::parse(&text, Some(Path::new("config.toml"))).map(Box::new);
                world.feed(Msg::Configured(read));
            }
        }
        world.look();
        if world.dash.has_ended() {
            break;
        }
    }
}

/// Returns a row that can't be read, with a hostile reason.
fn unread(text: &str) -> UnreadRows {
    let mut unread = UnreadRows::of(text.to_string());
    unread.keep(Err::<(), _>(text));
    unread
}
