//! The difference between the states at two checkpoints, by key: what is equal is only counted.

use crate::widgets::diff_lines::{appended, comparing, value};
use crate::widgets::jobs::{DocSource, JobProgress, JobSpec, PendingJob, SYNC_LIMIT};
use crate::widgets::json_tree::gist;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use runtail_stream::projection::difference::{Change, ChangeKind, Difference};
use runtail_stream::projection::index::{Excerpt, JsonIndex, Kind, unquote};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Maximum number of lines.
const MAX_LINES: usize = 2_000;
/// Maximum bytes of a key or path on its line.
const MAX_NAME: usize = 200;
/// Equal keys that are named while they are collapsed.
const MAX_NAMED: usize = 40;

/// A comparison of two states, and the scroll position in it.
#[derive(Debug, Default)]
pub(super) struct StateDifference {
    /// The ids of the two checkpoints.
    pair: Option<(String, String)>,
    /// The older state, while the newer one is parsed.
    old: Option<Excerpt>,
    work: Option<PendingJob>,
    result: Option<Arc<Difference>>,
    lines: Vec<Line>,
    top: usize,
    /// The number of visible lines.
    pub height: usize,
    shows_equal: bool,
}

impl StateDifference {
    /// Compares two states, unless they are the current ones. Large ones are compared in the background.
    pub fn compare(&mut self, pair: (String, String), old: Excerpt, new: Excerpt) {
        if self.pair.as_ref() == Some(&pair) {
            return;
        }
        self.clear();
        self.pair = Some(pair);
        if old.len().max(new.len()) > SYNC_LIMIT {
            self.old = Some(old);
            self.work = Some(PendingJob::new(JobSpec::read(new)));
            return;
        }
        self.show(Arc::new(Difference::of(
            Arc::new(JsonIndex::new(old)),
            Arc::new(JsonIndex::new(new)),
        )));
    }

    /// Drops the comparison of other states than these.
    pub fn clear_unless(&mut self, pair: &(String, String)) {
        if self.pair.as_ref() != Some(pair) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        (self.pair, self.old, self.work, self.result) = (None, None, None, None);
        (self.lines, self.top) = (Vec::new(), 0);
    }

    fn show(&mut self, result: Arc<Difference>) {
        self.lines = lines(&result, self.shows_equal);
        self.result = Some(result);
        self.scroll(0);
    }

    /// Returns the background job of the comparison.
    pub fn work(&self) -> Option<&PendingJob> {
        self.work.as_ref()
    }

    pub fn work_mut(&mut self) -> Option<&mut PendingJob> {
        self.work.as_mut()
    }

    /// Applies the progress of its job.
    pub fn on_job_part(&mut self, number: u64, part: &JobProgress) {
        let Some(work) = self.work.as_mut().filter(|work| work.number == number) else {
            return;
        };
        match part {
            JobProgress::Progress(done) => work.done = *done,
            JobProgress::Read(new) => {
                let old = self.old.take().map(DocSource::Text);
                self.work = old.map(|old| PendingJob::new(JobSpec::compare(old, new.clone())));
            }
            JobProgress::Compared(result) => {
                self.work = None;
                self.show(result.clone());
            }
            // Not started again: it would fail again.
            JobProgress::Failed => {
                self.work = None;
                self.lines = vec![Line::bad("✗ ").with_plain("Couldn't compare the states.")];
            }
            JobProgress::Found { .. } => {}
        }
    }

    /// Shows or hides the equal keys.
    pub fn toggle_equal(&mut self) {
        self.shows_equal = !self.shows_equal;
        if let Some(result) = self.result.clone() {
            self.show(result);
        }
    }

    pub fn scroll(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(self.height.max(1));
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    pub fn reset_scroll(&mut self) {
        self.top = 0;
    }

    /// Returns whether there is a result, or work towards it.
    pub fn is_known(&self) -> bool {
        self.work.is_some() || !self.lines.is_empty()
    }

    /// Returns the visible lines.
    pub fn window(&self) -> Vec<Line> {
        if self.work.is_some() {
            return vec![comparing()];
        }
        self.lines
            .iter()
            .skip(self.top)
            .take(self.height)
            .cloned()
            .collect()
    }
}

/// The changes below a top-level key.
struct ChangedKey<'a> {
    name: String,
    /// The key in the old and in the new document.
    nodes: [Option<u32>; 2],
    changes: Vec<&'a Change>,
}

