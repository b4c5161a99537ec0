//! The one table of keys: it feeds dispatch, the footer, the help screen and the configuration's `[keys]`.

use super::key::{Code, Key};
use super::line::{Line, Tone};
use super::server::Tab;
use std::collections::BTreeMap;

/// Where keys are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Everywhere, after the context's own keys.
    Global,
    /// The list of deployments.
    Deployments,
    /// The revisions of one deployment.
    Revisions,
    /// The threads, runs and assistants of an agent server.
    Server,
    /// The stream viewer.
    Stream,
    /// Logs.
    Logs,
    /// The page that explains a revision.
    Card,
    /// A JSON document.
    Inspector,
    /// A page of text: help, messages.
    Page,
    /// The composer of a run.
    Composer,
    /// A document being edited.
    Editor,
    /// A change that is asked about.
    Confirm,
    /// The journal.
    Journal,
    /// An entry of it.
    Entry,
    /// A command being typed.
    Command,
    /// All profiles.
    Profiles,
    /// A list beside the deployments.
    Browse,
    /// An authentication before it is sent.
    Request,
    /// One that was sent.
    SignIn,
    /// What would be written to the configuration file.
    Save,
    /// Where nothing is configured.
    FirstRun,
}

impl Context {
    /// The heading on the help screen.
    pub fn title(self) -> &'static str {
        match self {
            Context::Global => "Everywhere",
            Context::Deployments => "Deployments",
            Context::Revisions => "Revisions",
            Context::Server => "Threads, runs, assistants",
            Context::Stream => "Stream",
            Context::Logs => "Logs",
            Context::Card => "A revision explained",
            Context::Inspector => "JSON",
            Context::Page => "Pages",
            Context::Composer => "Composing a run",
            Context::Editor => "Editing a document",
            Context::Confirm => "Before a change is made",
            Context::Journal => "The journal",
            Context::Entry => "An entry of the journal",
            Context::Command => "Typing a command",
            Context::Profiles => "Profiles",
            Context::Browse => "Integrations, listeners, providers, tokens, connections",
            Context::Request => "Before an authentication is sent",
            Context::SignIn => "An authentication",
            Context::Save => "Before the configuration is written",
            Context::FirstRun => "The first run",
        }
    }
}

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
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
    Sort,
    ReverseSort,
    Mark,
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
    View1,
    View2,
    View3,
    View4,
    View5,
    NextView,
    PrevView,
    PrevState,
    NextState,
    Follow,
    Replay,
    FoldAll,
    UnfoldAll,
    Start,
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
    Anew,
    Send,
    Traces,
    Curl,
    Profiles,
    Test,
    Add,
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
}

impl Action {
    /// Whether it is one of a dialog that asks about a change, rather than one that moves in it.
    pub(super) fn is_of_confirm(self) -> bool {
        matches!(self, Action::Send | Action::Back | Action::Quit | Action::Traces | Action::Curl)
    }

    /// Whether it leads to where something can be sent.
    fn leads_to_sending(self) -> bool {
        use Action::*;
        matches!(self, Preview | Create | Update | Delete | DeleteAll | Redeploy | Interrupt | Rollback)
    }
}

/// One row of the table.
pub struct Binding {
    /// The name in the configuration's `[keys]`.
    pub id: &'static str,
    /// Where it works.
    pub context: Context,
    /// The keys that come with Runtail.
    pub keys: &'static [&'static str],
    /// What happens.
    pub action: Action,
    /// One or two words for the footer.
    pub label: &'static str,
    /// A sentence for the help screen.
    pub help: &'static str,
}

const fn bind(
    id: &'static str,
    context: Context,
    keys: &'static [&'static str],
    action: Action,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding { id, context, keys, action, label, help }
}

