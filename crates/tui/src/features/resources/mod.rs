//! The lists beside the deployments, and authentications with a provider.

pub mod browse;
pub mod sign_in;
mod view;
