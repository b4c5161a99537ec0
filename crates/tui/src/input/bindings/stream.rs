//! Keys of a stream.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

/// Views with a cursor among the events. Delivery, Graph and History have cursors of their own.
const WITH_EVENTS: &[&str] = &["Messages", "Updates", "State", "Timeline", "Runs", "Custom", "Raw"];
/// Views whose entries are events, which a filter can hide.
const FILTERED: &[&str] = &["Messages", "Updates", "Timeline", "Runs", "Custom", "Raw"];
/// Views that show the text of events.
const WITH_TEXT: &[&str] = &["Messages", "Updates", "Custom", "Raw"];

pub(super) const ROWS: &[Binding] = &[
    bind("stream.open", Stream, &["Enter"], A::Open, "event", "Open the event as JSON; State: fold; Graph: last visit")
        .named("Open the event as JSON")
        .in_view(&[
            ("State", "Fold or unfold"),
            ("Timeline", "Go to Messages"),
            ("Delivery", "Go to the event"),
            ("Graph", "Go to the last visit"),
            ("History", "Open the difference or the state"),
        ]),
    bind(
        "stream.as_received",
        Stream,
        &["v"],
        A::AsReceived,
        "as received",
        "Raw, Custom: toggle summary and as received",
    )
    .named("Show events as received")
    .only_in(&["Custom", "Raw"]),
    bind("stream.wrap", Stream, &["w"], A::Wrap, "wrap", "Toggle wrapping of long lines")
        .named("Wrap long lines")
        .only_in(WITH_TEXT),
    bind(
        "stream.timestamps",
        Stream,
        &["T"],
        A::Timestamps,
        "times",
        "Times: of day, since the run began, since the previous entry",
    )
    .named("Change how times are shown")
    .only_in(&["Messages", "Updates", "Runs", "Custom", "Raw"]),
    bind("stream.fold_all", Stream, &["-"], A::FoldAll, "fold all", "Fold all, or unfold all; in Timeline: zoom")
        .named("Fold all (Timeline: zoom out)")
        .only_in(&["State", "Timeline", "Graph"])
        .in_view(&[
            ("State", "Fold all, or unfold all"),
            ("Timeline", "Zoom out or in"),
            ("Graph", "Fold or unfold all groups"),
        ]),
    bind("stream.unfold_all", Stream, &["+"], A::UnfoldAll, "unfold all", "")
        .named("Unfold all (Timeline: zoom in)")
        .only_in(&["State", "Timeline", "Graph"])
        .in_view(&[("State", "Unfold all"), ("Timeline", "Zoom in"), ("Graph", "Unfold all groups")]),
    bind(
        "stream.collapse",
        Stream,
        &["c"],
        A::Collapse,
        "collapse",
        "History: equal keys; Timeline: critical path; Graph: what is idle",
    )
    .named("Collapse unchanged or idle parts")
    .only_in(&["History", "Timeline", "Graph"])
    .in_view(&[
        ("History", "Show or hide equal keys"),
        ("Timeline", "Show only the critical path"),
        ("Graph", "Fold what is idle"),
    ]),
    bind(
        "stream.compare",
        Stream,
        &["="],
        A::Compare,
        "compare",
        "State: changes since a state; Runs: two runs; History: branches",
    )
    .named("Compare states, runs or branches")
    .only_in(&["State", "Runs", "History"])
    .in_view(&[
        ("State", "Show changes since a state"),
        ("Runs", "Compare two runs"),
        ("History", "Compare branches"),
    ]),
    bind("stream.mark", Stream, &["m"], A::Mark, "mark", "Mark the event; in State or Runs: to compare with")
        .named("Mark the event or state")
        .only_in(WITH_EVENTS)
        .in_view(&[("State", "Mark the state to compare with"), ("Runs", "Mark the run to compare")]),
    bind("stream.next_mark", Stream, &["'"], A::NextMark, "next mark", "Next or previous mark")
        .named("Go to the next mark")
        .only_in(WITH_EVENTS),
    bind("stream.prev_mark", Stream, &["\""], A::PrevMark, "previous mark", "")
        .named("Go to the previous mark")
        .only_in(WITH_EVENTS),
    bind("stream.copy_path", Stream, &["Y"], A::CopyPath, "copy path", "Copy the path of the value")
        .named("Copy the path")
        .only_in(&["State"]),
    bind("stream.export", Stream, &["s"], A::Export, "save", "Save the view to a file: text, JSON lines, Markdown")
        .named("Save the view")
        .only_in(&["Messages", "Updates", "State", "Timeline", "Runs", "Custom", "Raw", "Delivery", "Graph"])
        .in_view(&[("Timeline", "Sort: start, duration, self time")]),
    bind("stream.modes", Stream, &["M"], A::Modes, "modes", "Change the stream modes").named("Change the stream modes"),
    bind("stream.split", Stream, &["|"], A::Split, "split", "Toggle the split: two views side by side")
        .named("Split the view")
        .in_view(&[("Graph", "Change the view beside the graph")]),
    bind("stream.beside", Stream, &["\\"], A::Beside, "beside", "Show the next open stream beside this one")
        .named("Show another stream beside"),
    write(
        "stream.answer",
        Stream,
        &["a"],
        A::Answer,
        "answer",
        "Answer what the thread is waiting for, or continue it",
    )
    .named("Answer the thread"),
    write("stream.approve", Stream, &["A"], A::Approve, "approve all", "Approve everything undecided")
        .named("Approve everything"),
    write("stream.new_run", Stream, &["n"], A::NewRun, "new run", "Compose a run on this thread")
        .named("Start a new run"),
    write("stream.cancel", Stream, &["x"], A::CancelRun, "cancel the run", "Cancel the run; finished steps are kept")
        .named("Cancel the run"),
    write(
        "stream.rollback",
        Stream,
        &["X"],
        A::RollbackRun,
        "cancel, roll back",
        "Cancel the run and delete its checkpoints",
    )
    .named("Cancel with rollback"),
    write(
        "stream.again",
        Stream,
        &["R"],
        A::Again,
        "run again",
        "Retry a failure, run the last input again, or play a recording",
    )
    .named("Run it again")
    .in_view(&[("History", "Run again from here")]),
    write(
        "stream.edit_state",
        Stream,
        &["u"],
        A::Update,
        "edit state",
        "In History: edit the state here; an older one also runs",
    )
    .named("Edit the state")
    .only_in(&["History"])
    .in_view(&[("History", "Edit the state here")]),
    bind("stream.explain", Stream, &["e"], A::Explain, "explain", "Explain the thread: status, cause, what you can do")
        .named("Explain the thread"),
    bind(
        "stream.details",
        Stream,
        &["d"],
        A::Describe,
        "details",
        "The thread's state and record as the server has them",
    )
    .named("Show the state and record")
    .in_view(&[("Delivery", "Show or hide all counters"), ("History", "Show the checkpoint in full")]),
    bind(
        "stream.bisect",
        Stream,
        &["B"],
        A::Bisect,
        "bisect",
        "Find the step at which a value of the state became wrong",
    )
    .named("Bisect a value"),
    bind("stream.browser", Stream, &["o"], A::OpenLink, "browser", "Open the thread in Studio, in the browser")
        .named("Open in Studio"),
    write("stream.delete", Stream, &["D"], A::Delete, "delete", "Delete the thread (type the start of its id)")
        .named("Delete the thread"),
    bind(
        "stream.take_events",
        Stream,
        &["E"],
        A::TakeEvents,
        "read events",
        "Read a run whose events go to one reader only",
    )
    .named("Read the events of a run"),
    bind(
        "stream.search",
        Stream,
        &["/"],
        A::Search,
        "search",
        "Search for a regex in all views; in State, in the state",
    )
    .named("Search all views")
    .in_view(&[
        ("State", "Search the state"),
        ("Graph", "Search for a node"),
        ("History", "Search the checkpoints"),
    ]),
    bind(
        "stream.next_problem",
        Stream,
        &["]"],
        A::NextMatch,
        "next",
        "Next search hit, else problem or run's end; in State, state",
    )
    .named("Go to the next hit or problem")
    .in_view(&[
        ("State", "Next or previous hit or state"),
        ("Timeline", "Next or previous failure or run"),
        ("Delivery", "Next or previous problem"),
        ("Graph", "Next hit, else visited node"),
        ("History", "Next or previous thing to see"),
    ]),
    bind("stream.prev_problem", Stream, &["["], A::PrevMatch, "previous", "")
        .named("Go to the previous hit or problem"),
    bind("stream.filter", Stream, &["&"], A::FilterStream, "filter", "Filter: text, node:x mode:x path:a.b=3 !not")
        .named("Filter the events")
        .only_in(FILTERED),
    bind("stream.next_message", Stream, &[")"], A::NextMessage, "next message", "Next or previous message")
        .named("Go to the next message")
        .only_in(WITH_EVENTS),
    bind("stream.prev_message", Stream, &["("], A::PrevMessage, "previous message", "")
        .named("Go to the previous message")
        .only_in(WITH_EVENTS),
    bind("stream.next_step", Stream, &[], A::NextStep, "next step", "Next or previous step of the graph")
        .named("Go to the next step")
        .only_in(WITH_EVENTS),
    bind("stream.prev_step", Stream, &[], A::PrevStep, "previous step", "")
        .named("Go to the previous step")
        .only_in(WITH_EVENTS),
    bind("stream.follow", Stream, &["End", "G"], A::Follow, "follow", "Follow new events; moving up pauses")
        .named("Follow live")
        .in_view(&[
            ("Delivery", "Go to the last line"),
            ("Graph", "Follow the running node"),
            ("History", "Go to the oldest checkpoint"),
        ]),
    bind(
        "stream.play",
        Stream,
        &["Space"],
        A::Play,
        "pause",
        "Play or pause; Runs: mark; History: set A; Graph: breakpoint",
    )
    .named("Toggle playback")
    .in_view(&[
        ("Graph", "Set a breakpoint"),
        ("Runs", "Mark the run, or play the past"),
        ("History", "Set A, the base to compare with"),
    ]),
    bind("stream.later", Stream, &["."], A::Later, "next event", "One event forward or back")
        .named("Go one event forward"),
    bind("stream.earlier", Stream, &[","], A::Earlier, "previous event", "").named("Go one event back"),
    bind("stream.slide_on", Stream, &[">"], A::SlideOn, "jump forward", "Jump 5% forward or back")
        .named("Jump 5% forward"),
    bind("stream.slide_back", Stream, &["<"], A::SlideBack, "jump back", "").named("Jump 5% back"),
    bind("stream.speed", Stream, &["S"], A::Speed, "speed", "Playback speed: 1x, 2x, 10x, max")
        .named("Change the playback speed"),
    bind("stream.replay", Stream, &[], A::Replay, "replay", "Play the stream from its first event")
        .named("Replay the stream"),
    bind("stream.messages", Stream, &["1"], A::View1, "messages", "Messages: token by token, tool calls with results")
        .named("Show Messages"),
    bind("stream.updates", Stream, &["2"], A::View2, "updates", "Updates: what each node wrote").named("Show Updates"),
    bind("stream.state", Stream, &["3"], A::View3, "state", "State: after each step, and as the server has it")
        .named("Show State"),
    bind("stream.timeline", Stream, &["4"], A::View4, "timeline", "Timeline: bars for nodes, tools and models")
        .named("Show Timeline"),
    bind("stream.runs", Stream, &["5"], A::View5, "runs", "Runs: the thread's runs, their errors, connections")
        .named("Show Runs"),
    bind("stream.custom", Stream, &["6"], A::View6, "custom", "Custom: events emitted by nodes").named("Show Custom"),
    bind("stream.raw", Stream, &["7"], A::View7, "raw", "Raw: every event as received").named("Show Raw"),
    bind("stream.delivery", Stream, &["8"], A::View8, "delivery", "Delivery: gaps, duplicates, latency, tokens")
        .named("Show Delivery"),
    bind("stream.graph", Stream, &["9"], A::View9, "graph", "Graph: nodes and edges, what ran, how often and how long")
        .named("Show the Graph"),
    bind(
        "stream.history",
        Stream,
        &["0"],
        A::View0,
        "history",
        "History: the thread's checkpoints as a tree, their differences",
    )
    .named("Show History"),
    bind("stream.next_view", Stream, &["L"], A::NextView, "next view", "Next or previous view")
        .named("Show the next view"),
    bind("stream.prev_view", Stream, &["H"], A::PrevView, "previous view", "").named("Show the previous view"),
    bind("modes.toggle", Modes, &["Space"], A::Mark, "toggle", "Select or deselect the mode").named("Select the mode"),
    bind("modes.apply", Modes, &["Enter"], A::Open, "apply", "Reconnect with these modes at the current position")
        .named("Apply the modes"),
];
