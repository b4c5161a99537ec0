//! Changes of deployments and revisions.

mod deployments;
pub mod fields;
mod revisions;

pub use deployments::{Create, Delete, Update};
pub use revisions::{Redeploy, Rollback, Stop};
