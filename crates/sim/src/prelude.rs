//! What the handlers of both services use.

pub use crate::http::{
    Handled, Refusal, bad, conflict, detail, done, json_response, last_of, missing, ok,
    query_pairs, refuse, set_header,
};
pub use crate::ids::{
    before, iso, iso_z, now, stable_hex, stable_number, stable_uuid, uuid4, uuid7,
};
pub use crate::values::{Object, fields_of, items_of, locked, object_of, text_of, texts_of};
pub use axum::Router;
pub use axum::body::{Body, Bytes};
pub use axum::extract::{Path, State};
pub use axum::http::{StatusCode, Uri};
pub use axum::response::{IntoResponse, Response};
pub use axum::routing::{delete, get, post};
pub use jiff::Timestamp;
pub use serde_json::{Value, json};
pub use std::sync::{Arc, Mutex, MutexGuard};
pub use std::time::Duration;
