//! The lines of a preview: labels at the left, and beside them the changes, the consequences, and the exact requests.

use crate::widgets::form_lines::padded;
use crate::widgets::line::{Line, Piece, Tone, marked, wrap, wrapped};
use jiff::Timestamp;
use runtail_core::model::{Branch, BranchStep, BranchStepKind, Change, PlainRequest, Preview};
use runtail_core::text;

/// Columns of the labels.
const LABEL: usize = 15;
/// Columns of a preview below which labels are above what they label.
const NARROW: usize = 56;
/// Bytes of a body that are shown, and bytes of one piece of a line.
const MAX_BODY: usize = 256 << 10;
const PIECE: usize = 16 << 10;

/// How a preview is shown.
pub(super) struct PreviewStyle<'a> {
    pub width: usize,
    /// Formats a time.
    pub clock: &'a dyn Fn(Timestamp) -> String,
    /// Names a run: `run 3`.
    pub run: &'a dyn Fn(&str) -> String,
    /// Whether each request is one line.
    pub is_folded: bool,
    /// Whether the state could be edited before the run.
    pub may_edit: bool,
}

/// Returns the columns beside a label.
pub(super) fn inner(width: usize) -> usize {
    if width < NARROW {
        width.saturating_sub(2)
    } else {
        width - LABEL
    }
}

/// Puts a label beside lines; in a narrow terminal above them.
pub(super) fn labeled(label: &str, lines: Vec<Line>, width: usize) -> Vec<Line> {
    if lines.is_empty() {
        return lines;
    }
    let is_narrow = width < NARROW;
    let indent = if is_narrow { 2 } else { LABEL };
    let above = (is_narrow && !label.is_empty()).then(|| Line::dim(label));
    let beside = lines.into_iter().enumerate().map(|(i, mut line)| {
        let text = if i == 0 && !is_narrow { label } else { "" };
        line.left.insert(
            0,
            Piece {
                text: padded(text, indent),
                tone: Tone::Dim,
            },
        );
        line
    });
    above.into_iter().chain(beside).collect()
}

/// Returns the notes of a preview.
pub(super) fn note_lines(preview: &Preview, width: usize) -> Vec<Line> {
    preview
        .notes
        .iter()
        .flat_map(|note| note_line(note.warns, &note.text, width))
        .collect()
}

fn note_line(warns: bool, said: &str, width: usize) -> Vec<Line> {
    let mark = if warns {
        (Tone::Moving, "! ")
    } else {
        (Tone::Dim, "· ")
    };
    marked(mark, Tone::Plain, said, width)
}

/// Returns the lines of a preview.
pub(super) fn preview_lines(preview: &Preview, style: &PreviewStyle<'_>) -> Vec<Line> {
    let width = style.width;
    let mut lines = Vec::new();
    if let Some(branch) = &preview.branch {
        let at = branch.created_at.map(style.clock);
        lines.extend(wrapped(Tone::Plain, &branch.sentence(at.as_deref()), width));
        lines.push(Line::new());
        lines.extend(step_lines(branch, style));
        lines.push(Line::new());
    }
    lines.extend(labeled("Changes", changes(preview, style), width));
    let revision = preview.revision.sentence();
    let mut said = match revision.is_empty() {
        true => Vec::new(),
        false => wrapped(Tone::Plain, &revision, inner(width)),
    };
    if let Some(calls) = preview
        .branch
        .as_ref()
        .and_then(|branch| branch.repeats.as_ref())
    {
        said.extend(note_line(true, &calls.sentence(style.run), inner(width)));
    }
    said.extend(note_lines(preview, inner(width)));
    lines.extend(labeled("Consequences", said, width));
    if lines.last().is_some_and(|last| !last.left.is_empty()) {
        lines.push(Line::new());
    }
    let fold = if style.is_folded { "▸" } else { "▾" };
    let label = if preview.then.is_empty() {
        format!("{fold} Request")
    } else {
        format!("{fold} Requests")
    };
    lines.extend(labeled(&label, request_lines(preview, style), width));
    lines
}