/// Every key that works, in the order of the help screen.
pub const BINDINGS: &[Binding] = {
    use Action as A;
    use Context::*;
    &[
        bind("app.help", Global, &["?"], A::Help, "help", "Show the keys that work here"),
        bind("app.command", Global, &[":"], A::Command, "command", "Type a command by its name; Tab completes"),
        bind("app.back", Global, &["Esc"], A::Back, "back", "Go back one step; never loses what was typed"),
        bind("app.quit", Global, &["q"], A::Quit, "quit", "Go back, and leave from the deployments"),
        bind("app.quit_now", Global, &["ctrl-c"], A::QuitNow, "quit", "Leave at once; runs go on"),
        bind("app.next_pane", Global, &["Tab"], A::NextPane, "next pane", "Go to the next pane"),
        bind("app.prev_pane", Global, &["BackTab"], A::PrevPane, "previous pane", "Go to the previous pane"),
        bind("app.zoom", Global, &["f"], A::Zoom, "zoom", "Give the pane the whole screen, and back"),
        bind("app.refresh", Global, &["r"], A::Refresh, "refresh", "Ask the servers again now"),
        bind("app.notices", Global, &["!"], A::Notices, "messages", "Show every message and error of this session"),
        bind("app.copy", Global, &["c"], A::Copy, "copy", "Copy the full id or value under the cursor (OSC 52)"),
        bind("app.suspend", Global, &["ctrl-z"], A::Suspend, "suspend", "Back to the shell; `fg` returns"),
        bind("app.redraw", Global, &["ctrl-l"], A::Redraw, "redraw", "Draw the whole screen again"),
        bind("move.up", Global, &["Up", "k"], A::Up, "up", "One line up"),
        bind("move.down", Global, &["Down", "j"], A::Down, "down", "One line down"),
        bind("move.page_up", Global, &["PageUp", "ctrl-b"], A::PageUp, "page up", "One page up"),
        bind("move.page_down", Global, &["PageDown", "ctrl-f", "Space"], A::PageDown, "page down", "One page down"),
        bind("move.half_up", Global, &["ctrl-u"], A::HalfUp, "half page up", "Half a page up"),
        bind("move.half_down", Global, &["ctrl-d"], A::HalfDown, "half page down", "Half a page down"),
        bind("move.top", Global, &["Home", "g"], A::Top, "top", "To the first line"),
        bind("move.bottom", Global, &["End", "G"], A::Bottom, "end", "To the last line"),
        bind("move.left", Global, &["Left", "h"], A::Left, "left", "Fold, or go left"),
        bind("move.right", Global, &["Right", "l"], A::Right, "right", "Unfold, or go right"),
        bind("deployments.open", Deployments, &["Enter"], A::Open, "threads", "Open its agent server's threads"),
        bind("deployments.new_run", Deployments, &["n"], A::NewRun, "new run", "Compose a run on its agent server"),
        bind(
            "deployments.describe",
            Deployments,
            &["d"],
            A::Describe,
            "describe",
            "Show every field that the server sent",
        ),
        bind(
            "deployments.logs",
            Deployments,
            &["l"],
            A::ServerLog,
            "logs",
            "Follow the server logs, of marked ones together",
        ),
        bind(
            "deployments.build_log",
            Deployments,
            &["b"],
            A::BuildLog,
            "build log",
            "Follow the build log of the newest revision",
        ),
        bind("deployments.explain", Deployments, &["e"], A::Explain, "explain", "Why the newest revision is as it is"),
        bind(
            "deployments.watch",
            Deployments,
            &["w"],
            A::Watch,
            "watch",
            "Be told when the newest revision ends, or no longer",
        ),
        bind("deployments.mark", Deployments, &["m"], A::Mark, "mark", "Mark it, to see several logs in one view"),
        bind("deployments.create", Deployments, &["a"], A::Create, "create", "Create a deployment (add)"),
        bind(
            "deployments.update",
            Deployments,
            &["u"],
            A::Update,
            "update",
            "Change it: written down, shown, then sent",
        ),
        bind("deployments.delete", Deployments, &["D"], A::Delete, "delete", "Delete it: its name has to be typed"),
        bind("deployments.sort", Deployments, &["s"], A::Sort, "sort", "Sort by the next column"),
        bind("deployments.reverse", Deployments, &["S"], A::ReverseSort, "reverse", "Sort the other way round"),
        bind(
            "deployments.filter",
            Deployments,
            &["/"],
            A::Filter,
            "filter",
            "Show only rows that fit: text, field:text, !not",
        ),
        bind(
            "revisions.explain",
            Revisions,
            &["Enter", "e"],
            A::Explain,
            "explain",
            "Why it is as it is, and what to do",
        ),
        bind("revisions.describe", Revisions, &["d"], A::Describe, "describe", "Show every field that the server sent"),
        bind("revisions.build_log", Revisions, &["b"], A::BuildLog, "build log", "Follow its build log"),
        bind("revisions.logs", Revisions, &["l"], A::ServerLog, "logs", "Follow the log of its server"),
        bind("revisions.watch", Revisions, &["w"], A::Watch, "watch", "Be told when it ends, or no longer"),
        bind("revisions.mark", Revisions, &["m"], A::Mark, "mark", "Mark it, to compare another with it"),
        bind(
            "revisions.compare",
            Revisions,
            &["="],
            A::Compare,
            "compare",
            "What differs from the marked one, else from the one before",
        ),
        bind("revisions.redeploy", Revisions, &["R"], A::Redeploy, "redeploy", "Deploy it again"),
        bind("revisions.interrupt", Revisions, &["x"], A::Interrupt, "interrupt", "Stop it on its way"),
        bind("revisions.rollback", Revisions, &["z"], A::Rollback, "roll back", "Go back to it: shown, then sent"),
        bind(
            "server.open",
            Server,
            &["Enter"],
            A::Open,
            "open",
            "Tail the thread, join the run, or start the assistant",
        ),
        bind("server.describe", Server, &["d"], A::Describe, "describe", "Show every field that the server sent"),
        bind("server.runs", Server, &["v"], A::Runs, "runs", "Show the runs of the thread"),
        bind("server.threads", Server, &["1", "t"], A::Threads, "threads", "Show the threads"),
        bind("server.assistants", Server, &["2", "a"], A::Assistants, "assistants", "Show the assistants"),
        bind("server.new_run", Server, &["n"], A::NewRun, "new run", "Compose a run"),
        bind("server.filter", Server, &["/"], A::Filter, "filter", "Show only rows that contain a text"),
        bind("stream.open", Stream, &["Enter"], A::Open, "json", "Open the JSON of the event"),
        bind("stream.follow", Stream, &["End", "G"], A::Follow, "follow", "Follow what comes; any move up pauses"),
        bind("stream.messages", Stream, &["1"], A::View1, "messages", "View: messages, token by token"),
        bind("stream.updates", Stream, &["2"], A::View2, "updates", "View: what each node wrote"),
        bind("stream.values", Stream, &["3"], A::View3, "values", "View: the state after each step"),
        bind("stream.lifecycle", Stream, &["4"], A::View4, "lifecycle", "View: runs, interrupts, errors, connections"),
        bind("stream.raw", Stream, &["5"], A::View5, "raw", "View: every event as it came"),
        bind("stream.next_view", Stream, &["L"], A::NextView, "next view", "The next view"),
        bind("stream.prev_view", Stream, &["H"], A::PrevView, "previous view", "The previous view"),
        bind("stream.prev_state", Stream, &["["], A::PrevState, "earlier", "Values: the state one step earlier"),
        bind("stream.next_state", Stream, &["]"], A::NextState, "later", "Values: the state one step later"),
        bind("stream.new_run", Stream, &["n"], A::NewRun, "new run", "Compose a run on this thread"),
        bind("stream.replay", Stream, &["R"], A::Replay, "replay", "Open the stream again from its start"),
        bind("logs.open", Logs, &["Enter"], A::Open, "line", "Show the whole line with all its fields"),
        bind("logs.follow", Logs, &["End", "G"], A::Follow, "follow", "Follow what comes; any move up pauses"),
        bind("logs.filter", Logs, &["/"], A::Filter, "filter", "Show only lines that contain: text, level:error, !not"),
        bind("logs.level", Logs, &["v"], A::Level, "level", "The least severe level that is asked for"),
        bind("logs.window", Logs, &["t"], A::Window, "time", "How far back is asked for"),
        bind("logs.build", Logs, &["b"], A::BuildLog, "build log", "The build log instead"),
        bind("logs.server", Logs, &["l"], A::ServerLog, "server log", "The server log instead"),
        bind("card.build_log", Card, &["b"], A::BuildLog, "build log", "Follow its build log"),
        bind("card.logs", Card, &["l"], A::ServerLog, "logs", "Follow the log of its server"),
        bind("card.describe", Card, &["d"], A::Describe, "describe", "Show every field that the server sent"),
        bind("json.search", Inspector, &["/"], A::Filter, "search", "Search keys and values"),
        bind("json.next_match", Inspector, &["n"], A::NextMatch, "next", "The next place that was searched for"),
        bind("json.prev_match", Inspector, &["N"], A::PrevMatch, "previous", "The place before"),
        bind("json.toggle", Inspector, &["Enter"], A::Open, "fold", "Fold or unfold; show a long text whole"),
        bind("json.fold_all", Inspector, &["-"], A::FoldAll, "fold all", "Fold everything below the first level"),
        bind("json.unfold_all", Inspector, &["+", "="], A::UnfoldAll, "unfold all", "Unfold everything"),
        bind("composer.start", Composer, &["ctrl-r", "F5"], A::Start, "start", "Start the run"),
        bind("composer.next", Composer, &["Tab"], A::NextField, "next field", "Go to the next field"),
        bind("composer.prev", Composer, &["BackTab"], A::PrevField, "previous field", "Go to the previous field"),
        bind("composer.back", Composer, &["Esc"], A::Back, "back", "Go back; what was typed is kept"),
        bind(
            "editor.preview",
            Editor,
            &["ctrl-r", "F5"],
            A::Preview,
            "preview",
            "Show what it would do; sends nothing",
        ),
        bind("editor.outside", Editor, &["ctrl-o", "F4"], A::EditOutside, "$EDITOR", "Edit it with $VISUAL or $EDITOR"),
        bind("editor.anew", Editor, &["ctrl-n"], A::Anew, "begin anew", "Throw away what was typed"),
        bind("editor.back", Editor, &["Esc"], A::Back, "back", "Go back; what was typed is kept"),
        // Not the key that leads here: one that is held down must not send.
        bind("confirm.send", Confirm, &["ctrl-s"], A::Send, "send", "Send it. Nothing else does, Enter neither"),
        bind(
            "confirm.traces",
            Confirm,
            &["ctrl-t"],
            A::Traces,
            "traces too",
            "When deleting: the tracing project too, or not",
        ),
        bind(
            "confirm.curl",
            Confirm,
            &["ctrl-y"],
            A::Curl,
            "copy as curl",
            "Copy it as a command, with $KEY for the key",
        ),
        bind("confirm.back", Confirm, &["Esc"], A::Back, "do nothing", "Leave it; nothing is sent"),
        bind("journal.open", Journal, &["Enter", "d"], A::Open, "open", "Show all of it"),
        bind(
            "journal.curl",
            Journal,
            &["ctrl-y", "C"],
            A::Curl,
            "copy as curl",
            "Copy it as a command, with $KEY for the key",
        ),
        bind(
            "entry.curl",
            Entry,
            &["ctrl-y", "C"],
            A::Curl,
            "copy as curl",
            "Copy it as a command, with $KEY for the key",
        ),
        bind("app.profiles", Global, &["p"], A::Profiles, "profiles", "All profiles: use, switch, test, add, edit"),
        bind(
            "profiles.use",
            Profiles,
            &["Space"],
            A::Mark,
            "use",
            "Use it beside the others once it is reached, or no longer",
        ),
        bind("profiles.switch", Profiles, &["Enter"], A::Open, "switch", "Use it alone, once it is reached"),
        bind(
            "profiles.test",
            Profiles,
            &["t"],
            A::Test,
            "test",
            "Ask its servers whether they can be reached with its keys",
        ),
        bind("profiles.anyway", Profiles, &["u"], A::Anyway, "use anyway", "Use it though the check failed"),
        bind("profiles.add", Profiles, &["a"], A::Add, "add", "Define another profile"),
        bind("profiles.edit", Profiles, &["e"], A::Edit, "edit", "Define it in another way, for this session"),
        bind(
            "profiles.save",
            Profiles,
            &["s"],
            A::Save,
            "save",
            "Show what would be written to the file, and write it",
        ),
        bind("browse.open", Browse, &["Enter"], A::Open, "open", "An integration's repositories, else every field"),
        bind("browse.describe", Browse, &["d"], A::Describe, "describe", "Show every field that the server sent"),
        bind("browse.profile", Browse, &["Tab"], A::NextProfile, "profile", "The same list of the next profile"),
        bind("browse.back_profile", Browse, &["BackTab"], A::PrevProfile, "profile", "The same list of the one before"),
        bind("browse.filter", Browse, &["/"], A::Filter, "filter", "Show only rows that contain a text"),
        bind("browse.tokens", Browse, &["t"], A::TokensOf, "tokens", "The tokens that you have of the provider"),
        bind("browse.create", Browse, &["a"], A::Create, "create", "Create one (add): written down, shown, then sent"),
        bind("browse.discover", Browse, &["m"], A::Discover, "of MCP", "Create the provider of an MCP server"),
        bind("browse.update", Browse, &["u"], A::Update, "update", "Change it: written down, shown, then sent"),
        bind("browse.delete", Browse, &["D"], A::Delete, "delete", "Delete or revoke it: its name has to be typed"),
        bind("browse.delete_all", Browse, &["X"], A::DeleteAll, "revoke all", "Delete all your tokens of the provider"),
        bind("browse.sign_in", Browse, &["s"], A::SignIn, "sign in", "Authenticate with the provider"),
        bind("signin.send", Request, &["ctrl-s"], A::Send, "send", "Send it. Nothing else does, Enter neither"),
        bind("signin.link", SignIn, &["o", "Enter"], A::OpenLink, "open link", "Open the link in the browser"),
        bind("signin.wait", SignIn, &["w"], A::Watch, "wait", "Wait until somebody agreed, or no longer"),
        bind("save.write", Save, &["ctrl-s"], A::Send, "write", "Write the file. Nothing else does, Enter neither"),
        bind("first_run.choose", FirstRun, &["Enter"], A::Open, "choose", "Do what is chosen"),
        bind("first_run.anyway", FirstRun, &["u"], A::Anyway, "use anyway", "Use the profile though the check failed"),
        bind(
            "first_run.save",
            FirstRun,
            &["s"],
            A::Save,
            "save",
            "Show what would be written to the file, and write it",
        ),
    ]
};

