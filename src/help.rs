//! The first page of `--help`: the commands in groups.

use clap::Subcommand;
use clap::builder::Styles;
use std::fmt::Write;

/// A group of commands.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
    /// Which of them to use when.
    note: &'static str,
}

/// All commands, in groups.
const GROUPS: &[Group] = &[
    Group {
        title: "Deployments",
        commands: &["deployments", "revisions", "logs"],
        note: "",
    },
    Group {
        title: "Threads and runs",
        commands: &["inbox", "threads", "runs", "tail", "join"],
        note: "",
    },
    Group {
        title: "Start and continue",
        commands: &["run", "answer", "fork", "rerun", "state"],
        note: "`run` starts with a new input, `rerun` with the input of an earlier run, `fork` at a checkpoint;\n  \
               `threads retry` repeats only what failed, and `answer` continues a thread that waits.",
    },
    Group {
        title: "Find out why",
        commands: &["compare", "bisect", "reproduce"],
        note: "",
    },
    Group {
        title: "Recordings",
        commands: &["replay", "verify", "redact"],
        note: "",
    },
    Group {
        title: "Other records",
        commands: &[
            "assistants",
            "crons",
            "store",
            "integrations",
            "listeners",
            "auth",
        ],
        note: "",
    },
    Group {
        title: "Runtail",
        commands: &["doctor", "config", "sim", "completions", "man"],
        note: "",
    },
];

/// Returns clap's template of the page. clap itself has no groups of commands.
pub(crate) fn template<C: Subcommand>() -> String {
    let styles = Styles::default();
    let heading = styles.get_header();
    let name_style = styles.get_literal();
    let grammar = C::augment_subcommands(clap::Command::new("runtail"));
    let width = GROUPS.iter().flat_map(|group| group.commands);
    let width = width.map(|name| name.len()).max().unwrap_or_default();
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_string();
    for group in GROUPS {
        let _ = write!(page, "\n{heading}{}:{heading:#}\n", group.title);
        for name in group.commands {
            let about = grammar
                .find_subcommand(name)
                .and_then(|command| command.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {name_style}{name:width$}{name_style:#}  {about}");
        }
        if !group.note.is_empty() {
            let _ = writeln!(page, "\n  {}", group.note);
        }
    }
    page + "\n" + &format!("{heading}Options:{heading:#}") + "\n{options}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    #[test]
    fn every_command_is_in_one_group() {
        let grammar = Command::augment_subcommands(clap::Command::new("runtail"));
        let mut all: Vec<&str> = grammar.get_subcommands().map(|c| c.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|g| g.commands).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }
}
