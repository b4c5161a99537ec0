//! Tokens that a message cost.

use crate::protocol::UsageMetadata;
use serde_json::value::RawValue;

/// Tokens that a message cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Both.
    pub total: u64,
    /// Of those read: taken from the provider's cache.
    pub cached: u64,
    /// Of those written: thought, and not said.
    pub reasoning: u64,
}

impl Usage {
    /// Reads `usage_metadata`, or the `usage` of the second dialect, which has the same fields.
    pub(super) fn read(raw: &RawValue) -> Option<Usage> {
        let usage: UsageMetadata = serde_json::from_str(raw.get()).ok()?;
        let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
        Some(Usage {
            input,
            output,
            total: usage.total_tokens.unwrap_or(input.saturating_add(output)),
            cached: usage.input_token_details.and_then(|d| d.cache_read).unwrap_or(0),
            reasoning: usage.output_token_details.and_then(|d| d.reasoning).unwrap_or(0),
        })
    }

    /// Adds what a count grew by.
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

    /// Some models count their input with the first piece and their output with the last.
    pub(super) fn add(&mut self, more: Usage) {
        for (sum, more) in [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.total, more.total),
            (&mut self.cached, more.cached),
            (&mut self.reasoning, more.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
