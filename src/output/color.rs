//! Colors of tables and text streams on stdout. They mean the same as in the dashboard.

use crate::globals::Color;
use runtail_core::model::Phase;
use std::io::IsTerminal;
use std::sync::OnceLock;

static CHOICE: OnceLock<Color> = OnceLock::new();

/// Sets when output is colored, once for the process.
pub fn choose(color: Color) {
    let _ = CHOICE.set(color);
}

/// Whether stdout gets colors.
pub fn is_on() -> bool {
    CHOICE
        .get()
        .copied()
        .unwrap_or_default()
        .is_on(std::io::stdout().is_terminal())
}

/// The meaning of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Plain,
    /// Names.
    Strong,
    /// Labels.
    Dim,
    Good,
    Moving,
    /// Waiting for the user.
    Waiting,
    Failed,
    /// Ended without success.
    Ended,
}

impl Role {
    /// Returns the text in the role's style.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Role::Plain => "",
            Role::Strong => "1",
            Role::Dim | Role::Ended => "2",
            Role::Good => "32",
            Role::Moving => "33",
            Role::Waiting => "1;33",
            Role::Failed => "1;31",
        };
        sgr(code, text)
    }

    pub fn paint_if(self, is_colored: bool, text: &str) -> String {
        if is_colored {
            self.paint(text)
        } else {
            text.into()
        }
    }
}

/// Returns a text between escape sequences, unless one of the two is empty.
pub fn sgr(code: &str, text: &str) -> String {
    if code.is_empty() || text.is_empty() {
        text.into()
    } else {
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The role of how a run ended, by the word of recordings.
pub fn of_outcome(outcome: &str) -> Role {
    match outcome {
        "success" => Role::Good,
        "interrupted" => Role::Waiting,
        "error" | "timeout" => Role::Failed,
        "cancelled" | "detached" => Role::Ended,
        _ => Role::Dim,
    }
}

/// The role of a revision's status, and of a deployment's.
pub fn of_revision(status: &str) -> Role {
    match (Phase::of(status), status) {
        (Phase::Deployed, _) | (_, "READY") => Role::Good,
        (Phase::Failed, _) => Role::Failed,
        (Phase::Moving | Phase::Waiting, _) => Role::Moving,
        (_, "AWAITING_DATABASE" | "AWAITING_DELETE" | "AWAITING_FINAL_DELETE") => Role::Moving,
        (Phase::Skipped | Phase::Interrupted, _) | (_, "UNUSED") => Role::Ended,
        (Phase::Unknown, _) => Role::Dim,
    }
}

/// The role of a thread's status.
pub fn of_thread(status: &str) -> Role {
    match status {
        "idle" | "deleted" => Role::Good,
        "busy" | "running" | "queued" => Role::Moving,
        "interrupted" | "waiting for you" | "paused" => Role::Waiting,
        "error" | "failed" | "timed out" | "not_found" => Role::Failed,
        "cancelled" | "state edited" => Role::Ended,
        _ => Role::Dim,
    }
}

/// The role of whether a value is right.
pub fn of_bisect(word: &str) -> Role {
    match word {
        "right" => Role::Good,
        "first wrong" => Role::Failed,
        _ => Role::Dim,
    }
}

/// The role of a run's status, or of the result of a cancel request.
pub fn of_run(status: &str) -> Role {
    match status {
        "success" => Role::Good,
        "pending" | "running" | "stopping" => Role::Moving,
        "error" | "timeout" | "failed" | "not_found" => Role::Failed,
        "interrupted" | "cancelled" | "stopped" | "finished" | "deleted" => Role::Ended,
        _ => Role::Dim,
    }
}
