//! The dialogs of a dashboard under test, and its command line. Tests read its state only through these methods.

use super::Dash;
use runtail_tui::app::Overlay;
use runtail_tui::app::palette::Completion;
use runtail_tui::features::changes::confirm::Confirm;
use runtail_tui::features::changes::editor::Editor;
use runtail_tui::session::msg::RevisionRef;

/// Declares the pages and dialogs that cover the panes.
macro_rules! dialogs {
    ($($name:ident)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Dialog { $($name,)* }

        impl Dialog {
            fn of(overlay: &Overlay) -> Dialog {
                match overlay { $(Overlay::$name(_) => Dialog::$name,)* }
            }
        }
    };
}

dialogs! {
    Help Keys Messages Inspect Compose Edit Confirm Journal Entry Explain Doctor Answer Why Bisect Delivery Modes
    Command Profiles Save FirstRun SignIn Records Inbox Graph Compare
}

/// The command line and the dialogs.
impl Dash {
    /// Returns the dialogs and pages over the panes, bottom first.
    pub fn dialogs(&self) -> Vec<Dialog> {
        self.app.overlays.iter().map(Dialog::of).collect()
    }

    /// Returns the dialog or page that takes the keys.
    pub fn dialog(&self) -> Option<Dialog> {
        self.app.overlays.last().map(Dialog::of)
    }

    /// Returns whether this dialog or page takes the keys.
    pub fn has_dialog(&self, dialog: Dialog) -> bool {
        self.dialog() == Some(dialog)
    }

    /// Returns the lines that the command line offers for a text.
    pub fn offers(&self, text: &str) -> Vec<Completion> {
        self.app.offers(text)
    }

    /// Returns why the command line offers nothing for a text.
    pub fn no_completion(&self, text: &str) -> String {
        self.app.no_completion(text)
    }

    /// Returns the commands that open a page, with their help.
    pub fn screens(&self) -> &'static [(&'static str, &'static str)] {
        runtail_tui::app::SCREENS
    }

    /// Returns the text of the open command line.
    #[track_caller]
    pub fn command_line(&self) -> String {
        match self.app.overlays.last() {
            Some(Overlay::Command(palette)) => palette.text(),
            other => panic!("the command line is closed: {other:?}"),
        }
    }

    /// Returns the open editor.
    #[track_caller]
    pub fn editor(&self) -> &Editor {
        match self.app.overlays.last() {
            Some(Overlay::Edit(editor)) => editor,
            other => panic!("no editor is open: {other:?}"),
        }
    }

    /// Returns the text in the open editor.
    #[track_caller]
    pub fn document(&self) -> String {
        self.editor().twin.text.text()
    }

    /// Returns the open preview of a change.
    pub fn preview(&self) -> Option<&Confirm> {
        match self.app.overlays.last() {
            Some(Overlay::Confirm(confirm)) => Some(confirm),
            _ => None,
        }
    }

    /// Returns whether an answer to a question is being written.
    pub fn is_answering(&self) -> bool {
        use runtail_tui::features::thread::answer::AnswerStage;
        matches!(self.app.overlays.last(), Some(Overlay::Answer(card)) if card.stage == AnswerStage::Editing)
    }

    /// Returns the stream modes that are chosen for the run in the composer.
    #[track_caller]
    pub fn composed_modes(&self) -> Vec<String> {
        match self.app.overlays.last() {
            Some(Overlay::Compose(composer)) => composer.options.chosen_modes(),
            other => panic!("the composer is closed: {other:?}"),
        }
    }

    /// Returns the revision whose page is open.
    pub fn explained_revision(&self) -> Option<RevisionRef> {
        let of = |overlay: &Overlay| match overlay {
            Overlay::Explain(explained) => Some(explained.page.of.clone()),
            _ => None,
        };
        self.app.overlays.iter().rev().find_map(of)
    }

    /// Returns the selected row of the profiles page.
    #[track_caller]
    pub fn selected_profile(&self) -> Option<&str> {
        match self.app.overlays.last() {
            Some(Overlay::Profiles(page)) => page.table.selected(),
            other => panic!("the page is not open: {other:?}"),
        }
    }
}
