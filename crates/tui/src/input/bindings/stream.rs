//! Keys of a stream.

use super::super::action::{Action::*, Context};
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
            bind(
                "stream.open",
                "Enter",
                Open,
                "event",
                "Open the event as JSON",
                "Open the event as JSON; State: fold; Graph: last visit",
            )
            .in_view(&[
                ("State", "Fold or unfold"),
                ("Timeline", "Go to Messages"),
                ("Runs", "Show only this run, or all"),
                ("Graph", "Go to the last visit"),
                ("Steps", "Show the state here in all views"),
            ]),
            bind(
                "stream.as_received",
                "v",
                AsReceived,
                "as received",
                "Show events as received",
                "Events: toggle summary and as received",
            )
            .only_in(&["Events"]),
            bind(
                "stream.wrap",
                "w",
                Wrap,
                "wrap",
                "Wrap long lines",
                "Toggle wrapping of long lines",
            )
            .only_in(WITH_TEXT),
            bind(
                "stream.timestamps",
                "T",
                Timestamps,
                "times",
                "Change how times are shown",
                "Times: of day, since the run began, since the previous entry",
            )
            .only_in(&["Messages", "Steps", "Events"]),
            bind(
                "stream.fold_all",
                "-",
                FoldAll,
                "fold all",
                "Fold all",
                "Fold all, or unfold all",
            )
            .only_in(&["State", "Graph"])
            .in_view(&[
                ("State", "Fold all, or unfold all"),
                ("Graph", "Fold or unfold all groups"),
            ]),
            bind(
                "stream.unfold_all",
                "+",
                UnfoldAll,
                "unfold all",
                "Unfold all",
                "",
            )
            .only_in(&["State", "Graph"])
            .in_view(&[("State", "Unfold all"), ("Graph", "Unfold all groups")]),
            bind(
                "stream.collapse",
                "c",
                Collapse,
                "collapse",
                "Collapse unchanged or idle parts",
                "Steps: equal keys; Graph: what is idle",
            )
            .only_in(&["Steps", "Graph"])
            .in_view(&[
                ("Steps", "Show or hide equal keys"),
                ("Graph", "Fold what is idle"),
            ]),
            bind(
                "stream.compare",
                "=",
                Compare,
                "compare",
                "Show a difference",
                "Steps, State: changes since a state; Runs: two runs",
            )
            .only_in(&["Steps", "State", "Runs"])
            .in_view(&[
                ("State", "Show changes since a state"),
                ("Runs", "Compare two runs"),
                ("Steps", "Compare states or branches"),
            ]),
            bind(
                "stream.mark",
                "m",
                Mark,
                "mark",
                "Mark the event or state",
                "Mark the event; in State or Runs: to compare with",
            )
            .only_in(WITH_EVENTS)
            .in_view(&[
                ("State", "Mark the state to compare with"),
                ("Runs", "Mark the run to compare"),
            ]),
            bind(
                "stream.next_mark",
                "'",
                NextMark,
                "next mark",
                "Go to the next mark",
                "Next or previous mark",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.prev_mark",
                "\"",
                PrevMark,
                "previous mark",
                "Go to the previous mark",
                "",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.copy_path",
                "Y",
                CopyPath,
                "copy path",
                "Copy the path",
                "Copy the path of the value",
            )
            .only_in(&["State"]),
            bind(
                "stream.export",
                "s",
                Export,
                "save",
                "Save the view",
                "Save the view to a file: text, JSON lines, Markdown",
            )
            .only_in(&[
                "Messages", "Steps", "State", "Timeline", "Graph", "Events", "Runs",
            ]),
            bind(
                "stream.modes",
                "M",
                Modes,
                "modes",
                "Change the stream modes",
                "Change the stream modes",
            ),
            bind(
                "stream.split",
                "|",
                Split,
                "split",
                "Split the view",
                "Toggle the split: two views side by side",
            )
            .in_view(&[("Graph", "Change the view beside the graph")]),
            write(
                "stream.answer",
                "a",
                Answer,
                "answer",
                "Answer the thread",
                "Answer what the thread is waiting for, or continue it",
            ),
            write(
                "stream.approve",
                "A",
                Approve,
                "approve all",
                "Approve everything",
                "Approve everything undecided",
            ),
            write(
                "stream.new_run",
                "n",
                NewRun,
                "new run",
                "Start a new run",
                "Compose a run on this thread",
            ),
            write(
                "stream.cancel",
                "x",
                CancelRun,
                "cancel the run",
                "Cancel the run",
                "Cancel the run; finished steps are kept",
            ),
            write(
                "stream.rollback",
                "X",
                RollbackRun,
                "cancel, roll back",
                "Cancel with rollback",
                "Cancel the run and delete its checkpoints",
            ),
            write(
                "stream.again",
                "R",
                Again,
                "run again",
                "Run it again",
                "Retry a failure, run the last input again, or play a recording",
            )
            .in_view(&[("Steps", "Run again from here")]),
            write(
                "stream.edit_state",
                "u",
                Update,
                "edit state",
                "Edit the state",
                "In Steps: edit the state here; an older one also runs",
            )
            .only_in(&["Steps"])
            .in_view(&[("Steps", "Edit the state here")]),
            bind(
                "stream.explain",
                "e",
                Explain,
                "explain",
                "Explain the thread",
                "Explain the thread: status, cause, what you can do",
            ),
            bind(
                "stream.details",
                "d",
                Describe,
                "details",
                "Show the state and record",
                "The thread's state and record as the server has them",
            )
            .in_view(&[
                ("Events", "Show the delivery report"),
                ("Steps", "Show the checkpoint in full"),
            ]),
            bind(
                "stream.bisect",
                "B",
                Bisect,
                "bisect",
                "Bisect a value",
                "Find the step at which a value of the state became wrong",
            ),
            bind(
                "stream.browser",
                "o",
                OpenLink,
                "browser",
                "Open in Studio",
                "Open the thread in Studio, in the browser",
            ),
            write(
                "stream.delete",
                "D",
                Delete,
                "delete",
                "Delete the thread",
                "Delete the thread (type the start of its id)",
            ),
            bind(
                "stream.take_events",
                "E",
                TakeEvents,
                "read events",
                "Read the events of a run",
                "Read a run whose events go to one reader only",
            ),
            bind(
                "stream.search",
                "/",
                Search,
                "search",
                "Search all views",
                "Search for a regex in all views; in State, in the state",
            )
            .in_view(&[
                ("State", "Search the state"),
                ("Graph", "Search for a node"),
            ]),
            bind(
                "stream.next_problem",
                "]",
                NextMatch,
                "next",
                "Go to the next hit or problem",
                "Next search hit, else problem or run's end; in State, state",
            )
            .in_view(&[
                ("State", "Next or previous hit or state"),
                ("Timeline", "Next or previous failure or run"),
                ("Graph", "Next hit, else visited node"),
                ("Steps", "Next problem or branch"),
            ]),
            bind(
                "stream.prev_problem",
                "[",
                PrevMatch,
                "previous",
                "Go to the previous hit or problem",
                "",
            ),
            bind(
                "stream.filter",
                "&",
                FilterStream,
                "filter",
                "Filter the events",
                "Filter: text, node:x mode:x path:a.b=3 !not",
            )
            .only_in(FILTERED),
            bind(
                "stream.next_chip",
                "C",
                NextChip,
                "next filter",
                "Choose the next filter",
                "Events: all, custom, errors, a node or a run",
            )
            .only_in(&["Events"]),
            bind(
                "stream.next_message",
                ")",
                NextMessage,
                "next message",
                "Go to the next message",
                "Next or previous message",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.prev_message",
                "(",
                PrevMessage,
                "previous message",
                "Go to the previous message",
                "",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.next_step",
                "",
                NextStep,
                "next step",
                "Go to the next step",
                "Next or previous step of the graph",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.prev_step",
                "",
                PrevStep,
                "previous step",
                "Go to the previous step",
                "",
            )
            .only_in(WITH_EVENTS),
            bind(
                "stream.follow",
                "End G",
                Follow,
                "follow",
                "Follow live",
                "Follow new events; moving up pauses",
            )
            .in_view(&[
                ("Runs", "Go to the oldest run"),
                ("Graph", "Follow the running node"),
            ]),
            bind(
                "stream.play",
                "Space",
                Play,
                "pause",
                "Toggle playback",
                "Play or pause; Runs: mark; Steps: set A; Graph: breakpoint",
            )
            .in_view(&[
                ("Graph", "Set a breakpoint"),
                ("Runs", "Mark the run, or play"),
                ("Steps", "Set A, the base"),
            ]),
            bind(
                "stream.later",
                ".",
                Later,
                "next event",
                "Go one event forward",
                "One event forward or back",
            ),
            bind(
                "stream.earlier",
                ",",
                Earlier,
                "previous event",
                "Go one event back",
                "",
            ),
            bind(
                "stream.slide_on",
                ">",
                SlideOn,
                "jump forward",
                "Jump 5% forward",
                "Jump 5% forward or back; with one run shown: next run",
            ),
            bind(
                "stream.slide_back",
                "<",
                SlideBack,
                "jump back",
                "Jump 5% back",
                "",
            ),
            bind(
                "stream.speed",
                "S",
                Speed,
                "speed",
                "Change the playback speed",
                "Playback speed: 1x, 2x, 10x, max",
            ),
            bind(
                "stream.replay",
                "",
                Replay,
                "replay",
                "Replay the stream",
                "Play the stream from its first event",
            ),
            bind(
                "stream.messages",
                "1",
                View1,
                "messages",
                "Show Messages",
                "Messages: token by token, tool calls with results",
            ),
            bind(
                "stream.steps",
                "2",
                View2,
                "steps",
                "Show Steps",
                "Steps: what ran and wrote, with branches and differences",
            ),
            bind(
                "stream.state",
                "3",
                View3,
                "state",
                "Show State",
                "State: after each step, and as the server has it",
            ),
            bind(
                "stream.timeline",
                "4",
                View4,
                "timeline",
                "Show Timeline",
                "Timeline: bars for nodes, tools and models",
            ),
            bind(
                "stream.graph",
                "5",
                View5,
                "graph",
                "Show the Graph",
                "Graph: nodes and edges, what ran, how often and how long",
            ),
            bind(
                "stream.events",
                "6",
                View6,
                "events",
                "Show Events",
                "Events: raw events, delivery",
            ),
            bind(
                "stream.runs",
                "7",
                View7,
                "runs",
                "Show Runs",
                "Runs: status, times, tokens, why each ended",
            ),
            bind(
                "stream.next_view",
                "L",
                NextView,
                "next view",
                "Show the next view",
                "Next or previous view",
            ),
            bind(
                "stream.prev_view",
                "H",
                PrevView,
                "previous view",
                "Show the previous view",
                "",
            ),
        ],
    ),
    (
        Context::Modes,
        &[
            bind(
                "modes.toggle",
                "Space",
                Mark,
                "toggle",
                "Select the mode",
                "Select or deselect the mode",
            ),
            bind(
                "modes.apply",
                "Enter",
                Open,
                "apply",
                "Apply the modes",
                "Reconnect with these modes at the current position",
            ),
        ],
    ),
];
