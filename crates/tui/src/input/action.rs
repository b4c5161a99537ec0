//! Actions that keys trigger, and the contexts in which keys are pressed.

/// Declares the contexts: the variant, and where its keys work.
macro_rules! contexts {
    ($($(#[$doc:meta])* $context:ident $place:literal,)*) => {
        /// A part of the screen with its own keys.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Context {
            $($(#[$doc])* $context,)*
        }

        impl Context {
            /// Returns where its keys work, as the end of a sentence: "works only in Revisions".
            pub fn place(self) -> &'static str {
                match self { $(Context::$context => $place,)* }
            }
        }
    };
}

contexts! {
    /// Everywhere, after the context's own keys.
    Global "everywhere",
    /// The list of deployments.
    Deployments "Deployments",
    /// The revisions of one deployment.
    Revisions "Revisions",
    /// The threads, runs and assistants of an agent server.
    Server "Threads and runs",
    /// The stream viewer.
    Stream "a thread",
    /// The modes of a stream.
    Modes "the stream modes",
    Logs "the logs",
    /// The page that explains a revision.
    Card "the explanation of a revision",
    /// The card that explains a thread.
    Why "the explanation of a thread",
    /// The page of a bisect.
    Bisect "a bisect",
    /// The delivery report of a stream.
    Report "the delivery report",
    /// A JSON document.
    Inspector "a JSON document",
    /// A page of text: help, messages.
    Page "a page of text",
    /// The composer of a run.
    Composer "the form of a new run",
    /// A document being edited.
    Editor "the editor",
    /// The preview of a change.
    Confirm "a preview",
    /// The answer to a thread's questions.
    Answer "an answer",
    Journal "the journal",
    /// One entry of the journal.
    Entry "a journal entry",
    /// A command being typed.
    Command "the palette",
    /// All profiles.
    Profiles "Profiles",
    /// A list of resources: integrations, listeners, providers, tokens.
    Browse "a list of resources",
    /// A page of an agent server's records: versions of an assistant, crons, the store.
    Records "versions, crons and the store",
    /// An authentication before it is sent.
    Request "the preview of an authentication",
    /// An authentication that was sent.
    SignIn "an authentication",
    /// The diff of the configuration file, before it is written.
    Save "the preview of the configuration",
    /// The first-run screen, shown while nothing is configured.
    FirstRun "the first run",
    /// The threads that wait for a person, and what failed.
    Inbox "the Inbox",
    /// Two runs, threads or recordings side by side.
    Compare "a comparison",
    /// The graph of an assistant, without a thread.
    Graph "the graph of an assistant",
    /// The help screen.
    Help "the help",
}

impl Context {
    /// Returns its name in a heading: "HERE · thread".
    pub fn name(self) -> &'static str {
        let place = self.place();
        place
            .strip_prefix("the ")
            .or_else(|| place.strip_prefix("a "))
            .or_else(|| place.strip_prefix("an "))
            .unwrap_or(place)
    }

    /// Returns where its actions work: "works on: a revision", "works in: the palette", "works everywhere".
    pub fn scope(self) -> String {
        match self.object() {
            Some(object) => format!("works on: {object}"),
            None if self == Context::Global => "works everywhere".into(),
            None => format!("works in: {}", self.place()),
        }
    }

    /// Returns whether letters are typed there.
    pub(crate) fn is_typed_in(self) -> bool {
        use Context::*;
        matches!(self, Composer | Editor | Answer | Confirm | Command)
    }

    /// Returns what its actions act on, if they act on the object under the cursor.
    pub fn object(self) -> Option<&'static str> {
        Some(match self {
            Context::Deployments => "a deployment",
            Context::Revisions | Context::Card => "a revision",
            Context::Server => "a thread, run or assistant",
            Context::Stream | Context::Why => "a thread",
            Context::Profiles => "a profile",
            Context::Inbox => "a row of the Inbox",
            _ => return None,
        })
    }
}

