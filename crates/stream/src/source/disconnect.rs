//! How a connection came to its end.

/// How a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisconnectReason {
    /// Cleanly, between two events.
    Clean,
    /// The transport closed cleanly, but in the middle of an event.
    Truncated,
    Reset,
    Timeout,
    Idle,
    /// By us: an event could not be told from a replayed one.
    Ambiguous,
    /// By us, to request other modes.
    Modes,
}

impl DisconnectReason {
    /// Whether the server or the network closed it, and not we.
    pub fn is_by_server(self) -> bool {
        !matches!(self, DisconnectReason::Ambiguous | DisconnectReason::Modes)
    }

    /// The word in records.
    pub fn as_str(self) -> &'static str {
        match self {
            DisconnectReason::Clean => "eof",
            DisconnectReason::Truncated => "cut",
            DisconnectReason::Reset => "reset",
            DisconnectReason::Timeout => "timeout",
            DisconnectReason::Idle => "idle",
            DisconnectReason::Ambiguous => "unsure",
            DisconnectReason::Modes => "modes",
        }
    }

    /// The reason for a reconnect, in words.
    pub fn message(self) -> &'static str {
        match self {
            DisconnectReason::Clean => "the stream was closed",
            DisconnectReason::Truncated => "the stream ended in the middle of an event",
            DisconnectReason::Reset => "the connection broke",
            DisconnectReason::Timeout => "the server took too long",
            DisconnectReason::Idle => "heartbeats stopped",
            DisconnectReason::Ambiguous | DisconnectReason::Modes => "",
        }
    }
}
