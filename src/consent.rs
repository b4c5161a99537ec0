//! Confirmation of destructive commands: a question on a terminal, an option in a script.

use crate::prelude::*;
use std::io::Write;

/// The option of commands that delete, cancel, interrupt or roll back.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Yes {
    /// Skip the confirmation; required without a terminal
    #[arg(long)]
    pub yes: bool,
}

/// Whether a user can be asked.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for confirmation unless the user has given it. `what` is a question without its question mark.
///
/// # Errors
/// The answer is not yes, or there is no terminal.
pub async fn yes(what: &str, given: Yes) -> Result<(), Failure> {
    confirm(what, given, "sent").await
}

/// Asks like [`yes`] before a file is written.
///
/// # Errors
/// As [`yes`].
pub async fn to_write(what: &str, given: Yes) -> Result<(), Failure> {
    confirm(what, given, "written").await
}

async fn confirm(what: &str, given: Yes, verb: &str) -> Result<(), Failure> {
    if given.yes {
        return Ok(());
    }
    if !is_interactive() {
        return Err(Failure::usage(format!(
            "{what}: not confirmed; nothing was {verb}\n  add --yes to confirm"
        )));
    }
    if is_yes(&ask(&format!("{what}? [y/N] ")).await?) {
        Ok(())
    } else {
        Err(not_confirmed(verb))
    }
}

/// Anything but yes is no.
pub fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Asks for the exact name of what a change deletes.
///
/// # Errors
/// The typed name is different.
pub async fn name(name: &str) -> Result<(), Failure> {
    let answer = ask(&format!("Type {} to confirm: ", text::clean(name))).await?;
    if answer.trim_end_matches(['\r', '\n']) == name {
        Ok(())
    } else {
        Err(not_confirmed("sent"))
    }
}

fn not_confirmed(verb: &str) -> Failure {
    Failure::failed(format!("not confirmed; nothing was {verb}"))
}

/// Asks on stderr, because stdout carries the data.
async fn ask(question: &str) -> Result<String, Failure> {
    let mut err = std::io::stderr();
    let _ = err
        .write_all(text::clean_lines(question).as_bytes())
        .and_then(|()| err.flush());
    input::line().await
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_yes_is_yes() {
        for (line, yes) in [
            ("y\n", true),
            (" YES\n", true),
            ("\n", false),
            ("", false),
            ("n", false),
            ("yes please", false),
        ] {
            assert_eq!(is_yes(line), yes, "{line:?}");
        }
    }
}
