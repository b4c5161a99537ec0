//! Keys of the deployments, their revisions, and the explanation of a revision.

use super::super::action::{Action::*, Context};
use super::shared::{
    PREVIEW, TYPE_NAME, browser, build_log, details, interrupt, new_run, redeploy, server_log,
    watch,
};
use super::{Rows, bind, write};

pub(super) const ROWS: Rows = &[
    (
        Context::Deployments,
        &[
            bind("deployments.open", "Enter", Open, "Open the threads").label("threads"),
            new_run("deployments.new_run"),
            details("deployments.details"),
            server_log("deployments.logs"),
            build_log("deployments.build_log"),
            bind(
                "deployments.explain",
                "e",
                Explain,
                "Explain the newest revision",
            ),
            watch("deployments.watch"),
            bind("deployments.mark", "Space m", Mark, "Mark the deployment")
                .help("to combine logs or compare"),
            write("deployments.create", "a", Create, "Create a deployment"),
            write("deployments.update", "u", Update, "Edit the settings").help(PREVIEW),
            write("deployments.delete", "D", Delete, "Delete the deployment").help(TYPE_NAME),
            write(
                "deployments.redeploy",
                "R",
                Redeploy,
                "Redeploy the newest revision",
            )
            .help(PREVIEW),
            write(
                "deployments.rollback",
                "z",
                Rollback,
                "Roll back to the last good one",
            )
            .label("roll back")
            .help(PREVIEW),
            write(
                "deployments.interrupt",
                "x",
                Interrupt,
                "Interrupt the newest revision",
            )
            .help(PREVIEW),
            bind(
                "deployments.compare",
                "=",
                Compare,
                "Compare deployments or revisions",
            )
            .help("two marked, else the newest two revisions"),
            browser("deployments.browser"),
            bind("deployments.sort", "s", Sort, "Sort the deployments")
                .help("problems, name, age, region or load"),
            bind("deployments.reverse", "S", ReverseSort, "Reverse the order"),
            bind("deployments.filter", "/", Filter, "Filter the deployments")
                .help("text, field:text, !not"),
        ],
    ),
    (
        Context::Revisions,
        &[
            bind(
                "revisions.explain",
                "Enter e",
                Explain,
                "Explain the revision",
            )
            .help("status, cause, fixes"),
            details("revisions.details"),
            build_log("revisions.build_log"),
            server_log("revisions.logs"),
            watch("revisions.watch"),
            bind("revisions.mark", "Space m", Mark, "Mark the revision").help("to compare"),
            bind("revisions.compare", "=", Compare, "Compare revisions")
                .help("two marked, else with the previous"),
            browser("revisions.browser"),
            redeploy("revisions.redeploy"),
            interrupt("revisions.interrupt"),
            write(
                "revisions.rollback",
                "z",
                Rollback,
                "Roll back to the revision",
            )
            .label("roll back")
            .help(PREVIEW),
        ],
    ),
    (
        Context::Card,
        &[
            build_log("card.build_log"),
            server_log("card.logs"),
            watch("card.watch"),
            bind(
                "card.compare",
                "=",
                Compare,
                "Compare with the last good one",
            )
            .help("else the serving one"),
            redeploy("card.redeploy"),
            interrupt("card.interrupt"),
            write(
                "card.rollback",
                "z",
                Rollback,
                "Roll back to the last good one",
            )
            .label("roll back")
            .help(PREVIEW),
            details("card.details"),
        ],
    ),
];
