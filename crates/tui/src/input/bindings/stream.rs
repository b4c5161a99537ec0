//! Keys of a stream.

use super::super::action::{Action::*, Context};
use super::shared::{
    PAUSES, again, answer, approve, cancel, copy_path, explain, fold_all, new_run, rollback_run,
    state,
};
use super::{Rows, bind, write};

/// Views with a cursor among the events. Graph has a cursor of its own.
const WITH_EVENTS: &[&str] = &["Messages", "Steps", "State", "Timeline", "Events", "Runs"];
/// Views whose entries are events, which a filter can hide.
const FILTERED: &[&str] = &["Messages", "Steps", "Timeline", "Events"];
/// Views that show the text of events.
const WITH_TEXT: &[&str] = &["Messages", "Events"];

pub(super) const ROWS: Rows = &[
    (
        Context::Stream,
        &[
            bind("stream.open", "Enter", Open, "Open the event as JSON")
                .label("event")
                .in_view(&[
                    ("State", "Fold or unfold"),
                    ("Timeline", "Go to Messages"),
                    ("Runs", "Show only this run, or all"),
                    ("Graph", "Go to the last visit"),
                    ("Steps", "Show this state in all views"),
                ]),
            bind(
                "stream.as_received",
                "v",
                AsReceived,
                "Show events as received",
            )
            .only_in(&["Events"]),
            bind("stream.wrap", "w", Wrap, "Wrap long lines").only_in(WITH_TEXT),
            bind(
                "stream.timestamps",
                "T",
                Timestamps,
                "Change the time format",
            )
            .help("of day, since the run's start, since the previous")
            .only_in(&["Messages", "Steps", "Events"]),
            fold_all("stream.fold_all", "stream.unfold_all").only_in(&["State", "Graph"]),
            bind(
                "stream.collapse",
                "c",
                Collapse,
                "Collapse equal or idle parts",
            )
            .only_in(&["Steps", "Graph"])
            .in_view(&[
                ("Steps", "Show or hide equal keys"),
                ("Graph", "Fold what is idle"),
            ]),
            bind("stream.compare", "=", Compare, "Compare states or runs")
                .only_in(&["Steps", "State", "Runs"])
                .in_view(&[
                    ("State", "Show changes since a state"),
                    ("Runs", "Compare two runs"),
                    ("Steps", "Compare states or branches"),
                ]),
            bind("stream.mark", "m", Mark, "Mark the event or state")
                .only_in(WITH_EVENTS)
                .in_view(&[
                    ("State", "Mark the state to compare"),
                    ("Runs", "Mark the run to compare"),
                ]),
            bind("stream.next_mark", "'", NextMark, "Go to the next mark")
                .back("stream.prev_mark", "\"", PrevMark)
                .only_in(WITH_EVENTS),
            copy_path("stream.copy_path").only_in(&["State"]),
            bind("stream.export", "s", Export, "Save the view")
                .help("text, JSON lines, Markdown")
                .only_in(&[
                    "Messages", "Steps", "State", "Timeline", "Graph", "Events", "Runs",
                ]),
            bind("stream.modes", "M", Modes, "Change the stream modes"),
            bind("stream.split", "|", Split, "Split the view")
                .in_view(&[("Graph", "Change the other view")]),
            answer("stream.answer"),
            approve("stream.approve"),
            new_run("stream.new_run"),
            cancel("stream.cancel"),
            rollback_run("stream.rollback"),
            again("stream.again").in_view(&[("Steps", "Run again from here")]),
            write("stream.edit_state", "u", Update, "Edit the state")
                .label("edit state")
                .help("an older one also starts a run")
                .only_in(&["Steps"])
                .in_view(&[("Steps", "Edit the state here")]),
            explain("stream.explain").help("status, cause, actions"),
            state("stream.details").in_view(&[
                ("Events", "Show the delivery report"),
                ("Steps", "Show the whole checkpoint"),
            ]),
            bind("stream.bisect", "B", Bisect, "Bisect a value")
                .help("finds the step where it became wrong"),
            bind("stream.browser", "o", OpenLink, "Open in Studio"),
            write("stream.delete", "D", Delete, "Delete the thread")
                .help("type the start of its id"),
            bind(
                "stream.take_events",
                "E",
                TakeEvents,
                "Read the events of a run",
            )
            .help("other readers don't get them"),
            bind("stream.search", "/", Search, "Search all views")
                .help("regex")
                .in_view(&[
                    ("State", "Search the state"),
                    ("Graph", "Search for a node"),
                ]),
            bind(
                "stream.next_problem",
                "]",
                NextMatch,
                "Go to the next hit or problem",
            )
            .label("next")
            .back("stream.prev_problem", "[", PrevMatch)
            .in_view(&[
                ("State", "Go to the next hit or state"),
                ("Timeline", "Go to the next failure or run"),
                ("Graph", "Go to the next hit or visit"),
                ("Steps", "Go to the next error or branch"),
            ]),
            bind("stream.filter", "&", FilterStream, "Filter the events")
                .help("text, node:x mode:x path:a.b=3 !not")
                .only_in(FILTERED),
            bind("stream.next_chip", "C", NextChip, "Choose the next filter")
                .label("next filter")
                .help("custom, errors, a node or a run")
                .only_in(&["Events"]),
            bind(
                "stream.next_message",
                ")",
                NextMessage,
                "Go to the next message",
            )
            .back("stream.prev_message", "(", PrevMessage)
            .only_in(WITH_EVENTS),
            bind("stream.next_step", "", NextStep, "Go to the next step")
                .back("stream.prev_step", "", PrevStep)
                .only_in(WITH_EVENTS),
            bind("stream.follow", "End G", Follow, "Follow new events")
                .help(PAUSES)
                .in_view(&[
                    ("Runs", "Go to the oldest run"),
                    ("Graph", "Follow the running node"),
                ]),
            bind("stream.play", "Space", Play, "Play or pause")
                .label("pause")
                .in_view(&[
                    ("Graph", "Set a breakpoint"),
                    ("Runs", "Mark the run, or play"),
                    ("Steps", "Set A, the base"),
                ]),
            bind("stream.later", ".", Later, "Go one event forward").back(
                "stream.earlier",
                ",",
                Earlier,
            ),
            bind("stream.slide_on", ">", SlideOn, "Jump 5% forward")
                .back("stream.slide_back", "<", SlideBack)
                .help("with one run shown: another run"),
            bind("stream.speed", "S", Speed, "Change the playback speed")
                .label("speed")
                .help("1x, 2x, 10x, max"),
            bind("stream.replay", "", Replay, "Replay the stream"),
            bind("stream.messages", "1", View1, "Show Messages")
                .help("tokens, tool calls, results"),
            bind("stream.steps", "2", View2, "Show Steps").help("what ran and wrote, branches"),
            bind("stream.state", "3", View3, "Show State").help("after each step"),
            bind("stream.timeline", "4", View4, "Show Timeline")
                .help("bars for nodes, tools and models"),
            bind("stream.graph", "5", View5, "Show Graph").help("nodes, edges, counts, durations"),
            bind("stream.events", "6", View6, "Show Events").help("raw events, delivery"),
            bind("stream.runs", "7", View7, "Show Runs").help("status, times, tokens, causes"),
            bind("stream.next_view", "L", NextView, "Show the next view").back(
                "stream.prev_view",
                "H",
                PrevView,
            ),
        ],
    ),
    (
        Context::Modes,
        &[
            bind("modes.toggle", "Space", Mark, "Toggle the mode"),
            bind("modes.apply", "Enter", Open, "Apply the modes")
                .help("reconnects at the current position"),
        ],
    ),
];
