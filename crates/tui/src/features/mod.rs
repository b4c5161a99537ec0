//! The features, a folder each. A feature owns its state, keys, view, layout and subscriptions; it reads the rest of the
//! state through a context and asks for everything else by requests. No feature knows another one: only `app` knows them.

pub mod agent;
pub mod changes;
pub mod compare;
pub mod composer;
pub mod deployments;
pub mod diagnostics;
pub mod inbox;
pub mod inspector;
pub mod logs;
pub mod profiles;
pub mod resources;
pub mod stream;
pub mod thread;