/// An action that a key triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    Quit,
    QuitNow,
    Back,
    Help,
    Notices,
    NextPane,
    PrevPane,
    Zoom,
    Refresh,
    Copy,
    CopyPath,
    Suspend,
    Redraw,
    Up,
    Down,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    Bottom,
    Left,
    Right,
    Open,
    Describe,
    Filter,
    NextMatch,
    PrevMatch,
    Search,
    FilterStream,
    /// Choose the next of the proposed filters.
    NextChip,
    NextMessage,
    PrevMessage,
    NextMark,
    PrevMark,
    Sort,
    ReverseSort,
    Mark,
    MarkAll,
    /// Star a thread, or remove its star.
    Star,
    Watch,
    Explain,
    Compare,
    BuildLog,
    ServerLog,
    Level,
    Window,
    Threads,
    Runs,
    Assistants,
    NewRun,
    /// Read a run even though that takes its events away from other readers.
    TakeEvents,
    Answer,
    Approve,
    CancelRun,
    RollbackRun,
    Again,
    /// Make a thread idle that is busy without a run.
    Release,
    /// Run the assistant that a thread belonged to before its newest run.
    RestoreAssistant,
    View1,
    View2,
    View3,
    View4,
    View5,
    View6,
    View7,
    Split,
    NextStream,
    PrevStream,
    AsReceived,
    NextView,
    PrevView,
    PrevStep,
    NextStep,
    Follow,
    Replay,
    Play,
    Speed,
    Earlier,
    Later,
    SlideBack,
    SlideOn,
    Modes,
    FoldAll,
    UnfoldAll,
    /// Hide what is unremarkable, or show it again.
    Collapse,
    /// Find the step at which a value became wrong.
    Bisect,
    Start,
    /// Use an earlier input.
    LastInput,
    NextField,
    PrevField,
    Command,
    Create,
    Update,
    Delete,
    Redeploy,
    Interrupt,
    Rollback,
    Preview,
    EditOutside,
    StartOver,
    Send,
    Option,
    Form,
    Request,
    Curl,
    Profiles,
    Test,
    Edit,
    Save,
    Anyway,
    NextProfile,
    PrevProfile,
    TokensOf,
    Discover,
    DeleteAll,
    SignIn,
    OpenLink,
    Export,
    Wrap,
    Timestamps,
    Freeze,
    Inbox,
    Schemas,
    /// Pause or resume a cron.
    Pause,
}

impl Action {
    /// Returns whether the action is about a list rather than the object under the cursor.
    pub(crate) fn is_of_list(self) -> bool {
        use Action::*;
        matches!(
            self,
            Sort | ReverseSort | Filter | Create | Save | MarkAll | Threads | Assistants
        )
    }

    /// Returns whether the action works while the screen is frozen.
    pub(crate) fn works_frozen(self) -> bool {
        matches!(
            self,
            Action::Freeze | Action::QuitNow | Action::Suspend | Action::Redraw
        )
    }

    /// Returns whether the action acts on the selected row of a list. Only then it waits until a frame has shown that row.
    pub(crate) fn concerns_selection(self, context: Context) -> bool {
        use Action::*;
        // In a thread, the digits show its views. Elsewhere they show something of the row.
        let is_of_page = matches!(self, NextProfile | PrevProfile | Discover)
            || context == Context::Stream && (View1..=View7).contains(&self);
        !self.is_of_list() && !is_of_page
    }

    /// Returns whether the action sends a request, rather than opening the dialog that does.
    pub(crate) fn sends(self) -> bool {
        matches!(self, Action::Send | Action::Start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::keymap::BINDINGS;
    use super::*;

    #[test]
    fn only_actions_that_leave_the_row_alone_work_on_an_unseen_selection() {
        use Context::*;
        let lists = [
            Deployments,
            Revisions,
            Server,
            Inbox,
            Browse,
            Records,
            Profiles,
            Journal,
        ];
        let exempt = BINDINGS.iter().filter(|row| {
            lists.contains(&row.context) && !row.action.concerns_selection(row.context)
        });
        assert_eq!(
            exempt.map(|row| row.id).collect::<Vec<_>>().join(" "),
            "deployments.create deployments.sort deployments.reverse deployments.filter \
             server.threads server.assistants server.mark_all server.sort server.filter inbox.mark_all inbox.filter \
             records.create records.filter profiles.save \
             browse.profile browse.back_profile browse.filter browse.create browse.discover"
        );
    }
}
