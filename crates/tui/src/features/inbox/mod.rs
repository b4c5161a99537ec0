//! The inbox: threads that wait for a person or have failed, over all agent servers, and deployments whose newest revision
//! failed. [`Inbox`] is what is known, [`InboxPage`] shows it.

mod detail;
mod news;
mod notify;
mod page;
mod state;
mod subscription;
mod table;
mod view;

pub use news::{News, PageStatus};
pub use notify::{hooks, publish};
pub use page::InboxPage;
pub use state::{Counts, FailedDeployment, Inbox, Listing, ProfileServers, Row, Tally, Target};
pub use table::{columns as row_columns, lines as row_lines};

#[cfg(test)]
mod tests;
