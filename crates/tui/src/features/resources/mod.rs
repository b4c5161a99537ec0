//! Integrations, listeners, providers and tokens, and authentication with a provider.

pub mod records;
pub mod sign_in;
mod view;
