//! The first page of `--help`: the commands in groups.

use clap::Subcommand;
use clap::builder::Styles;
use std::fmt::Write;

/// A group of commands: its title and their names.
type Group = (&'static str, &'static [&'static str]);

/// The group of the commands that are easily confused.
const STARTING: Group = (
    "Start and continue",
    &["run", "answer", "fork", "rerun", "state"],
);
/// When to use which of them.
const WHICH: &str = "
  `run` starts with a new input, `rerun` with the input of an earlier run,
  `fork` at a checkpoint; `threads retry` repeats only what failed, and
  `answer` continues a thread that waits.
";

/// All commands, in groups.
const GROUPS: &[Group] = &[
    ("Deployments", &["deployments", "revisions", "logs"]),
    (
        "Threads and runs",
        &["inbox", "threads", "runs", "tail", "join"],
    ),
    STARTING,
    ("Find out why", &["compare", "bisect", "reproduce"]),
    ("Recordings", &["replay", "verify", "redact"]),
    (
        "Other records",
        &[
            "assistants",
            "crons",
            "store",
            "integrations",
            "listeners",
            "auth",
        ],
    ),
    (
        "Runtail",
        &["doctor", "config", "sim", "skill", "completions", "man"],
    ),
];

/// Returns clap's template of the page. clap itself has no groups of commands.
pub fn template<C: Subcommand>() -> String {
    let styles = Styles::default();
    let heading = styles.get_header();
    let name_style = styles.get_literal();
    let grammar = C::augment_subcommands(clap::Command::new("runtail"));
    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut page = "{about-with-newline}\n{usage-heading} {usage}\n".to_string();
    for group in GROUPS {
        let (title, names) = group;
        let _ = write!(page, "\n{heading}{title}:{heading:#}\n");
        for name in *names {
            let about = grammar
                .find_subcommand(name)
                .and_then(|command| command.get_about());
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {name_style}{name:width$}{name_style:#}  {about}");
        }
        if *group == STARTING {
            page.push_str(WHICH);
        }
    }
    let _ = write!(page, "\n{heading}Options:{heading:#}\n{{options}}");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    #[test]
    fn every_command_is_in_one_group() {
        let grammar = Command::augment_subcommands(clap::Command::new("runtail"));
        let mut all: Vec<&str> = grammar.get_subcommands().map(|c| c.get_name()).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }
}
