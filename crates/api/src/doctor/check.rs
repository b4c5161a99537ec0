//! One check of the doctor and its findings.

use serde_json::{Value, json};

/// What was checked, what was found, and what it means. All texts are sanitized and contain no secrets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Check {
    /// The profile; none for this machine.
    pub profile: Option<String>,
    /// The agent server of the profile; none for its control plane and its keys.
    pub server: Option<String>,
    /// The name of the check. Other programs may rely on it.
    pub name: &'static str,
    /// The result.
    pub state: State,
    /// The finding, in one line.
    pub found: String,
    /// The evidence: the request, the response, addresses.
    pub evidence: Vec<String>,
    /// The likely cause of a problem.
    pub cause: Option<String>,
    /// The fix.
    pub todo: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No problem.
    #[default]
    Good,
    /// It works, with a warning.
    Warn,
    /// It does not work.
    Bad(Fault),
    /// It was not checked, or is unknown.
    Skipped,
}

impl State {
    /// Returns its word for other programs: `good`, `warn`, `bad`, `skipped`.
    pub fn word(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Warn => "warn",
            State::Bad(_) => "bad",
            State::Skipped => "skipped",
        }
    }

    /// Returns its glyph, and the ASCII one.
    pub fn glyph(self) -> (&'static str, &'static str) {
        match self {
            State::Good => ("✓", "+"),
            State::Warn => ("!", "!"),
            State::Bad(_) => ("✗", "x"),
            State::Skipped => ("-", "-"),
        }
    }
}

/// Where a problem is, in the order in which to fix them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// In the configuration or the environment.
    Configuration,
    /// In the permissions of the key.
    Access,
    /// In the network, or in a server that is not ready.
    Network,
    /// Elsewhere.
    Other,
}

impl Check {
    fn of(name: &'static str, state: State, found: impl Into<String>) -> Check {
        Check {
            name,
            state,
            found: found.into(),
            ..Check::default()
        }
    }

    /// Creates a successful check.
    pub fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Good, found)
    }

    /// Creates a check with a warning.
    pub fn warn(name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Warn, found)
    }

    /// Creates a check with a problem.
    pub fn bad(fault: Fault, name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Bad(fault), found)
    }

    /// Creates a skipped check.
    pub fn skipped(name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Skipped, found)
    }

    /// Adds evidence.
    pub fn seen(mut self, evidence: impl Into<String>) -> Check {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds the likely cause.
    pub fn likely(mut self, cause: impl Into<String>) -> Check {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the fix.
    pub fn to_do(mut self, todo: impl Into<String>) -> Check {
        self.todo = Some(todo.into());
        self
    }

    /// Returns the problem, if there is one.
    pub fn fault(&self) -> Option<Fault> {
        match self.state {
            State::Bad(fault) => Some(fault),
            _ => None,
        }
    }

    /// Returns the lines below a check with their labels: evidence, likely cause, fix. A successful check has none.
    pub fn details(&self) -> Vec<(&'static str, &str)> {
        if self.state == State::Good {
            return Vec::new();
        }
        let evidence = self.evidence.iter().map(|line| ("Evidence", line.as_str()));
        let cause = self
            .cause
            .iter()
            .map(|line| ("Likely cause", line.as_str()));
        let todo = self.todo.iter().map(|line| ("Fix", line.as_str()));
        evidence.chain(cause).chain(todo).collect()
    }

    /// Returns the heading of its subject.
    pub fn heading(&self) -> String {
        match (&self.profile, &self.server) {
            (None, _) => "This machine".into(),
            (Some(profile), None) => format!("Profile {profile}"),
            (Some(profile), Some(server)) if profile == server => {
                format!("Profile {profile}, agent server")
            }
            (Some(profile), Some(server)) => format!("Profile {profile}, agent server {server}"),
        }
    }

    /// Returns the check as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "profile": self.profile, "server": self.server, "check": self.name, "state": self.state.word(),
            "found": self.found, "evidence": self.evidence, "likely": self.cause, "do": self.todo,
        })
    }

    /// Applies a function to all texts.
    pub(super) fn map(mut self, safe: impl Fn(&str) -> String) -> Check {
        for text in [
            &mut self.profile,
            &mut self.server,
            &mut self.cause,
            &mut self.todo,
        ]
        .into_iter()
        .flatten()
        {
            *text = safe(text);
        }
        self.found = safe(&self.found);
        self.evidence.iter_mut().for_each(|line| *line = safe(line));
        self
    }
}
