//! The HTTP clients of both services.

mod error;

pub use error::{ApiError, Kind, Place};
