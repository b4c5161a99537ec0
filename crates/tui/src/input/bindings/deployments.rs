//! Keys of the deployments, their revisions, and the explanation of a revision.

use super::super::action::{Action as A, Context::*};
use super::{Binding, bind, write};

pub(super) const ROWS: &[Binding] = &[
    bind("deployments.open", Deployments, &["Enter"], A::Open, "threads", "Open the threads of its agent server")
        .named("Open the threads"),
    write("deployments.new_run", Deployments, &["n"], A::NewRun, "new run", "Compose a run on its agent server")
        .named("Start a new run"),
    bind("deployments.details", Deployments, &["d"], A::Describe, "details", "Show the server's full record")
        .named("Show the details"),
    bind(
        "deployments.logs",
        Deployments,
        &["l"],
        A::ServerLog,
        "logs",
        "Follow the server log, or all marked deployments' logs",
    )
    .named("Follow the server log"),
    bind(
        "deployments.build_log",
        Deployments,
        &["b"],
        A::BuildLog,
        "build log",
        "Follow the build log of the newest revision",
    )
    .named("Follow the build log"),
    bind("deployments.explain", Deployments, &["e"], A::Explain, "explain", "Explain the newest revision")
        .named("Explain the newest revision"),
    bind(
        "deployments.watch",
        Deployments,
        &["w"],
        A::Watch,
        "notify me",
        "Toggle notification when the newest revision finishes",
    )
    .named("Notify me when it finishes"),
    bind("deployments.mark", Deployments, &["Space", "m"], A::Mark, "mark", "Mark for combined logs")
        .named("Mark the deployment"),
    write("deployments.create", Deployments, &["a"], A::Create, "create", "Create a deployment (add)")
        .named("Create a deployment"),
    write("deployments.update", Deployments, &["u"], A::Update, "update", "Edit settings (preview before sending)")
        .named("Edit the settings"),
    write(
        "deployments.delete",
        Deployments,
        &["D"],
        A::Delete,
        "delete",
        "Delete the deployment (type its name to confirm)",
    )
    .named("Delete the deployment"),
    write(
        "deployments.redeploy",
        Deployments,
        &["R"],
        A::Redeploy,
        "redeploy",
        "Redeploy the newest revision (preview first)",
    )
    .named("Redeploy the newest revision"),
    write(
        "deployments.rollback",
        Deployments,
        &["z"],
        A::Rollback,
        "roll back",
        "Roll back to the last good revision (preview first)",
    )
    .named("Roll back to the last good one"),
    write(
        "deployments.interrupt",
        Deployments,
        &["x"],
        A::Interrupt,
        "interrupt",
        "Interrupt the newest revision (preview first)",
    )
    .named("Interrupt the newest revision"),
    bind(
        "deployments.compare",
        Deployments,
        &["="],
        A::Compare,
        "compare",
        "Compare two deployments, or the newest two revisions",
    )
    .named("Compare deployments or revisions"),
    bind("deployments.browser", Deployments, &["o"], A::OpenLink, "browser", "Open its page in the browser")
        .named("Open the deployment's page"),
    bind("deployments.sort", Deployments, &["s"], A::Sort, "sort", "Sort by problems, name, age, region or load")
        .named("Choose another order"),
    bind("deployments.reverse", Deployments, &["S"], A::ReverseSort, "reverse", "Reverse the sort order")
        .named("Reverse the sort order"),
    bind("deployments.filter", Deployments, &["/"], A::Filter, "filter", "Filter rows: text, field:text, !not")
        .named("Filter the deployments"),
    bind(
        "revisions.explain",
        Revisions,
        &["Enter", "e"],
        A::Explain,
        "explain",
        "Explain: status, cause, suggested fixes",
    )
    .named("Explain the revision"),
    bind("revisions.details", Revisions, &["d"], A::Describe, "details", "Show the server's full record")
        .named("Show the details"),
    bind("revisions.build_log", Revisions, &["b"], A::BuildLog, "build log", "Follow its build log")
        .named("Follow the build log"),
    bind("revisions.logs", Revisions, &["l"], A::ServerLog, "logs", "Follow the log of its server")
        .named("Follow the server log"),
    bind("revisions.watch", Revisions, &["w"], A::Watch, "notify me", "Toggle notification when it finishes")
        .named("Notify me when it finishes"),
    bind("revisions.mark", Revisions, &["Space", "m"], A::Mark, "mark", "Mark for comparison")
        .named("Mark the revision"),
    bind(
        "revisions.compare",
        Revisions,
        &["="],
        A::Compare,
        "compare",
        "Compare the marked revisions, else with the previous one",
    )
    .named("Compare revisions"),
    bind(
        "revisions.browser",
        Revisions,
        &["o"],
        A::OpenLink,
        "browser",
        "Open the page of its deployment in the browser",
    )
    .named("Open the deployment's page"),
    write("revisions.redeploy", Revisions, &["R"], A::Redeploy, "redeploy", "Redeploy this revision (preview first)")
        .named("Redeploy the revision"),
    write(
        "revisions.interrupt",
        Revisions,
        &["x"],
        A::Interrupt,
        "interrupt",
        "Interrupt this revision (preview first)",
    )
    .named("Interrupt the revision"),
    write(
        "revisions.rollback",
        Revisions,
        &["z"],
        A::Rollback,
        "roll back",
        "Roll back to this revision (preview first)",
    )
    .named("Roll back to the revision"),
    bind("card.build_log", Card, &["b"], A::BuildLog, "build log", "Follow its build log")
        .named("Follow the build log"),
    bind("card.logs", Card, &["l"], A::ServerLog, "logs", "Follow the log of its server")
        .named("Follow the server log"),
    bind("card.watch", Card, &["w"], A::Watch, "notify me", "Toggle notification when it finishes")
        .named("Notify me when it finishes"),
    bind(
        "card.compare",
        Card,
        &["="],
        A::Compare,
        "compare",
        "Compare with the last good revision, else the serving one",
    )
    .named("Compare with the last good one"),
    write("card.redeploy", Card, &["R"], A::Redeploy, "redeploy", "Redeploy this revision (preview first)")
        .named("Redeploy the revision"),
    write("card.interrupt", Card, &["x"], A::Interrupt, "interrupt", "Interrupt this revision (preview first)")
        .named("Interrupt the revision"),
    write(
        "card.rollback",
        Card,
        &["z"],
        A::Rollback,
        "roll back",
        "Roll back to the last good revision (preview first)",
    )
    .named("Roll back to the last good one"),
    bind("card.details", Card, &["d"], A::Describe, "details", "Show the server's full record")
        .named("Show the details"),
];