/// Returns what runs from a checkpoint, in columns.
fn step_lines(branch: &Branch, style: &PreviewStyle<'_>) -> Vec<Line> {
    let inner = inner(style.width);
    let rows: Vec<(&BranchStep, String, String)> = branch
        .steps
        .iter()
        .map(|step| (step, step.named(), step.basis(style.run)))
        .collect();
    let widest = |of: &dyn Fn(&(&BranchStep, String, String)) -> usize| {
        rows.iter().map(of).max().unwrap_or(0)
    };
    // A long list of nodes doesn't push the other columns away.
    let is_short = |columns: &usize| *columns <= inner / 3;
    let nodes = rows
        .iter()
        .map(|(_, nodes, _)| text::width(nodes))
        .filter(is_short)
        .max()
        .unwrap_or(inner / 3);
    let basis = widest(&|(.., basis)| text::width(basis));
    let mut lines = Vec::new();
    let mut before = None;
    for (step, named, basis_text) in &rows {
        let is_skipped = step.kind == BranchStepKind::Skipped;
        let own = if is_skipped { Tone::Dim } else { Tone::Plain };
        let mut of_step = vec![Line::new()];
        match text::width(named) <= nodes {
            true => push_nodes(&mut of_step[0], step, named, nodes),
            false => {
                of_step = wrapped(own, named, inner);
                of_step.push(Line::of(own, &" ".repeat(nodes)));
            }
        }
        let tone = if step.certain {
            Tone::Strong
        } else {
            Tone::Dim
        };
        let rest = inner.saturating_sub(nodes + basis + 4).max(1);
        let details = wrap(&step.detail, rest);
        let (first, more) = details
            .split_first()
            .map_or(("", &[][..]), |(first, more)| (&**first, more));
        if let Some(line) = of_step.last_mut() {
            line.push(tone, &format!("  {}", padded(basis_text, basis)));
            line.push(own, &format!("  {first}"));
        }
        if basis_text.is_empty() && first.is_empty() && of_step.len() > 1 {
            of_step.pop();
        }
        of_step.extend(
            more.iter()
                .map(|part| Line::of(own, &format!("{}{part}", " ".repeat(nodes + basis + 4)))),
        );
        let label = if before == Some(step.kind) {
            ""
        } else {
            step.kind.label()
        };
        before = Some(step.kind);
        lines.extend(labeled(label, of_step, style.width));
    }
    lines
}

/// Adds the nodes of a step, each in its color.
fn push_nodes(line: &mut Line, step: &BranchStep, named: &str, width: usize) {
    let [node] = step.nodes.as_slice() else {
        let tone = if step.kind == BranchStepKind::Skipped {
            Tone::Dim
        } else {
            Tone::Plain
        };
        return line.push(tone, &padded(named, width));
    };
    let name = node.rsplit_once(" ×").map_or(&**node, |(name, _)| name);
    let is_node = step.kind != BranchStepKind::Skipped && !name.contains(' ') && name != "unknown";
    line.push(
        if is_node {
            Tone::label(name)
        } else {
            Tone::Dim
        },
        named,
    );
    line.push_plain(&" ".repeat(width.saturating_sub(text::width(named))));
}

