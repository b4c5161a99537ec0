//! An answer of a server, and what became of the newest request for it.

use jiff::Timestamp;
use runtail_api::ApiError;

/// Something that was asked for: the last good answer, and what became of the newest request.
#[derive(Debug, Clone)]
pub struct Loaded<T> {
    /// The last good answer.
    pub value: Option<T>,
    /// When it came.
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
    /// Takes the newest answer; a failure leaves the last good one.
    pub fn take(&mut self, result: Result<T, ApiError>, at: Timestamp) {
        match result {
            Ok(value) => *self = Loaded { value: Some(value), at: Some(at), error: None },
            Err(error) => self.error = Some(error),
        }
    }
}
