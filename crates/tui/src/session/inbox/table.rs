//! The cells of the inbox's rows.

use super::InboxListRow;
use crate::session::Session;
use crate::widgets::line::{Line, Tone};
use crate::widgets::markdown::plain_line;
use crate::widgets::status::{STUCK, tones};
use crate::widgets::table::{REST, TableColumns};
use runtail_core::model::{InboxCause, InboxItem, InboxRow, StatusRole};
use runtail_core::text;

/// Width from which the person that a thread belongs to is shown.
const WIDE: usize = 110;

/// Maximum bytes of a text that are compared with others.
const MAX_CELL: usize = 4 << 10;

/// Lays out the columns for a width. `is_one_server`: whether the rows are those of one server, which isn't named in each of them.
pub fn columns(width: usize, is_one_server: bool) -> TableColumns {
    let (state, deployment, thread, person) = match width {
        WIDE.. => (19, 22, 18, 17),
        75.. => (15, 15, 13, 0),
        _ => (10, 11, 8, 0),
    };
    let columns = [
        ("AGE", 4),
        ("STATE", state),
        ("DEPLOYMENT", if is_one_server { 0 } else { deployment }),
        ("THREAD", thread),
        ("WHAT IT NEEDS", REST),
        ("FOR", person),
    ];
    TableColumns::new(width, columns)
}

/// The column of what a row needs.
const NEEDS: usize = 4;

/// Returns the glyph and the words of a row's state, and their tones.
pub fn state(row: &InboxListRow) -> (&'static str, String, (Tone, Tone)) {
    let cause = match &row.row.item {
        InboxItem::Revision(_) => Some(InboxCause::Error),
        InboxItem::Thread(thread) => thread.cause,
    };
    let role = match cause {
        Some(InboxCause::Question | InboxCause::Breakpoint) | None => StatusRole::Waiting,
        Some(InboxCause::Cancelled | InboxCause::Edited) => StatusRole::Ended,
        Some(InboxCause::Error) => StatusRole::Failed,
        Some(InboxCause::Stuck) => StatusRole::Unknown,
    };
    let tones = match role {
        StatusRole::Unknown => STUCK,
        StatusRole::Ended => (Tone::Dim, Tone::Dim),
        role => tones(role),
    };
    (role.glyph(), row.row.state().to_string(), tones)
}

/// Returns `eu › support-bot`, or one name if both are the same.
pub fn place(row: &InboxRow) -> String {
    // A host is too long for a row.
    let tag = row
        .region
        .as_deref()
        .filter(|region| !region.contains(['.', ':']))
        .unwrap_or(&row.profile);
    match row.profile == row.deployment {
        true => row.profile.clone(),
        false => format!("{tag} › {}", row.deployment),
    }
}

/// Returns the graph and the end of the thread's id; `-` for a revision.
pub fn thread(row: &InboxRow) -> String {
    match &row.item {
        InboxItem::Thread(thread) => {
            let id: Vec<char> = thread.thread_id.chars().collect();
            let last: String = id[id.len().saturating_sub(4)..].iter().collect();
            format!("{} {last}", thread.graph.as_deref().unwrap_or("thread"))
        }
        InboxItem::Revision(_) => "-".into(),
    }
}

/// Returns what a row needs, in one line.
pub fn needs(row: &InboxListRow) -> String {
    match &row.row.item {
        InboxItem::Thread(thread) if !thread.questions.is_empty() => {
            plain_line(&thread.needs_in_words())
        }
        InboxItem::Thread(thread) => thread.needs_in_words(),
        InboxItem::Revision(_) => "The newest revision failed".into(),
    }
}

/// Returns the age of a row.
pub fn age(row: &InboxListRow, session: &Session) -> String {
    let now = session.server_time(&row.row.profile);
    let since = row.row.since();
    since.map_or_else(|| "?".into(), |since| text::age_since(since, now))
}

