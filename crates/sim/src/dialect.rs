//! The kinds of servers that the simulator can imitate.

use std::str::FromStr;

/// The kind of server to imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The Python agent server and the hosted control plane.
    #[default]
    Python,
    /// A server with only the calls of the written contract: twelve endpoints, unique ids, repeated `stream_modes`.
    Contract,
    /// The JavaScript agent server (`langgraphjs dev`).
    JavaScript,
    Aegra,
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "python" => Ok(Dialect::Python),
            "contract" => Ok(Dialect::Contract),
            "javascript" | "js" => Ok(Dialect::JavaScript),
            "aegra" => Ok(Dialect::Aegra),
            other => Err(format!(
                "unknown dialect '{other}' (known: python, contract, javascript, aegra)"
            )),
        }
    }
}
