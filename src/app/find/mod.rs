//! Finding one's way in a stream: what is searched for, what is let through, and where on the tape it is.

mod pattern;
mod sieve;

pub use pattern::{Look, Pattern, Source, light, unescaped};
pub use sieve::Sieve;