/// Returns the member of the root that contains a node; the root itself if that is no object.
fn top_level(doc: &JsonIndex, node: u32) -> u32 {
    let mut at = node;
    while let Some(parent) = doc.parent(at) {
        if parent == 0 {
            return at;
        }
        at = parent;
    }
    at
}

fn name(doc: &JsonIndex, node: u32) -> String {
    let key = doc.key(node).map(|raw| unquote(text::head(raw, MAX_NAME)));
    key.unwrap_or_else(|| {
        if node == 0 {
            "state".into()
        } else {
            format!("[{}]", doc.index(node))
        }
    })
}

/// Returns the lines of a difference.
fn lines(difference: &Difference, shows_equal: bool) -> Vec<Line> {
    let Difference { old, new, .. } = difference;
    let mut groups: Vec<ChangedKey<'_>> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for change in &difference.changes {
        let is_removed = change.kind == ChangeKind::Removed;
        let (doc, node) = if is_removed {
            (old, change.old)
        } else {
            (new, change.new)
        };
        let top = top_level(doc, node);
        let name = name(doc, top);
        let at = *by_name.entry(name.clone()).or_insert_with(|| {
            groups.push(ChangedKey {
                name,
                nodes: [None, None],
                changes: Vec::new(),
            });
            groups.len() - 1
        });
        groups[at].nodes[usize::from(!is_removed)] = Some(top);
        // The other document's place follows from the container there.
        let (other, container) = if is_removed {
            (new, change.new)
        } else {
            (old, change.old)
        };
        if container != 0 || top == 0 {
            groups[at].nodes[usize::from(is_removed)] = Some(top_level(other, container));
        }
        groups[at].changes.push(change);
    }
    let mut lines = Vec::new();
    let mut drawn = groups.iter();
    while lines.len() < MAX_LINES
        && let Some(group) = drawn.next()
    {
        group_lines(difference, group, &mut lines);
    }
    let is_counted_only = difference.total() > difference.changes.len() as u64;
    if is_counted_only || drawn.next().is_some() || lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        let text = format!("… {} changes in all", text::count(difference.total()));
        lines.push(Line::dim(&text));
    }
    if difference.total() == 0 {
        lines.push(Line::dim("Nothing changed."));
    }
    lines.extend(equal_lines(new, &by_name, shows_equal));
    lines
}

fn group_lines(difference: &Difference, group: &ChangedKey<'_>, lines: &mut Vec<Line>) {
    let Difference { old, new, .. } = difference;
    if let [change] = group.changes.as_slice() {
        let whole = match change.kind {
            ChangeKind::Added if Some(change.new) == group.nodes[1] => Some((new, change.new)),
            ChangeKind::Removed if Some(change.old) == group.nodes[0] => Some((old, change.old)),
            _ => None,
        };
        if let Some((doc, node)) = whole {
            let mut line = sign(change.kind).with_strong(&format!("{:<17}", group.name));
            line.left.extend(shown(doc, node, change.kind));
            return lines.push(line);
        }
    }
    let mut heading = Line::strong(&format!("{:<19}", group.name));
    let [before, after] = group.nodes;
    if let (Some(before), Some(after)) = (before, after) {
        let noun = match (old.kind(before), new.kind(after)) {
            (Kind::Array, Kind::Array) => Some("items"),
            (Kind::Object, Kind::Object) => Some("fields"),
            _ => None,
        };
        let (was, is) = (old.children_count(before), new.children_count(after));
        if let Some(noun) = noun.filter(|noun| *noun == "items" || was != is) {
            heading.push_plain(&format!(
                "{} → {} {noun}",
                text::count(was.into()),
                text::count(is.into())
            ));
        }
        lines.push(heading);
        let touched: HashSet<u32> = group
            .changes
            .iter()
            .filter_map(|change| child_of(new, after, change))
            .collect();
        let equal = (is as usize).saturating_sub(touched.len());
        if noun == Some("items") && equal > 0 {
            let equal = text::counted(equal, "equal item");
            lines.push(Line::dim(&format!("  = {equal}")));
        }
    } else {
        lines.push(heading);
    }
    for change in &group.changes {
        if lines.len() > MAX_LINES {
            return;
        }
        change_lines(difference, group, change, lines);
    }
}

