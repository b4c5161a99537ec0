//! Where a key or a pasted text goes: to what is typed in, to a dialog, or to what it means where one is.

use super::key::{Code, Key};
use super::keys::{Action, Context};
use super::msg::Effect;
use super::update::act;
use super::{App, Overlay};

/// A key was pressed.
pub(super) fn press(app: &mut App, key: Key) -> Vec<Effect> {
    let context = app.context();
    // What moves unseen is worse than what does not move.
    if app.frozen {
        let action = app.keymap.action(context, key).filter(|action| action.works_frozen());
        return action.map(|action| act(app, context, action)).unwrap_or_default();
    }
    app.fleet.touched = true;
    app.describing = None;
    app.pass_notice();
    app.cancel_search();
    if app.prompt.is_some() {
        app.type_key(key);
        return Vec::new();
    }
    match context {
        Context::Composer => return composer_key(app, key),
        Context::Command => return app.palette_key(key),
        Context::Editor => return editor_key(app, key),
        Context::Answer => return app.answer_key(key),
        // Where a name is typed, letters are letters.
        Context::Confirm if app.types_name() && key.text().is_some() => {
            app.confirm_key(key);
            return Vec::new();
        }
        _ => {}
    }
    match app.keymap.action(context, key) {
        Some(action) if context == Context::Confirm && action.is_of_confirm() => app.act_confirm(action),
        Some(action) => act(app, context, action),
        None if context == Context::Confirm && key.code == Code::Enter => app.change_limit(),
        None => {
            app.confirm_key(key);
            Vec::new()
        }
    }
}

fn composer_key(app: &mut App, key: Key) -> Vec<Effect> {
    // Only the composer's own keys, and those that no text field wants.
    let action = app.keymap.action(Context::Composer, key);
    match action {
        Some(Action::Start) => return app.start_composed(),
        Some(Action::Back) => {
            if let Some(Overlay::Compose(composer)) = app.overlays.pop() {
                app.draft = Some(*composer);
            }
        }
        Some(Action::NextField | Action::PrevField) => {
            if let Some(Overlay::Compose(composer)) = app.overlays.last_mut() {
                composer.next_field(if action == Some(Action::NextField) { 1 } else { -1 });
            }
        }
        Some(Action::QuitNow) => app.quit = true,
        Some(Action::Suspend) => return vec![Effect::Suspend],
        Some(Action::Redraw) => return vec![Effect::Redraw],
        _ => {
            if let Some(Overlay::Compose(composer)) = app.overlays.last_mut() {
                composer.key(key);
            }
        }
    }
    Vec::new()
}

/// As in the composer: only the editor's own keys, and those that no text field wants.
fn editor_key(app: &mut App, key: Key) -> Vec<Effect> {
    match app.keymap.action(Context::Editor, key) {
        Some(Action::Preview) => return app.preview_edited(),
        Some(Action::Back) => app.leave_editor(),
        Some(Action::StartOver) => app.start_document_over(),
        Some(Action::EditOutside) => {
            if let Some(Overlay::Edit(editor)) = app.overlays.last() {
                return vec![Effect::EditOutside(editor.text.text())];
            }
        }
        Some(Action::QuitNow) => app.quit = true,
        Some(Action::Suspend) => return vec![Effect::Suspend],
        Some(Action::Redraw) => return vec![Effect::Redraw],
        _ => {
            if let Some(Overlay::Edit(editor)) = app.overlays.last_mut() {
                editor.key(key);
            }
        }
    }
    Vec::new()
}

/// A text was pasted.
pub(super) fn paste(app: &mut App, text: &str) -> Vec<Effect> {
    if app.frozen {
        return Vec::new();
    }
    if app.prompt.is_some() {
        app.type_paste(text);
        return Vec::new();
    }
    match app.overlays.last_mut() {
        Some(Overlay::Compose(composer)) => composer.paste(text),
        Some(Overlay::Edit(editor)) => editor.paste(text),
        Some(Overlay::Answer(card)) => card.paste(text),
        Some(Overlay::Confirm(confirm)) if confirm.wants_name().is_some() => {
            confirm.typed.insert(text);
        }
        Some(Overlay::Command(_)) => app.palette_paste(text),
        // Where nothing is typed, what is pasted is gone to.
        None => return app.land_on(text),
        _ => {}
    }
    Vec::new()
}
