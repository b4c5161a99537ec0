//! Token counts as reported by models.

use serde::Deserialize;

/// `usage_metadata` of a message, and `usage` of a message in the v2 protocol, which has the same fields.
#[derive(Deserialize, Default)]
pub(crate) struct UsageMetadata {
    #[serde(default)]
    pub input_tokens: Option<u64>,
    #[serde(default)]
    pub output_tokens: Option<u64>,
    #[serde(default)]
    pub total_tokens: Option<u64>,
    #[serde(default)]
    pub input_token_details: Option<Details>,
    #[serde(default)]
    pub output_token_details: Option<Details>,
}

/// A breakdown of the tokens.
#[derive(Deserialize, Default, Clone, Copy)]
pub(crate) struct Details {
    #[serde(default)]
    pub cache_read: Option<u64>,
    #[serde(default)]
    pub reasoning: Option<u64>,
}
