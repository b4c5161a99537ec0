//! The token usage of messages.

use crate::protocol::UsageMetadata;
use runtail_core::json::Peek;

/// The token usage of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// Input and output tokens together.
    pub total: u64,
    /// Input tokens that were read from the provider's cache.
    pub cached: u64,
    /// Output tokens that were used for reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Parses `usage_metadata`, or the newer protocol's `usage`, which has the same fields.
    pub(super) fn read(raw: Peek<'_>) -> Option<Usage> {
        let usage: UsageMetadata = raw.read()?;
        let (input, output) = (
            usage.input_tokens.unwrap_or(0),
            usage.output_tokens.unwrap_or(0),
        );
        Some(Usage {
            input,
            output,
            total: usage.total_tokens.unwrap_or(input.saturating_add(output)),
            cached: usage
                .input_token_details
                .and_then(|d| d.cache_read)
                .unwrap_or(0),
            reasoning: usage
                .output_token_details
                .and_then(|d| d.reasoning)
                .unwrap_or(0),
        })
    }

    /// Adds the difference between two counts.
    pub fn add_change(&mut self, before: Usage, now: Usage) {
        for (sum, before, now) in [
            (&mut self.input, before.input, now.input),
            (&mut self.output, before.output, now.output),
            (&mut self.total, before.total, now.total),
            (&mut self.cached, before.cached, now.cached),
            (&mut self.reasoning, before.reasoning, now.reasoning),
        ] {
            *sum = sum.saturating_add(now).saturating_sub(before);
        }
    }

    /// Adds the usage of another chunk. Some models report their input with the first chunk and their output with the
    /// last.
    pub fn add(&mut self, more: Usage) {
        self.add_change(Usage::default(), more);
    }
}
