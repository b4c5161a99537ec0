//! A server's last good response, and the state of the newest request for it.

use jiff::Timestamp;
use runtail_api::{ApiError, Listing};

/// The last good response, and the error of the newest request if it failed.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The last good response.
    pub value: Option<T>,
    /// When it was received.
    pub at: Option<Timestamp>,
    /// Why the newest request failed.
    pub error: Option<ApiError>,
    /// Says which rows of a list couldn't be read.
    pub unread: Option<String>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Loaded {
            value: None,
            at: None,
            error: None,
            unread: None,
        }
    }
}

impl<T> Loaded<T> {
    /// Applies the newest response. An error keeps the last good value.
    pub fn take(&mut self, result: Result<T, ApiError>, at: Timestamp) {
        match result {
            Ok(value) => {
                *self = Loaded {
                    value: Some(value),
                    at: Some(at),
                    ..Loaded::default()
                }
            }
            Err(error) => self.error = Some(error),
        }
    }
}

impl<T> Loaded<Vec<T>> {
    /// Applies the newest response to a request for a list.
    pub fn apply_list(&mut self, result: Result<Listing<T>, ApiError>, at: Timestamp) {
        let unread = result.as_ref().ok().and_then(|listing| listing.warning());
        self.take(result.map(|listing| listing.items), at);
        self.unread = unread.or(self.unread.take());
    }
}