/// The keys in force: the table with the configuration's changes.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<(Context, Key), Action>,
    shown: BTreeMap<&'static str, Vec<Key>>,
}

impl Default for Keymap {
    fn default() -> Self {
        Keymap::new(&BTreeMap::new()).0
    }
}

impl Keymap {
    /// Builds the map. Every problem of the configuration is reported at once; what is wrong changes nothing.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> (Keymap, Vec<String>) {
        let mut problems = Vec::new();
        for id in changes.keys().filter(|id| !BINDINGS.iter().any(|b| b.id == id.as_str())) {
            problems.push(format!("[keys] {id}: there is no such action (`?` lists them)"));
        }
        let mut keys: BTreeMap<(Context, Key), Action> = BTreeMap::new();
        let mut owners: BTreeMap<(Context, Key), &'static str> = BTreeMap::new();
        let mut shown: BTreeMap<&'static str, Vec<Key>> = BTreeMap::new();
        let mut wanted: Vec<(&Binding, Vec<Key>)> = Vec::new();
        for binding in BINDINGS {
            let own = binding.keys.iter().filter_map(|k| k.parse().ok()).collect::<Vec<Key>>();
            let list = changes.get(binding.id).map(|list| list.iter().map(|key| sendable(binding, key)).collect());
            wanted.push((
                binding,
                list.unwrap_or_else(|| Ok(own.clone())).unwrap_or_else(|e: String| {
                    problems.push(format!("[keys] {}: {e}", binding.id));
                    own
                }),
            ));
        }
        let sends = |(binding, _): &&(&Binding, Vec<Key>)| binding.action == Action::Send;
        let sending: Vec<Key> = wanted.iter().filter(sends).flat_map(|(_, keys)| keys.clone()).collect();
        for (binding, wanted) in wanted {
            for key in wanted {
                if binding.action.leads_to_sending() && sending.contains(&key) {
                    problems.push(format!(
                        "[keys] {key} sends, so it cannot be {} too: one that is held down must not send",
                        binding.id
                    ));
                    continue;
                }
                if let Some(owner) = owners.get(&(binding.context, key)) {
                    problems.push(format!("[keys] {key} is both {owner} and {}: the first keeps it", binding.id));
                    continue;
                }
                owners.insert((binding.context, key), binding.id);
                keys.insert((binding.context, key), binding.action);
                shown.entry(binding.id).or_default().push(key);
            }
        }
        (Keymap { keys, shown }, problems)
    }

    /// What a key does in a context.
    pub fn action(&self, context: Context, key: Key) -> Option<Action> {
        self.keys.get(&(context, key)).or_else(|| self.keys.get(&(Context::Global, key))).copied()
    }

    /// The keys of a row of the table.
    pub fn keys_of(&self, id: &str) -> &[Key] {
        self.shown.get(id).map_or(&[], Vec::as_slice)
    }

    /// The rows that the footer shows in a context, most useful first.
    pub fn hints(&self, context: Context, tab: Option<Tab>, ascii: bool) -> Vec<(String, &'static str)> {
        let ids: &[&str] = match context {
            Context::Server if tab == Some(Tab::Assistants) => {
                &["server.open", "server.describe", "server.threads", "server.filter", "app.back"]
            }
            Context::Server if tab == Some(Tab::Runs) => {
                &["server.open", "server.new_run", "server.describe", "server.threads", "app.back"]
            }
            Context::Deployments => &[
                "deployments.open",
                "deployments.logs",
                "deployments.explain",
                "deployments.watch",
                "deployments.filter",
                "deployments.sort",
            ],
            Context::Revisions => &[
                "revisions.explain",
                "revisions.build_log",
                "revisions.logs",
                "revisions.compare",
                "revisions.watch",
                "app.back",
            ],
            Context::Logs => &["logs.follow", "logs.filter", "logs.level", "logs.window", "app.zoom", "app.back"],
            Context::Card => &["card.build_log", "card.logs", "card.describe", "app.back"],
            Context::Server => &["server.open", "server.new_run", "server.runs", "server.assistants", "server.filter"],
            Context::Stream => &["stream.open", "stream.follow", "stream.new_run", "app.zoom", "app.back"],
            Context::Inspector => &["json.toggle", "json.search", "json.unfold_all", "app.copy", "app.back"],
            Context::Composer => &["composer.start", "composer.next", "composer.back"],
            Context::Editor => &["editor.preview", "editor.outside", "editor.anew", "editor.back"],
            Context::Confirm => &["confirm.send", "confirm.curl", "confirm.back"],
            Context::Journal => &["journal.open", "journal.curl", "app.refresh", "app.back"],
            Context::Entry => &["entry.curl", "app.back"],
            Context::Browse => {
                &["browse.open", "browse.describe", "browse.filter", "browse.profile", "app.refresh", "app.back"]
            }
            Context::Request => &["signin.send", "app.back"],
            Context::SignIn => &["signin.link", "app.copy", "signin.wait", "app.back"],
            Context::Page => &["move.page_down", "move.page_up", "app.back"],
            Context::Profiles => {
                &["profiles.use", "profiles.switch", "profiles.test", "profiles.add", "profiles.edit", "profiles.save"]
            }
            Context::Save => &["save.write", "move.page_down", "app.back"],
            Context::FirstRun => &["first_run.choose", "first_run.anyway", "first_run.save", "app.quit"],
            Context::Command | Context::Global => &[],
        };
        let help: &[&str] = match context {
            Context::Composer | Context::Editor | Context::Confirm | Context::Command => &[],
            _ => &["app.command", "app.help"],
        };
        self.hints_of(ids.iter().chain(help), ascii)
    }

    /// Rows of the table for the footer, by their names.
    pub fn hints_of<'i>(&self, ids: impl IntoIterator<Item = &'i &'i str>, ascii: bool) -> Vec<(String, &'static str)> {
        let row = |id: &&str| {
            let binding = BINDINGS.iter().find(|b| b.id == *id)?;
            let key = self.keys_of(id).first()?;
            Some((key_glyph(*key, ascii), binding.label))
        };
        ids.into_iter().filter_map(row).collect()
    }
}

