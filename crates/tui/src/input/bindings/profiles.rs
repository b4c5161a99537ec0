//! Keys of profiles, resources and the first run.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

pub(super) const ROWS: &[Binding] = &[
    bind("profiles.use", Profiles, &["Space"], A::Mark, "on or off", "Use it beside the others, or stop using it")
        .named("Turn the profile on or off"),
    bind("profiles.test", Profiles, &["t"], A::Test, "test", "Test whether its servers can be reached with its keys")
        .named("Test the profile"),
    bind(
        "profiles.switch",
        Profiles,
        &["U"],
        A::Anyway,
        "use alone",
        "Use it alone once it was checked; after a failed check, use it anyway",
    )
    .named("Use only this profile"),
    bind("profiles.add", Profiles, &["a"], A::Add, "add", "Add a profile").named("Add a profile"),
    bind(
        "profiles.edit",
        Profiles,
        &["Enter"],
        A::Edit,
        "edit",
        "Edit it in a form, then show the changed lines of the file",
    )
    .named("Edit the profile"),
    bind("profiles.save", Profiles, &["s"], A::Save, "save", "Show the diff, then write the file")
        .named("Save the profiles"),
    bind("browse.open", Browse, &["Enter"], A::Open, "open", "An integration's repositories, else every field")
        .named("Open the record"),
    bind("browse.details", Browse, &["d"], A::Describe, "details", "Show the server's full record")
        .named("Show the details"),
    bind("browse.profile", Browse, &["Tab"], A::NextProfile, "profile", "Same list of the next or previous profile")
        .named("Show the next profile"),
    bind("browse.back_profile", Browse, &["BackTab"], A::PrevProfile, "profile", "").named("Show the previous profile"),
    bind("browse.filter", Browse, &["/"], A::Filter, "filter", "Show only rows that contain a text")
        .named("Filter the list"),
    bind("browse.tokens", Browse, &["K"], A::TokensOf, "tokens", "Your tokens for the provider")
        .named("Show your tokens"),
    write("browse.create", Browse, &["a"], A::Create, "create", "Create one (preview before sending)")
        .named("Create a resource"),
    bind("browse.discover", Browse, &["N"], A::Discover, "from MCP", "Create the provider of an MCP server")
        .named("Create a provider from MCP"),
    write("browse.update", Browse, &["u"], A::Update, "update", "Edit settings (preview before sending)")
        .named("Edit the settings"),
    write("browse.delete", Browse, &["D"], A::Delete, "delete", "Delete or revoke it (type its name to confirm)")
        .named("Delete the resource"),
    write(
        "browse.delete_all",
        Browse,
        &["ctrl-x"],
        A::DeleteAll,
        "revoke all",
        "Revoke all your tokens for the provider",
    )
    .named("Revoke all tokens"),
    bind("browse.sign_in", Browse, &["o"], A::SignIn, "sign in", "Authenticate with the provider")
        .named("Authenticate with the provider"),
    bind("first_run.choose", FirstRun, &["Enter"], A::Open, "open", "Open the selected choice")
        .named("Open the selected choice"),
    bind("first_run.demo", FirstRun, &["1"], A::View1, "demo", "Start simulated servers; no account needed")
        .named("Try the demo"),
    bind("first_run.local", FirstRun, &["2"], A::View2, "local server", "Open the agent server on this machine")
        .named("Open the local server"),
    bind("first_run.langsmith", FirstRun, &["3"], A::View3, "LangSmith", "Connect to a region of LangSmith")
        .named("Connect to LangSmith"),
    bind("first_run.other", FirstRun, &["4"], A::View4, "other server", "Open an agent server by its URL")
        .named("Open another server"),
    bind("first_run.import", FirstRun, &["5"], A::View5, "import", "Add the profiles of the official tools")
        .named("Import profiles"),
    bind("first_run.anyway", FirstRun, &["U"], A::Anyway, "use anyway", "Use the profile although the check failed")
        .named("Use it anyway"),
    bind("first_run.save", FirstRun, &["s"], A::Save, "save", "Show the diff, then write the file")
        .named("Save the profiles"),
];
