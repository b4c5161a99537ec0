//! The order of event ids.

/// The sort key of an id of the form `<number>` or `<number>-<number>`. Python servers send milliseconds since the epoch and a
/// counter; JavaScript servers send the number of the event in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdKey {
    /// The first number.
    pub major: u64,
    /// The number after the hyphen, else 0.
    pub minor: u64,
}

impl IdKey {
    /// Parses an id. Returns nothing for an id of another form.
    pub fn of(id: &str) -> Option<IdKey> {
        let number = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| text.parse().ok())
                .flatten()
        };
        Some(match id.split_once('-') {
            Some((major, minor)) => IdKey {
                major: number(major)?,
                minor: number(minor)?,
            },
            None => IdKey {
                major: number(id)?,
                minor: 0,
            },
        })
    }
}

/// Returns whether a connection resumed after this id receives all events. No event has one of these ids.
pub fn is_start(id: &str) -> bool {
    matches!(id, "-" | "-1" | "0" | "0-0")
}
