//! Token counts as reported by models.

use serde::Deserialize;

/// `usage_metadata` of a message, and `usage` of a message in the v2 protocol, which has the same fields.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct UsageMetadata {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
    pub input_token_details: Option<Details>,
    pub output_token_details: Option<Details>,
}

/// A breakdown of the tokens.
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
pub(crate) struct Details {
    pub cache_read: Option<u64>,
    pub reasoning: Option<u64>,
}