/// Returns the changes. Of a run from a checkpoint, whether its state is edited first.
fn changes(preview: &Preview, style: &PreviewStyle<'_>) -> Vec<Line> {
    let width = inner(style.width);
    let is_edited = !preview.changes.is_empty();
    if preview.branch.is_some() {
        let choice = |is_chosen: bool, said: &str| {
            format!("{} {said}", if is_chosen { "(x)" } else { "( )" })
        };
        let (none, edit) = (
            choice(!is_edited, "none"),
            choice(is_edited, "edit state first"),
        );
        return match (preview.changes.as_slice(), style.may_edit) {
            ([], false) => Vec::new(),
            ([], true) => vec![Line::plain(&format!("{none}   {edit}"))],
            ([one], _) => wrapped(
                Tone::Plain,
                &format!("{none}   {edit}: {}", one.line()),
                width,
            ),
            (several, _) => {
                let head = Line::plain(&format!("{none}   {edit}:"));
                std::iter::once(head)
                    .chain(
                        several
                            .iter()
                            .flat_map(|change| change_lines(change, width)),
                    )
                    .collect()
            }
        };
    }
    let mut lines: Vec<Line> = preview
        .changes
        .iter()
        .flat_map(|change| change_lines(change, width))
        .collect();
    let resent = resent_secrets(preview);
    if is_edited && resent > 0 {
        let said = format!("secrets: {resent} unchanged, sent again: an update replaces all");
        lines.extend(marked((Tone::Dim, "= "), Tone::Plain, &said, width));
    }
    lines
}

/// Returns the requests, in order and numbered if there are several.
fn request_lines(preview: &Preview, style: &PreviewStyle<'_>) -> Vec<Line> {
    let width = inner(style.width);
    let mut lines = Vec::new();
    for (n, request) in preview.requests().enumerate() {
        let number = if preview.then.is_empty() {
            String::new()
        } else {
            format!("{}  ", n + 1)
        };
        if style.is_folded {
            let body = request
                .body
                .as_ref()
                .map(|body| text::head(&body.to_string(), PIECE).to_string());
            let line = format!(
                "{number}{} {}  {}",
                request.method,
                path_of(&request.url),
                body.unwrap_or_default()
            );
            lines.push(Line::dim(&text::fit(&text::clean(&line), width)));
            continue;
        }
        lines.extend(whole_request(request, &number, width));
    }
    lines
}

/// Returns a request with its body in compact form.
fn whole_request(request: &PlainRequest, number: &str, width: usize) -> Vec<Line> {
    let indent = number.len();
    let mut lines = Line::dim(&format!("{number}{} {}", request.method, request.url)).broken(
        width,
        indent,
        usize::MAX,
    );
    let Some(body) = request.body.as_ref().map(|body| body.to_string()) else {
        return lines;
    };
    let shown = text::head(&body, MAX_BODY);
    let mut line = Line::dim(&" ".repeat(indent));
    let mut rest = shown;
    while !rest.is_empty() {
        let piece = text::head(rest, PIECE);
        line.push_dim(piece);
        rest = &rest[piece.len()..];
    }
    lines.extend(line.broken(width, indent, usize::MAX));
    if shown.len() < body.len() {
        let said = format!("… {} more", text::bytes((body.len() - shown.len()) as u64));
        lines.push(Line::dim(&format!("{}{said}", " ".repeat(indent))));
    }
    lines
}

/// Returns the address of a request without its host.
fn path_of(url: &str) -> &str {
    let at = url
        .find("://")
        .and_then(|scheme| Some(scheme + 3 + url[scheme + 3..].find('/')?));
    at.map_or(url, |at| &url[at..])
}

/// Returns how many secrets an update sends again because the service replaces the whole set.
fn resent_secrets(preview: &Preview) -> usize {
    let secrets = preview
        .request
        .body
        .as_ref()
        .filter(|_| preview.request.method == "PATCH");
    let secrets = secrets
        .and_then(|body| body["secrets"].as_array())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_changed = |name: &str| {
        preview
            .changes
            .iter()
            .any(|change| change.path == format!("secrets[{name}]"))
    };
    secrets
        .iter()
        .filter_map(|secret| secret["name"].as_str())
        .filter(|name| !is_changed(name))
        .count()
}

/// Returns the lines of a change, with a sign before what is added or removed.
fn change_lines(change: &Change, width: usize) -> Vec<Line> {
    let mark = match (&change.before, &change.after) {
        (None, Some(_)) => (Tone::Good, "+ "),
        (Some(_), None) => (Tone::Bad, "- "),
        _ => (Tone::Plain, "  "),
    };
    marked(mark, Tone::Plain, &change.line(), width)
}
