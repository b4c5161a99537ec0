//! `error`: why a run failed.

use serde::Deserialize;
use std::borrow::Cow;

/// The error object that most servers send. Some send only a string.
#[derive(Deserialize)]
pub(crate) struct Failure<'a> {
    #[serde(default, borrow)]
    pub error: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub message: Option<Cow<'a, str>>,
}
