//! Exports of views: written in parts, complete and sanitized.

use jiff::Timestamp;
use runtail_stream::{
    Data, Event, Item, Loaded, Reader, Record, Seq, SnapshotPart, ThreadSnapshot, write_record,
};
use runtail_testkit::dash::{Dash, demo, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::session::msg::{Chunk, FileStep};
use runtail_tui::session::msg::{Described, Effect, EffectResult};
use std::path::PathBuf;

/// Runs the effects of an export like the runtime, and returns the path, the file's bytes and the number of parts.
fn export(dash: &mut Dash, how: &str) -> (PathBuf, Vec<u8>, usize) {
    let line = format!(":export {how}").replace('<', "");
    let mut effects = dash.keys(&line);
    effects.extend(dash.keys("<Enter>"));
    let (mut path, mut file, mut parts) = (PathBuf::new(), Vec::new(), 0);
    while let Some(Effect::File(number, step)) = effects.pop() {
        match step {
            FileStep::Create(at) => path = at,
            FileStep::Write(chunks) => {
                assert!(
                    chunks.len() <= 3 * 2_000 + 8,
                    "a part is bounded: {}",
                    chunks.len()
                );
                parts += 1;
                chunks
                    .iter()
                    .for_each(|chunk| write_chunk(&mut file, chunk));
            }
            FileStep::Record(path) | FileStep::Comparison(path, _) | FileStep::Save(path, _) => {
                panic!("only a view was exported: {path:?}")
            }
            FileStep::Finish => {
                dash.done(EffectResult::FileStepped(number, Ok(file.len() as u64)));
                return (path, file, parts);
            }
        }
        effects = dash.done(EffectResult::FileStepped(number, Ok(file.len() as u64)));
    }
    panic!("the file was never finished: {:?}", dash.newest_notice());
}

fn write_chunk(out: &mut Vec<u8>, chunk: &Chunk) {
    match chunk {
        Chunk::Text(text) => out.extend(text.as_bytes()),
        Chunk::Line(text) | Chunk::Lines(text) => out.extend(text.as_bytes()),
        Chunk::Code(language, text) => {
            out.extend(format!("```{language}\n{text}\n```\n\n").as_bytes())
        }
        Chunk::Record(record) => write_record(out, record).unwrap(),
    }
}

#[test]
fn messages_are_exported_as_markdown_and_text() {
    let mut dash = demo_thread((140, 40));
    dash.capture("agent-messages-tuple");
    let (path, file, _) = export(&mut dash, "md");
    assert!(
        path.to_string_lossy()
            .starts_with("runtail-messages-01a1fbb5-"),
        "{path:?}"
    );
    assert_eq!(path.extension().unwrap(), "md");
    assert!(
        dash.newest_notice()
            .starts_with("Saved messages: 3 entries, ")
    );
    insta::assert_snapshot!("conversation_md", String::from_utf8(file).unwrap());
    let (path, file, _) = export(&mut dash, "own.txt");
    assert_eq!(
        path,
        PathBuf::from("own.txt"),
        "the extension selects the format"
    );
    insta::assert_snapshot!("conversation_text", String::from_utf8(file).unwrap());
}

/// A viewer of Markdown runs what is not text or code.
#[test]
fn no_view_exports_html_of_an_agent() {
    let mut dash = demo_thread((140, 40));
    let html = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let message = serde_json::json!([
        {"type": "ai", "id": "m1", "name": html, "content": format!("See `Vec<T>` {html}\n```\n<b>code</b>\n"),
         "additional_kwargs": {"reasoning_content": format!("I think\n{html}")},
         "tool_calls": [{"id": "c1", "name": html, "args": {"a": html}}]},
        {"type": "ai", "id": "m2", "content": format!("```\n{html}")},
    ]);
    let at = dash.now;
    let event = |seq, name: &str, data: String| {
        // Only values of the graph itself have the thread's messages.
        let ns = [html.into()]
            .into_iter()
            .filter(|_| name != "values")
            .collect();
        let (name, data) = (name.into(), Data::Json(data.into()));
        Item::Record(Record::Event(Event {
            seq: Seq(seq),
            at,
            conn: 1,
            replayed: false,
            name,
            ns,
            id: None,
            data,
        }))
    };
    let values = serde_json::json!({"messages": message}).to_string();
    let task = serde_json::json!({"id": "t", "name": html, "input": {}, "triggers": [html], "error": html});
    dash.items(vec![
        event(1, "values", values),
        event(
            2,
            "updates",
            serde_json::json!({html: {"note": html}}).to_string(),
        ),
        event(3, "tasks", task.to_string()),
        event(4, html, "{}".into()),
        event(
            5,
            "error",
            serde_json::json!({"error": html, "message": html}).to_string(),
        ),
    ]);
    let mut prose = String::new();
    for view in 1..=8 {
        dash.keys(&view.to_string());
        let (_, file, _) = export(&mut dash, &format!("md v{view}"));
        let mut fence = false;
        for line in String::from_utf8(file).unwrap().lines() {
            fence ^= line.starts_with("```");
            if !fence {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    prose.has(["See `Vec<T>` &lt;script>", "alert(2)"]);
    let text = prose.replace("`Vec<T>`", "").replace("\\<", "");
    assert!(!text.contains('<'), "{prose}");
}

#[test]
fn jsonl_export_is_a_recording() {
    let mut dash = demo_thread((140, 40));
    dash.capture("fanout-many-subgraphs");
    let (_, file, _) = export(&mut dash, "jsonl x");
    let records: Vec<Record> = Reader::new(std::io::Cursor::new(file))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let events: Vec<&Event> = records
        .iter()
        .filter_map(|r| {
            if let Record::Event(e) = r {
                Some(e)
            } else {
                None
            }
        })
        .collect();
    assert!(events.into_iter().cloned().eq(dash.events()));
    assert!(
        matches!(records[0], Record::Open { .. }),
        "other records are included too"
    );
    // A view that lists only some events exports those.
    dash.keys("3");
    let (_, file, _) = export(&mut dash, "jsonl y");
    let names = |file: Vec<u8>| {
        let records = Reader::new(std::io::Cursor::new(file))
            .unwrap()
            .map(Result::unwrap);
        records
            .filter_map(|r| {
                if let Record::Event(e) = r {
                    Some(e.name.to_string())
                } else {
                    None
                }
            })
            .collect::<Vec<_>>()
    };
    let names = names(file);
    assert!(
        names.len() > 2
            && names
                .iter()
                .all(|name| name == "values" || name == "checkpoints"),
        "{names:?}"
    );
    assert!(!names.iter().all(|name| name == "checkpoints"), "{names:?}");
}

#[test]
fn the_delivery_report_is_copied_and_its_records_are_exported() {
    let mut dash = demo_thread((140, 40));
    dash.capture("agent-messages-tuple");
    let at = dash.now;
    let mark = |record| Item::Record(record);
    dash.items(vec![
        mark(Record::Close {
            at,
            conn: 1,
            reason: "reset".into(),
        }),
        mark(Record::Gap {
            at,
            why: "disconnected for 3s; the server sends no ids to *resume* from".into(),
        }),
        mark(Record::Open {
            at,
            conn: 2,
            status: 200,
            resumed_after: Some("1795224332619-0".into()),
        }),
    ]);
    // More than the screen lists.
    for conn in 3..=80 {
        dash.items(vec![
            mark(Record::Close {
                at,
                conn: conn - 1,
                reason: "eof".into(),
            }),
            mark(Record::Open {
                at,
                conn,
                status: 200,
                resumed_after: None,
            }),
        ]);
    }
    dash.keys("6d");
    let screen = dash.screen();
    let reason = "disconnected for 3s; the server sends no ids to *resume* from";
    assert!(
        reason.split(' ').all(|word| screen.contains(word)),
        "no word of the reason is cut"
    );
    let Some(Effect::Copy(text)) = dash.keys("y").pop() else {
        panic!("{}", dash.screen())
    };
    insta::assert_snapshot!("delivery_text", text);
    dash.keys("<Esc>");
    let (_, json, _) = export(&mut dash, "jsonl x");
    let records: Vec<Record> = Reader::new(std::io::Cursor::new(json))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let count = |is: fn(&Record) -> bool| records.iter().filter(|record| is(record)).count();
    assert_eq!(count(|record| matches!(record, Record::Open { .. })), 80);
    assert_eq!(
        count(
            |record| matches!(record, Record::Gap { why, .. } if why.starts_with("disconnected for 3s"))
        ),
        1
    );
}

#[test]
fn filtered_events_are_not_exported() {
    let mut dash = demo_thread((140, 40));
    dash.capture("fanout-many-subgraphs");
    dash.keys("6&mode:values<Enter>");
    dash.screen();
    let (_, file, _) = export(&mut dash, "text x");
    let file = String::from_utf8(file).unwrap();
    assert!(
        file.lines().count() > 2 && file.lines().all(|line| line.contains("  values")),
        "{file}"
    );
}

#[test]
fn every_view_can_be_exported() {
    let mut dash = demo_thread((140, 40));
    dash.capture("fanout-many-subgraphs");
    for view in 1..=7 {
        for how in ["text", "md", "jsonl"] {
            dash.keys(&view.to_string());
            let (_, file, _) = export(&mut dash, &format!("{how} v{view}"));
            let file = String::from_utf8(file).unwrap();
            assert!(
                [4, 5, 7].contains(&view) || file.lines().count() > 1,
                "{view} {how}: {file}"
            );
        }
    }
}

/// Numbers and times match the screen: a snapshot has no number, and a replayed event has no arrival time.
#[test]
fn exported_events_have_the_numbers_and_times_of_the_screen() {
    let mut dash = demo_thread((140, 40));
    let at = dash.now;
    let thread = Loaded::Json(
        r#"{"thread_id": "01a1fbb5-173d-77d7-b93d-09bf6dcc9775", "status": "busy"}"#.into(),
    );
    let snapshot = ThreadSnapshot {
        at,
        parts: [(SnapshotPart::Thread, thread)].into(),
    }
    .into_event(Seq(1));
    let event = |seq, replayed| Event {
        seq: Seq(seq),
        at,
        conn: 1,
        replayed,
        name: "custom".into(),
        ns: [].into(),
        id: None,
        data: Data::Json("1".into()),
    };
    let events = [snapshot, event(2, true), event(3, false)];
    dash.items(
        events
            .map(|event| Item::Record(Record::Event(event)))
            .into(),
    );
    dash.keys("6");
    let (_, file, _) = export(&mut dash, "text x");
    let text = String::from_utf8(file).unwrap();
    let heads: Vec<&str> = text.lines().collect();
    let clock = at.strftime("%H:%M:%S");
    assert!(
        heads[0].starts_with(&format!("     –  {clock}  snapshot")),
        "{text}"
    );
    assert!(heads[1].starts_with("     1         –  custom"), "{text}");
    assert!(
        heads[2].starts_with(&format!("     2  {clock}  custom")),
        "{text}"
    );
}

#[test]
fn large_exports_are_written_in_parts_while_events_arrive() {
    let mut dash = demo_thread((140, 40));
    let events = |from: u64, to: u64| -> Vec<Item> {
        let event = |seq| {
            made::event(
                seq,
                Timestamp::UNIX_EPOCH,
                "custom",
                &format!("{{\"n\":{seq}}}"),
            )
        };
        (from..to)
            .map(|seq| Item::Record(Record::Event(event(seq))))
            .collect()
    };
    dash.items(events(1, 100_001));
    dash.keys("6");
    let mut effects = dash.keys(":export text big<Enter>");
    let mut file = Vec::new();
    let mut more = 100_001;
    while let Some(Effect::File(number, step)) = effects.pop() {
        if let FileStep::Write(chunks) = &step {
            chunks
                .iter()
                .for_each(|chunk| write_chunk(&mut file, chunk));
        }
        dash.items(events(more, more + 10));
        more += 10;
        effects = dash.done(EffectResult::FileStepped(number, Ok(file.len() as u64)));
    }
    let text = String::from_utf8(file).unwrap();
    assert_eq!(
        text.lines().count(),
        100_000,
        "the events that were there at the start"
    );
    assert!(text.lines().last().unwrap().ends_with("{\"n\":100000}"));
    assert!(
        dash.newest_notice()
            .starts_with("Saved events: 100,000 entries")
    );
}

#[test]
fn export_errors_are_reported() {
    let mut dash = demo();
    dash.keys(":export md x<Enter>");
    dash.told("No stream is shown");
    dash.open_thread();
    dash.capture("agent-events");
    dash.keys("s");
    dash.shows("> export text runtail-messages-01a1fbb5-");
    let effects = dash.keys("<Enter>");
    let [Effect::File(number, FileStep::Create(_))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    dash.keys(":export md x<Enter>");
    dash.told("still being written");
    dash.done(EffectResult::FileStepped(
        *number,
        Err("the file already exists and was not changed".into()),
    ));
    dash.told("the file already exists and was not changed");
    // Closing the stream leaves an incomplete file, which is reported.
    let effects = dash.keys(":export md x<Enter>");
    let [Effect::File(number, FileStep::Create(_))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    dash.keys("q");
    let effects = dash.done(EffectResult::FileStepped(*number, Ok(0)));
    assert!(
        matches!(effects.as_slice(), [Effect::File(_, FileStep::Finish)]),
        "{effects:?}"
    );
    dash.told("is incomplete");
    dash.done(EffectResult::FileStepped(*number, Ok(0)));
    dash.told("is incomplete");
}

#[test]
fn time_travel_during_an_export_is_reported() {
    let mut dash = demo_thread((140, 40));
    dash.capture("agent-messages-tuple");
    dash.keys("6");
    let effects = dash.keys(":export text x<Enter>");
    let [Effect::File(number, FileStep::Create(_))] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    dash.keys(",");
    let effects = dash.done(EffectResult::FileStepped(*number, Ok(0)));
    assert!(
        matches!(effects.as_slice(), [Effect::File(_, FileStep::Finish)]),
        "{effects:?}"
    );
    dash.told("is incomplete: time travel moved to an earlier event");
}

#[test]
fn long_hidden_stretches_do_not_end_a_filtered_export() {
    let mut dash = demo_thread((140, 40));
    let event = |seq: u64| {
        let word = if seq.is_multiple_of(9_000) {
            "needle"
        } else {
            "hay"
        };
        let at = Timestamp::UNIX_EPOCH;
        Item::Record(Record::Event(made::event(
            seq,
            at,
            "custom",
            &format!("{{\"word\":\"{word}\"}}"),
        )))
    };
    dash.items((1..=30_000).map(event).collect());
    dash.keys("6&needle<Enter>");
    for how in ["text x", "jsonl x", "md x"] {
        let (_, file, _) = export(&mut dash, how);
        let count = String::from_utf8(file).unwrap().matches("needle").count();
        assert_eq!(count, 3, "{how}: {}", dash.newest_notice());
    }
}

#[test]
fn gaps_suggest_showing_the_thread_state() {
    let mut dash = demo_thread((140, 40));
    dash.capture("agent-messages-tuple");
    let offer = "State (3) is current.";
    dash.keys("6d");
    dash.lacks(offer);
    dash.keys("<Esc>");
    let gap = Record::Gap {
        at: Timestamp::UNIX_EPOCH,
        why: "disconnected for 3s".into(),
    };
    dash.items(vec![Item::Record(gap)]);
    dash.keys("d");
    dash.shows(offer);
    let effects = dash.keys("<Esc>:state<Enter>");
    assert!(
        matches!(&effects[..], [Effect::Describe(Described::Thread(..))]),
        "{effects:?}"
    );
}