/// Returns what rows need, told apart where the column would cut several of them to the same words: those begin with their first
/// word and continue where they differ.
fn told_apart(needs: Vec<String>, width: usize) -> Vec<String> {
    let needs: Vec<String> = needs
        .iter()
        .map(|said| text::clean(text::head(said, MAX_CELL)).into_owned())
        .collect();
    let told = |said: &String| {
        let cut = text::fit(said, width);
        let alike: Vec<&String> = needs
            .iter()
            .filter(|other| text::fit(other, width) == cut)
            .collect();
        let common = alike
            .iter()
            .map(|other| common_prefix(said, other))
            .min()
            .unwrap_or_default();
        if text::width(said) <= width || common == said.len() {
            return said.clone();
        }
        // A word that differs only in its end is shown whole.
        let rest = said[..common]
            .rfind(char::is_whitespace)
            .map_or("", |at| said[at..].trim_start());
        let first = said
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .trim_end_matches(['?', '.', ',', ':']);
        let is_short = text::width(first) + 2 < width / 2 && !rest.is_empty();
        if is_short {
            format!("{first}… {rest}")
        } else {
            said.clone()
        }
    };
    needs.iter().map(told).collect()
}

/// Returns the bytes of the beginning that two texts share.
fn common_prefix(a: &str, b: &str) -> usize {
    a.chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum()
}

/// What a line shows of a row, or of a group of rows.
pub struct RowCells {
    pub age: String,
    pub thread: String,
    /// The sign of a group before what it needs, or the space below it.
    pub sign: &'static str,
    pub needs: String,
    pub owner: String,
}

/// Returns what the line of a row shows. `error`: the first error of a failed revision, where it is known.
pub fn cells(row: &InboxListRow, session: &Session, error: Option<&str>) -> RowCells {
    let owner = match &row.row.item {
        InboxItem::Thread(thread) => thread.owner.clone(),
        InboxItem::Revision(_) => None,
    };
    RowCells {
        age: age(row, session),
        thread: thread(&row.row),
        sign: "",
        needs: error.map_or_else(|| needs(row), String::from),
        owner: owner.unwrap_or_default(),
    }
}

/// Returns rows as lines. `selected`: the index of the selected one.
pub fn lines(
    mut rows: Vec<(&InboxListRow, RowCells)>,
    columns: &TableColumns,
    selected: Option<usize>,
) -> Vec<Line> {
    let signs = rows.iter().map(|(_, cells)| text::width(cells.sign)).max();
    let needs = rows
        .iter_mut()
        .map(|(_, cells)| std::mem::take(&mut cells.needs));
    let room = columns.width(NEEDS).saturating_sub(signs.unwrap_or(0));
    let needs = told_apart(needs.collect(), room);
    for ((_, cells), needs) in rows.iter_mut().zip(needs) {
        cells.needs = needs;
    }
    let line = |(at, (row, cells)): (usize, &(&InboxListRow, RowCells))| {
        line(row, cells, columns, selected == Some(at))
    };
    rows.iter().enumerate().map(line).collect()
}

/// Returns a row as a line.
fn line(row: &InboxListRow, cells: &RowCells, columns: &TableColumns, is_selected: bool) -> Line {
    let (glyph, word, tones) = state(row);
    let is_stale = row.as_of.is_some();
    let of = |tone| if is_stale { Tone::Dim } else { tone };
    let of_thread = if is_selected { Tone::Strong } else { Tone::Dim };
    columns.line([
        Line::dim(&format!("{:>4}", cells.age)),
        Line::of(of(tones.0), glyph).with(of(tones.1), &format!(" {word}")),
        Line::dim(&place(&row.row)),
        Line::of(of_thread, &cells.thread),
        Line::dim(cells.sign).with(of(Tone::Plain), &cells.needs),
        Line::dim(&cells.owner),
    ])
}

#[cfg(test)]
mod tests {
    use super::told_apart;

    #[test]
    fn needs_that_begin_alike_are_told_apart() {
        let payment = |rest: &str| format!("Approve this payment? · draft: send {rest}");
        let needs = vec![
            payment("640 EUR to Stationery"),
            payment("64.5 EUR"),
            "Which order?".into(),
            "Retry".into(),
        ];
        let told = [
            "Approve… 640 EUR to Stationery",
            "Approve… 64.5 EUR",
            "Which order?",
            "Retry",
        ];
        assert_eq!(told_apart(needs.clone(), 21), told);
        // What differs within the column, or not at all, stays as it is.
        assert_eq!(told_apart(needs.clone(), 40), needs);
        let same = vec![payment("640 EUR"), payment("640 EUR")];
        assert_eq!(told_apart(same.clone(), 21), same);
        let long = vec![
            "Überweisungsfreigabe a x".to_string(),
            "Überweisungsfreigabe a y".to_string(),
        ];
        assert_eq!(
            told_apart(long.clone(), 21),
            long,
            "the first word leaves no room"
        );
    }
}
