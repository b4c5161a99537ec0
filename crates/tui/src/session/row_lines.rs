//! Lines about a row that its list has no room for: a question with its fields, what was read of the row, and its keys.

use super::Session;
use super::msg::RowDetail;
use super::row_details::KnownDetail;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::model::Question;
use runtail_core::text;
use serde_json::Value;

/// Bytes of a value that are shown.
const MAX_VALUE: usize = 2 << 10;
/// Columns before the value of a field.
const FIELD: usize = 22;
/// Fields of a question that are shown.
const MAX_FIELDS: usize = 12;

/// Adds what was read of the row, as far as there is room: the last message or the first error. `…` ends a value that is cut, and
/// `+3 more` counts the values that are not shown.
pub fn push_known(lines: &mut Vec<Line>, known: Option<&KnownDetail>, width: usize, room: usize) {
    let nothing = RowDetail::default();
    let (title, detail) = match known {
        // The row itself says what is needed without the state's fields and messages.
        _ if lines.len() + 2 > room => return,
        None => return,
        Some(KnownDetail::Loading(_)) => ("loading…".to_string(), &nothing),
        Some(KnownDetail::Failed(why)) => (
            format!("couldn't read the details ({})", text::clean(why)),
            &nothing,
        ),
        Some(KnownDetail::Loaded(detail)) if detail.rows.is_empty() => return,
        Some(KnownDetail::Loaded(detail)) => (detail.title.clone(), detail),
    };
    let title = format!("── {} ", text::clean(&title));
    let rule = "─".repeat(width.saturating_sub(2 + text::width(&title)));
    lines.push(Line::dim(&format!("  {title}{rule}")));
    let values: Vec<Vec<Line>> = detail
        .rows
        .iter()
        .map(|row| value_lines(row, detail.rows.len() > 1, width))
        .collect();
    let left = room.saturating_sub(lines.len());
    let is_all = values.iter().map(Vec::len).sum::<usize>() <= left && detail.hidden == 0;
    // One value that doesn't fit needs no count.
    let is_counted = !is_all && values.len() + detail.hidden > 1;
    let for_values = if is_counted {
        left.saturating_sub(1).max(1)
    } else {
        left
    };
    let (mut shown, mut rest) = (0, for_values);
    for value in &values {
        if rest == 0 {
            break;
        }
        let part = &value[..value.len().min(rest)];
        lines.extend(part.iter().cloned());
        if let Some(last) = lines.last_mut().filter(|_| part.len() < value.len()) {
            shorten(last, width, " …");
        }
        (shown, rest) = (shown + 1, rest - part.len());
    }
    let hidden = values.len() - shown + detail.hidden;
    match lines.last_mut() {
        Some(last) if hidden > 0 && left == 1 => {
            let more = format!("   +{} more", text::count(hidden as u64));
            shorten(last, width.saturating_sub(text::width(&more)), "");
            last.push_dim(&more);
        }
        _ => lines.extend((hidden > 0).then(|| more(hidden))),
    }
}

/// Returns the lines of a value with its label. `is_list`: whether it is one of several, which are aligned with the fields of the
/// question.
fn value_lines((label, said): &(String, String), is_list: bool, width: usize) -> Vec<Line> {
    let label = text::fit(&text::clean(label), 16).into_owned();
    let indent = match (label.is_empty(), is_list) {
        (true, _) => 2,
        (false, false) => 4 + text::width(&label),
        (false, true) => FIELD,
    };
    let head = match is_list {
        _ if label.is_empty() => String::new(),
        true => format!("    {label}"),
        false => format!("  {label}"),
    };
    let parts = bounded(said, width.saturating_sub(indent).max(10));
    let line = |(n, part): (usize, &String)| {
        let head = if n == 0 { head.as_str() } else { "" };
        let fill = " ".repeat(indent.saturating_sub(text::width(head)));
        Line::dim(&format!("{head}{fill}")).with_plain(part)
    };
    parts.iter().enumerate().map(line).collect()
}

/// Wraps the beginning of a value. `…` ends one that is cut.
fn bounded(said: &str, width: usize) -> Vec<String> {
    let head = text::head(said, MAX_VALUE);
    let mut parts = wrap(head, width);
    if let Some(last) = parts.last_mut().filter(|_| head.len() < said.len()) {
        *last = text::fit(&format!("{last} …"), width).into_owned();
    }
    parts
}

/// Shortens the value of a line to a width in which a mark follows it.
fn shorten(line: &mut Line, width: usize, mark: &str) {
    let before: usize = line
        .left
        .iter()
        .rev()
        .skip(1)
        .map(|piece| text::width(&piece.text))
        .sum();
    if let Some(last) = line.left.last_mut() {
        last.text = text::fit(
            &format!("{}{mark}", last.text),
            width.saturating_sub(before),
        )
        .into_owned();
    }
}

