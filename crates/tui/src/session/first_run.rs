//! What the first-run screen learns from outside.

/// An agent server that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    pub url: String,
    /// The number of its assistants; `None` if it didn't list them in time.
    pub assistants: Option<usize>,
}
