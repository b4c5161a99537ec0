//! How a connection came to its end.

/// How a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// In order, between two events.
    Eof,
    /// In order as far as the transport knows, but in the middle of an event.
    Cut,
    Reset,
    Timeout,
    Idle,
    /// By us: what it said could not be told from a repetition.
    Unsure,
    /// By us: other modes are wanted.
    Modes,
}

impl Closed {
    /// As the tape has it.
    pub fn word(self) -> &'static str {
        match self {
            Closed::Eof => "eof",
            Closed::Cut => "cut",
            Closed::Reset => "reset",
            Closed::Timeout => "timeout",
            Closed::Idle => "idle",
            Closed::Unsure => "unsure",
            Closed::Modes => "modes",
        }
    }

    /// As a person is told why the link is made again.
    pub fn why(self) -> &'static str {
        match self {
            Closed::Eof => "the server closed the stream while the run goes on",
            Closed::Cut => "the stream ended in the middle of an event",
            Closed::Reset => "the connection broke",
            Closed::Timeout => "the server took too long",
            Closed::Idle => "heartbeats stopped",
            Closed::Unsure | Closed::Modes => "",
        }
    }
}
