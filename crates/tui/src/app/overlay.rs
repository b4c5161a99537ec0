//! The overlays, which cover the panes. Each is a component of a feature: a new one needs a folder there and a line here.

use crate::features::*;
use crate::session::{Component, ComponentId, Paged};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// An open component, with the number that identifies it as long as it is open.
#[derive(Debug, Clone)]
pub struct Opened<C> {
    number: u64,
    component: Box<C>,
}

impl<C> Opened<C> {
    /// Opens a component.
    fn new(component: C) -> Opened<C> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Opened {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            component: Box::new(component),
        }
    }

    /// Closes the component.
    pub(super) fn closed(self) -> C {
        *self.component
    }
}

impl<C> Deref for Opened<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.component
    }
}

impl<C> DerefMut for Opened<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.component
    }
}

/// Declares the overlays. An overlay with a name and a help sentence has a command of that name that opens it.
macro_rules! overlays {
    ($($variant:ident($component:ty) $(= $command:literal, $help:literal)?;)*) => {
        #[derive(Debug, Clone)]
        pub enum Overlay { $($variant(Opened<$component>),)* }

        impl Deref for Overlay {
            type Target = dyn Component;

            fn deref(&self) -> &Self::Target {
                match self { $(Overlay::$variant(component) => &**component,)* }
            }
        }

        impl DerefMut for Overlay {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Overlay::$variant(component) => &mut **component,)* }
            }
        }

        $(impl From<$component> for Overlay {
            fn from(component: $component) -> Overlay {
                Overlay::$variant(Opened::new(component))
            }
        })*

        /// The commands that open an overlay: name and help sentence.
        pub const SCREENS: &[(&str, &str)] = &[$($(($command, $help),)?)*];

        impl Overlay {
            /// Returns the address of its requests.
            pub(super) fn id(&self) -> ComponentId {
                ComponentId::Overlay(match self {
                    $(Overlay::$variant(component) => component.number,)*
                })
            }

            /// Creates the overlay that a command opens.
            pub(super) fn of_command(_name: &str) -> Option<Overlay> {
                $($(if _name == $command {
                    return Some(<$component>::default().into());
                })?)*
                None
            }
        }
    };
}

overlays! {
    Help(super::help::HelpPage);
    Keys(Paged<super::help::KeysPage>);
    Messages(Paged<super::help::Messages>);
    Inspect(inspector::Document);
    Compose(composer::Composer);
    Edit(changes::editor::Editor);
    Confirm(changes::confirm::Confirm);
    Journal(changes::journal::JournalView) = "journal", "Sent changes and their results";
    Entry(Paged<changes::journal::Entry>);
    Explain(Paged<diagnostics::explain::Explained>);
    Doctor(Paged<diagnostics::doctor::Doctor>);
    Answer(thread::answer::AnswerCard);
    Why(Paged<thread::why::WhyPage>);
    Bisect(Paged<stream::bisect::BisectPage>);
    Delivery(Paged<stream::report::DeliveryReport>);
    Modes(stream::modes_dialog::ModesDialog);
    Command(super::palette::Palette);
    Profiles(profiles::view::ProfilesPage);
    Save(Paged<profiles::file::Save>);
    FirstRun(profiles::first_run::FirstRun);
    SignIn(Paged<resources::sign_in::SignIn>);
    Records(resources::records::RecordPage);
    Inbox(inbox::InboxPage);
    Graph(stream::graph::GraphPage);
    Compare(compare::ComparePage);
}