/// Returns the member of a container that a change is about, in the new document.
fn child_of(new: &JsonIndex, container: u32, change: &Change) -> Option<u32> {
    let mut at = change.new;
    if change.kind == ChangeKind::Removed && at == container {
        return None;
    }
    while let Some(parent) = new.parent(at) {
        if parent == container {
            return Some(at);
        }
        at = parent;
    }
    None
}

fn change_lines(
    difference: &Difference,
    group: &ChangedKey<'_>,
    change: &Change,
    lines: &mut Vec<Line>,
) {
    let Difference { old, new, .. } = difference;
    let is_removed = change.kind == ChangeKind::Removed;
    let (doc, node, top) = if is_removed {
        (old, change.old, group.nodes[0])
    } else {
        (new, change.new, group.nodes[1])
    };
    let (whole, start) = (
        doc.path(node),
        top.map(|top| doc.path(top)).unwrap_or_default(),
    );
    let path = whole
        .strip_prefix(&start)
        .unwrap_or(&whole)
        .trim_start_matches('.')
        .to_string();
    let path = text::seen(&path, 40);
    let mut push = |kind: ChangeKind, pieces: Line| {
        let mut line = Line::plain("  ");
        line.left.extend(sign(kind).left);
        let gap = if path.is_empty() {
            String::new()
        } else {
            format!("{path:<15} ")
        };
        line.push_plain(&gap);
        line.left.extend(pieces.left);
        lines.push(line);
    };
    let of = |doc: &JsonIndex, node: u32, kind: ChangeKind| Line {
        left: shown(doc, node, kind),
        right: Vec::new(),
    };
    match change.kind {
        ChangeKind::Added => push(ChangeKind::Added, of(new, change.new, ChangeKind::Added)),
        ChangeKind::Removed => push(
            ChangeKind::Removed,
            of(old, change.old, ChangeKind::Removed),
        ),
        ChangeKind::Changed if change.kept > 0 => push(ChangeKind::Added, appended(new, change)),
        ChangeKind::Changed => {
            push(
                ChangeKind::Removed,
                of(old, change.old, ChangeKind::Removed),
            );
            push(ChangeKind::Added, of(new, change.new, ChangeKind::Added));
        }
        ChangeKind::Moved => {
            let (from, to) = (old.index(change.old), new.index(change.new));
            push(
                ChangeKind::Moved,
                Line::plain(&format!("from {from} to {to}")),
            );
        }
    }
}

fn sign(kind: ChangeKind) -> Line {
    match kind {
        ChangeKind::Added => Line::of(Tone::Good, "+ "),
        ChangeKind::Removed => Line::bad("- "),
        ChangeKind::Changed | ChangeKind::Moved => Line::moving("↕ "),
    }
}

/// Returns a value in short: of an object its type and text, else the value.
fn shown(doc: &JsonIndex, node: u32, kind: ChangeKind) -> Vec<crate::widgets::line::Piece> {
    let gist = gist(doc, node);
    if !gist.is_empty() {
        return Line::plain(gist.trim_start_matches(" · ")).left;
    }
    let tone = if kind == ChangeKind::Added {
        Tone::Good
    } else {
        Tone::Bad
    };
    let is_simple = matches!(doc.kind(node), Kind::Text | Kind::Other);
    let mut pieces = value(doc, node).left;
    if let Some(first) = pieces.first_mut().filter(|_| is_simple) {
        first.tone = tone;
    }
    pieces
}