/// Returns the line that counts what is not shown.
fn more(count: usize) -> Line {
    Line::dim(&format!("    +{} more", text::count(count as u64)))
}

/// The fields of a plain question that hold its text.
const TEXTS: [&str; 4] = ["question", "message", "prompt", "description"];

/// Returns the field of a plain question that holds its text.
fn text_field(question: &Question) -> Option<(&'static str, &str)> {
    let fields = question
        .value
        .as_object()
        .filter(|_| question.actions().is_empty())?;
    TEXTS
        .iter()
        .find_map(|name| Some((*name, fields.get(*name)?.as_str()?)))
}

/// Returns what is asked, without the fields that are listed below it.
pub fn heading(question: &Question) -> String {
    match text_field(question) {
        Some((_, said)) => text::head(said, MAX_VALUE).to_string(),
        None => question.summary(),
    }
}

/// Adds what a question contains besides its first line: the arguments of actions, or its other fields.
pub fn push_fields(lines: &mut Vec<Line>, question: &Question, width: usize) {
    let actions = question.actions();
    for action in &actions {
        lines.push(Line::plain("  ").with_plain(&action.name));
        push_values(lines, &action.args, None, width);
    }
    if !actions.is_empty() {
        return;
    }
    if let Value::String(said) = &question.value {
        // The first line of a text is its summary.
        let more = said.lines().skip(1).filter(|line| !line.trim().is_empty());
        let more = more.collect::<Vec<_>>().join("\n");
        let width = width.saturating_sub(2).max(10);
        let rows = wrap(text::head(&more, MAX_VALUE), width).into_iter();
        let rows = rows.filter(|_| !more.is_empty());
        return lines.extend(rows.map(|part| Line::plain(&format!("  {part}"))));
    }
    let heading = text_field(question).map(|(name, _)| name);
    push_values(lines, &question.value, heading, width);
}

/// Adds the fields of an object, except one.
fn push_values(lines: &mut Vec<Line>, value: &Value, except: Option<&str>, width: usize) {
    let fields = value.as_object().into_iter().flatten();
    let fields: Vec<(&String, &Value)> = fields
        .filter(|(key, _)| Some(key.as_str()) != except)
        .collect();
    for (key, value) in fields.iter().take(MAX_FIELDS) {
        let said = value
            .as_str()
            .map_or_else(|| value.to_string(), String::from);
        lines.extend(value_lines(&(key.to_string(), said), true, width));
    }
    let hidden = fields.len().saturating_sub(MAX_FIELDS);
    lines.extend((hidden > 0).then(|| more(hidden)));
}

/// Returns the keys of actions with their labels, in the order of the actions, as far as they fit.
pub fn keys_line(ids: &[(&str, &str)], session: &Session, width: usize) -> Line {
    let mut line = Line::new();
    for (id, label) in ids {
        let Some(key) = session.hint_key(id) else {
            continue;
        };
        let gap = if line.left.is_empty() { "" } else { "   " };
        let hint = Line::plain(gap)
            .with(Tone::Key, &key)
            .with_dim(&format!(" {label}"));
        if line.width() + hint.width() <= width {
            line.left.extend(hint.left);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[(&str, &str)], hidden: usize, room: usize) -> Vec<String> {
        let rows = rows
            .iter()
            .map(|(name, said)| (name.to_string(), said.to_string()))
            .collect();
        let known = KnownDetail::Loaded(RowDetail {
            title: "state".into(),
            rows,
            hidden,
        });
        let mut lines = Vec::new();
        push_known(&mut lines, Some(&known), 40, room);
        lines
            .iter()
            .skip(1)
            .map(|line| line.text().trim_start().to_string())
            .collect()
    }

    #[test]
    fn what_is_cut_and_what_is_left_out_have_marks_of_their_own() {
        let rows = [
            ("a", "1"),
            ("b", "a text that is too long for one line"),
            ("c", "3"),
        ];
        assert_eq!(shown(&rows, 0, 2), ["a                 1   +2 more"]);
        assert_eq!(shown(&rows, 0, 3), ["a                 1", "+2 more"]);
        assert_eq!(
            shown(&rows, 0, 4),
            [
                "a                 1",
                "b                 a text that is to…",
                "+1 more"
            ]
        );
        assert_eq!(
            shown(&rows, 0, 9).last().map(String::as_str),
            Some("c                 3")
        );
        assert_eq!(
            shown(&rows, 7, 9).last().map(String::as_str),
            Some("+7 more")
        );
        assert_eq!(
            shown(
                &[("ai", "a text that is too long for one line of this width")],
                0,
                2
            ),
            ["ai  a text that is too long for one …"]
        );
        assert!(shown(&rows, 0, 1).is_empty());
    }
}
