//! A server's last good response, and the state of the newest request for it.

use jiff::Timestamp;
use runtail_api::ApiError;

/// The last good response, and the error of the newest request if it failed.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The last good response.
    pub value: Option<T>,
    /// When it was received.
    pub at: Option<Timestamp>,
    /// Why the newest request failed.
    pub error: Option<ApiError>,
}

impl<T> Default for Loaded<T> {
    fn default() -> Self {
        Loaded { value: None, at: None, error: None }
    }
}

impl<T> Loaded<T> {
    /// Applies the newest response. An error keeps the last good value.
    pub fn take(&mut self, result: Result<T, ApiError>, at: Timestamp) {
        match result {
            Ok(value) => *self = Loaded { value: Some(value), at: Some(at), error: None },
            Err(error) => self.error = Some(error),
        }
    }
}
