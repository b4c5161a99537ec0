//! Why a connection closed.

/// The reason why a connection closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisconnectReason {
    /// Cleanly, between two events.
    Clean,
    /// The transport closed cleanly, but in the middle of an event.
    Truncated,
    Reset,
    Timeout,
    Idle,
    /// Closed by us: it was unclear whether an event was a duplicate.
    Ambiguous,
    /// Closed by us, to request other modes.
    Modes,
}

impl DisconnectReason {
    /// Returns whether the server or the network closed the connection.
    pub fn is_by_server(self) -> bool {
        !matches!(self, DisconnectReason::Ambiguous | DisconnectReason::Modes)
    }

    /// Returns the word used in records.
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

    /// Returns the reason for a reconnect, as shown to users.
    pub fn message(self) -> &'static str {
        match self {
            DisconnectReason::Clean => "connection closed",
            DisconnectReason::Truncated => "the stream ended in the middle of an event",
            DisconnectReason::Reset => "connection lost",
            DisconnectReason::Timeout => "the server took too long",
            DisconnectReason::Idle => "heartbeats stopped",
            DisconnectReason::Ambiguous | DisconnectReason::Modes => "",
        }
    }
}
