//! How a connection came to its end.

/// How a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// Cleanly, between two events.
    Eof,
    /// The transport closed cleanly, but in the middle of an event.
    Cut,
    Reset,
    Timeout,
    Idle,
    /// By us: an event could not be told from a replayed one.
    Unsure,
    /// By us, to request other modes.
    Modes,
}

impl Closed {
    /// Whether the server or the network closed it, and not we.
    pub fn is_by_server(self) -> bool {
        !matches!(self, Closed::Unsure | Closed::Modes)
    }

    /// The word in records.
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

    /// The reason for a reconnect, in words.
    pub fn why(self) -> &'static str {
        match self {
            Closed::Eof => "the stream was closed",
            Closed::Cut => "the stream ended in the middle of an event",
            Closed::Reset => "the connection broke",
            Closed::Timeout => "the server took too long",
            Closed::Idle => "heartbeats stopped",
            Closed::Unsure | Closed::Modes => "",
        }
    }
}
