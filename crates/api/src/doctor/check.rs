//! One check of the doctor and its findings.

use serde_json::{Value, json};

/// What was looked at, what was found, and what it means. All its texts are clean and hold no secret.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Check {
    /// The profile that it is about; none for this machine.
    pub profile: Option<String>,
    /// The agent server of the profile that it is about; none for its control plane and its keys.
    pub server: Option<String>,
    /// What was looked at, in a word or two. Other programs may rely on it.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found, in a line.
    pub found: String,
    /// What that rests on: the request, the answer, addresses.
    pub evidence: Vec<String>,
    /// The likely cause, where something is wrong.
    pub cause: Option<String>,
    /// What to do about it.
    pub todo: Option<String>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// As it should be.
    #[default]
    Good,
    /// It works, but somebody should know.
    Warn,
    /// It does not work.
    Bad(Fault),
    /// It was not looked at, or cannot be known.
    Skipped,
}

impl State {
    /// Its word for other programs: `good`, `warn`, `bad`, `skipped`.
    pub fn word(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Warn => "warn",
            State::Bad(_) => "bad",
            State::Skipped => "skipped",
        }
    }

    /// Its glyph, and that for terminals with ASCII alone.
    pub fn glyph(self) -> (&'static str, &'static str) {
        match self {
            State::Good => ("✓", "+"),
            State::Warn => ("!", "!"),
            State::Bad(_) => ("✗", "x"),
            State::Skipped => ("-", "-"),
        }
    }
}

/// Where a fault lies, the gravest first: what comes first has to be put right first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// In the configuration or the environment.
    Configuration,
    /// In what the key may do.
    Access,
    /// On the way to the server, or in a server that is not ready.
    Network,
    /// Elsewhere.
    Other,
}

impl Check {
    fn of(name: &'static str, state: State, found: impl Into<String>) -> Check {
        Check { name, state, found: found.into(), ..Check::default() }
    }

    /// A check that went well.
    pub fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Good, found)
    }

    /// One that found what somebody should know.
    pub fn warn(name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Warn, found)
    }

    /// One that found a fault.
    pub fn bad(fault: Fault, name: &'static str, found: impl Into<String>) -> Check {
        Check::of(name, State::Bad(fault), found)
    }

    /// One that was not made.
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

    /// Adds what to do.
    pub fn to_do(mut self, todo: impl Into<String>) -> Check {
        self.todo = Some(todo.into());
        self
    }

    /// The fault, where there is one.
    pub fn fault(&self) -> Option<Fault> {
        match self.state {
            State::Bad(fault) => Some(fault),
            _ => None,
        }
    }

    /// What stands below the line of a check: its evidence, the likely cause, what to do; each with its label. What went
    /// well has nothing to explain.
    pub fn details(&self) -> Vec<(&'static str, &str)> {
        if self.state == State::Good {
            return Vec::new();
        }
        let evidence = self.evidence.iter().map(|line| ("seen", line.as_str()));
        let cause = self.cause.iter().map(|line| ("likely", line.as_str()));
        let todo = self.todo.iter().map(|line| ("do", line.as_str()));
        evidence.chain(cause).chain(todo).collect()
    }

    /// What it is about, as a heading.
    pub fn heading(&self) -> String {
        match (&self.profile, &self.server) {
            (None, _) => "This machine".into(),
            (Some(profile), None) => format!("Profile {profile}"),
            (Some(profile), Some(server)) if profile == server => format!("Profile {profile}, agent server"),
            (Some(profile), Some(server)) => format!("Profile {profile}, agent server {server}"),
        }
    }

    /// The check for other programs.
    pub fn to_json(&self) -> Value {
        json!({
            "profile": self.profile, "server": self.server, "check": self.name, "state": self.state.word(),
            "found": self.found, "evidence": self.evidence, "likely": self.cause, "do": self.todo,
        })
    }

    /// Passes all texts through a function.
    pub(super) fn map(mut self, safe: impl Fn(&str) -> String) -> Check {
        for text in [&mut self.profile, &mut self.server, &mut self.cause, &mut self.todo].into_iter().flatten() {
            *text = safe(text);
        }
        self.found = safe(&self.found);
        self.evidence.iter_mut().for_each(|line| *line = safe(line));
        self
    }
}