/// Returns the lines of the keys that did not change.
fn equal_lines(new: &JsonIndex, changed: &HashMap<String, usize>, shows_equal: bool) -> Vec<Line> {
    if new.is_empty() || new.kind(0) != Kind::Object {
        return Vec::new();
    }
    let equal: Vec<u32> = new
        .children(0)
        .filter(|node| !changed.contains_key(&name(new, *node)))
        .collect();
    if equal.is_empty() {
        return Vec::new();
    }
    let mut heading = Line::dim(&format!("= {}", text::counted(equal.len(), "equal key")));
    if !shows_equal {
        let names: Vec<String> = equal
            .iter()
            .take(MAX_NAMED)
            .map(|node| name(new, *node))
            .collect();
        heading.push_dim(&format!("     {}", names.join(", ")));
        return vec![heading];
    }
    let line = |node: &u32| {
        let mut line = Line::dim("  = ").with_plain(&format!("{:<15} ", name(new, *node)));
        line.left.extend(value(new, *node).left);
        line
    };
    std::iter::once(heading)
        .chain(equal.iter().take(MAX_LINES).map(line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(old: &str, new: &str, shows_equal: bool) -> Vec<String> {
        let doc = |text: &str| Arc::new(JsonIndex::new(Arc::<str>::from(text)));
        lines(&Difference::of(doc(old), doc(new)), shows_equal)
            .iter()
            .map(|line| line.text().trim_end().into())
            .collect()
    }

    #[test]
    fn changes_are_grouped_by_key_and_equal_parts_are_counted() {
        let old = r#"{"messages":[{"id":"1","type":"human","content":"Hi"}],"customer":{"tier":null,"id":7},"locale":"fr","gone":1,"n":[1]}"#;
        let new = r#"{"messages":[{"id":"1","type":"human","content":"Hi"},{"id":"2","type":"ai","content":"Hello there"}],
            "customer":{"tier":"gold","id":7},"locale":"fr","n":[1],"fresh":[1,2]}"#;
        let wanted = [
            "messages           1 → 2 items",
            "  = 1 equal item",
            "  + [1]             ai · Hello there",
            "customer",
            "  - tier            null",
            "  + tier            \"gold\"",
            "+ fresh            [1,2]",
            "- gone             1",
        ];
        let closed = drawn(old, new, false);
        assert_eq!(closed[..wanted.len()], wanted);
        assert_eq!(closed[wanted.len()..], ["= 2 equal keys     locale, n"]);
        let open = drawn(old, new, true);
        assert_eq!(
            open[wanted.len()..],
            [
                "= 2 equal keys",
                "  = locale          \"fr\"",
                "  = n               [1]"
            ]
        );
    }

    #[test]
    fn any_two_documents_have_a_difference() {
        assert_eq!(drawn("{}", "{}", false), ["Nothing changed."]);
        assert_eq!(
            drawn(r#"{"a":1}"#, r#"{"a":1}"#, false),
            ["Nothing changed.", "= 1 equal key     a"]
        );
        assert_eq!(drawn("[1]", "[1,2]", false), ["+ [1]              2"]);
        assert_eq!(
            drawn(r#"{"a":"x"}"#, r#"{"a":"xy"}"#, false),
            ["a", "  + …y  +1 B"]
        );
        assert_eq!(drawn("null", "{}", false), ["state", "  - null", "  + {}"]);
        assert_eq!(drawn("no JSON", "{", false)[0], "state");
        let many: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":{n}")).collect();
        let lines = drawn("{}", &format!("{{{}}}", many.join(",")), false);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert!(
            lines[MAX_LINES].contains("5,000 changes in all"),
            "{}",
            lines[MAX_LINES]
        );
    }

    #[test]
    fn large_states_are_compared_in_steps() {
        let large =
            |end: &str| format!("{{\"text\":\"{}\",\"end\":{end}}}", "word ".repeat(200_000));
        let excerpt = |text: String| Excerpt::from(Arc::<str>::from(text));
        let mut difference = StateDifference {
            height: 10,
            ..StateDifference::default()
        };
        difference.compare(
            ("a".into(), "b".into()),
            excerpt(large("1")),
            excerpt(large("2")),
        );
        let mut steps = 0;
        while let Some(work) = difference.work_mut() {
            work.number = 7 + steps;
            let (task, number) = (work.task.clone(), work.number);
            assert_eq!(difference.window().len(), 1);
            for part in crate::widgets::jobs::tests::parts(&task) {
                difference.on_job_part(number, &part);
            }
            steps += 1;
        }
        let lines: Vec<String> = difference.window().iter().map(Line::text).collect();
        assert_eq!((steps, lines.len()), (2, 4), "{lines:?}");
        assert_eq!(lines[3], "= 1 equal key     text");
    }
}