/// Reads a key of the configuration. What sends is no key that one presses by habit, or that a pasted text could hold.
fn sendable(binding: &Binding, key: &str) -> Result<Key, String> {
    let key: Key = key.parse()?;
    match binding.action == Action::Send && (key.code == Code::Enter || key.text().is_some()) {
        true => Err(format!("{key} never sends; choose one with ctrl, or F1 to F12")),
        false => Ok(key),
    }
}

/// A key as the footer shows it. In ASCII the sign of Enter would look like that of Ctrl.
pub fn key_glyph(key: Key, ascii: bool) -> String {
    match key.to_string().as_str() {
        "Enter" if !ascii => "⏎".into(),
        "BackTab" => "Shift-Tab".into(),
        other => other.to_string(),
    }
}

/// The help screen: every key that works, those of the place where one is first.
pub fn help_lines(keymap: &Keymap, here: Context, ascii: bool) -> Vec<Line> {
    use Context::*;
    let mut lines = Vec::new();
    let others = [
        Deployments,
        Revisions,
        Server,
        Stream,
        Logs,
        Card,
        Inspector,
        Composer,
        Editor,
        Confirm,
        Journal,
        Entry,
        Profiles,
        Browse,
        Request,
        SignIn,
    ];
    let others = others.into_iter().filter(|c| *c != here);
    for context in [here, Global].into_iter().chain(others) {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::of(Tone::Strong, context.title()));
        for binding in BINDINGS.iter().filter(|b| b.context == context) {
            let keys: Vec<String> = keymap.keys_of(binding.id).iter().map(|k| key_glyph(*k, ascii)).collect();
            let keys = keys.join("  ");
            lines.push(
                Line::of(Tone::Accent, &format!("  {keys:<25} "))
                    .with(Tone::Plain, binding.help)
                    .right(Tone::Dim, binding.id),
            );
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_conflicts_and_every_key_parses() {
        let (_, problems) = Keymap::new(&BTreeMap::new());
        assert_eq!(problems, Vec::<String>::new());
        for binding in BINDINGS {
            for key in binding.keys {
                key.parse::<Key>().unwrap_or_else(|e| panic!("{}: {e}", binding.id));
            }
        }
    }

    #[test]
    fn every_footer_hint_exists() {
        let map = Keymap::default();
        use Context::*;
        for context in
            [Deployments, Revisions, Server, Stream, Logs, Card, Inspector, Composer, Profiles, Browse, SignIn, Page]
        {
            assert!(map.hints(context, None, false).len() >= 3, "{context:?}");
        }
    }

    #[test]
    fn configured_keys_replace_and_every_problem_is_said() {
        let changes = BTreeMap::from([
            ("app.help".to_string(), vec!["F1".to_string()]),
            ("app.zoom".to_string(), vec!["Hyper".to_string()]),
            ("app.copy".to_string(), vec!["q".to_string()]),
            ("nonsense".to_string(), vec!["x".to_string()]),
        ]);
        let (map, problems) = Keymap::new(&changes);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(map.action(Context::Stream, "F1".parse().unwrap()), Some(Action::Help));
        assert_eq!(map.action(Context::Stream, "?".parse().unwrap()), None);
        assert_eq!(map.action(Context::Stream, "f".parse().unwrap()), Some(Action::Zoom));
        assert_eq!(map.action(Context::Stream, "q".parse().unwrap()), Some(Action::Quit));
    }

    #[test]
    fn what_leads_to_a_change_never_sends_it() {
        let key = |text: &str| text.parse::<Key>().unwrap();
        let set = |id: &str, keys: &[&str]| (id.to_string(), keys.iter().map(|k| k.to_string()).collect());
        for never in ["Enter", "y", "Space"] {
            let (map, problems) = Keymap::new(&BTreeMap::from([set("confirm.send", &[never])]));
            assert!(problems.len() == 1 && problems[0].contains("never sends"), "{problems:?}");
            assert_eq!(
                map.action(Context::Confirm, key("ctrl-s")),
                Some(Action::Send),
                "what is wrong changes nothing"
            );
            assert_ne!(map.action(Context::Confirm, key(never)), Some(Action::Send));
        }
        let changes = BTreeMap::from([set("confirm.send", &["ctrl-r"]), set("revisions.redeploy", &["ctrl-s", "R"])]);
        let (map, problems) = Keymap::new(&changes);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!(map.action(Context::Confirm, key("ctrl-r")), Some(Action::Send));
        assert_eq!(map.action(Context::Editor, key("ctrl-r")), None);
        assert_eq!(map.action(Context::Editor, key("F5")), Some(Action::Preview));
        assert_eq!(
            map.action(Context::Revisions, key("ctrl-s")),
            None,
            "it sends an authentication, and writes the file"
        );
    }
}
