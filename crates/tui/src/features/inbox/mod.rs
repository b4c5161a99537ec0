//! The inbox: threads that wait for a person or have failed, over all agent servers, and deployments whose newest revision
//! failed. [`Inbox`](crate::session::inbox::Inbox) is what is known, [`InboxPage`] shows it.

mod detail;
mod notify;
mod page;
mod rows;
mod several;
mod subscription;
mod view;

pub use notify::{hooks, publish};
pub use page::InboxPage;

#[cfg(test)]
mod tests;
