//! Keys of profiles, resources and the first run.

use super::super::action::{Action::*, Context};
use super::shared::{PREVIEW, TYPE_NAME, details, save_profiles};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Profiles,
        &[
            bind("profiles.use", "Space", Mark, "Turn the profile on or off").label("on or off"),
            bind("profiles.test", "t", Test, "Test the profile"),
            bind("profiles.switch", "U", Anyway, "Use only this profile")
                .label("use alone")
                .help("tests it first; press again to use it anyway"),
            bind("profiles.edit", "Enter", Edit, "Edit the profile").help("in $EDITOR"),
            save_profiles("profiles.save"),
        ],
    ),
    (
        Context::Browse,
        &[
            bind("browse.open", "Enter", Open, "Open the record"),
            details("browse.details"),
            bind(
                "browse.profile",
                "Tab",
                NextProfile,
                "Show the next profile",
            )
            .label("profile")
            .back("browse.back_profile", "BackTab", PrevProfile),
            bind("browse.filter", "/", Filter, "Filter the list"),
            bind("browse.tokens", "K", TokensOf, "Show your tokens")
                .label("tokens")
                .help("for the provider"),
            write("browse.create", "a", Create, "Create a resource").help(PREVIEW),
            bind(
                "browse.discover",
                "N",
                Discover,
                "Create a provider from MCP",
            )
            .label("from MCP"),
            write("browse.update", "u", Update, "Edit the settings").help(PREVIEW),
            write("browse.delete", "D", Delete, "Delete the resource").help(TYPE_NAME),
            write(
                "browse.delete_all",
                "ctrl-x",
                DeleteAll,
                "Revoke all tokens",
            )
            .label("revoke all")
            .help("yours, for the provider"),
            bind(
                "browse.sign_in",
                "o",
                SignIn,
                "Authenticate with the provider",
            )
            .label("sign in"),
        ],
    ),
    (
        Context::FirstRun,
        &[
            bind(
                "first_run.choose",
                "Enter",
                Open,
                "Open the selected choice",
            ),
            bind("first_run.demo", "1", View1, "Try the demo").help("no account needed"),
            bind("first_run.local", "2", View2, "Open the local server"),
            bind("first_run.langsmith", "3", View3, "Connect to LangSmith"),
            bind("first_run.other", "4", View4, "Open another server").help("by its URL"),
            bind("first_run.import", "5", View5, "Import profiles").help("from the official tools"),
            bind("first_run.anyway", "U", Anyway, "Use it anyway")
                .label("use anyway")
                .help("though the check failed"),
            save_profiles("first_run.save"),
        ],
    ),
];
