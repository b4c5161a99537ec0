//! A driver that runs two binaries of Runtail with the same keys and commands against the same answers, and finds where they differ.
//! The README describes scripts and answers.
#![cfg(unix)]

mod normal;
pub mod script;
mod side;
mod terminal;
mod world;

use crate::script::{Action, Script};
use crate::side::{Seen, Side};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The sizes of terminals that scripts with keys run in.
pub const SIZES: [(u16, u16); 4] = [(60, 12), (80, 24), (120, 40), (200, 50)];

/// How long two sides may differ, because of a slow machine, a notice that disappears or a poll: the slowest poll within a
/// script takes 10 seconds.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long to wait for a text, and where it may be cut off.
const WAIT: Duration = Duration::from_secs(15);
const SHORT_WAIT: Duration = Duration::from_secs(2);
/// The width from which no text that a script waits for is cut off.
const WIDE: u16 = 120;

/// A binary, and the answers that only it gets.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    pub binary: &'a Path,
    pub answers: &'a str,
}

/// A step after which two binaries differ, or a text that a script waited for and that did not appear.
#[derive(Debug)]
pub struct Difference {
    pub place: String,
    lines: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.place)?;
        self.lines
            .iter()
            .try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Runs a script with both. Unless all differences are wanted, or the steps are commands, it ends at the first one, because
/// later ones follow from it.
pub fn compare(
    script: &Script,
    size: (u16, u16),
    subjects: [Subject<'_>; 2],
    all: bool,
) -> anyhow::Result<Vec<Difference>> {
    let mut differences = Vec::new();
    let mut sides = start(subjects)?;
    for step in &script.steps {
        let place = format!(
            "{}:{} at {}x{}: {}",
            script.name, step.line, size.0, size.1, step.text
        );
        let (seen, is_shown) = run(&mut sides, &step.action, size)?;
        let mut lines = Vec::new();
        if !is_shown && size.0 >= WIDE {
            lines.push("not shown by either; the screen of the first:".to_owned());
            lines.extend(seen[0].screen.iter().map(|line| plain(line)));
        }
        lines.extend(differing(&seen));
        if !lines.is_empty() {
            differences.push(Difference { place, lines });
            if script.opens_dashboard() && !all {
                break;
            }
        }
    }
    Ok(differences)
}

/// Runs a script with one binary, and hands over what is seen after each step.
pub fn show(
    script: &Script,
    size: (u16, u16),
    binary: &Path,
    mut print: impl FnMut(String),
) -> anyhow::Result<()> {
    let mut sides = start([Subject {
        binary,
        answers: "",
    }])?;
    for step in &script.steps {
        let ([seen], is_shown) = run(&mut sides, &step.action, size)?;
        print(format!(
            "=== {}:{} {}{}",
            script.name,
            step.line,
            step.text,
            if is_shown { "" } else { " (not shown)" }
        ));
        seen.screen
            .iter()
            .map(|line| plain(line))
            .for_each(&mut print);
        seen.requests
            .iter()
            .map(|request| format!("→ {request}"))
            .for_each(&mut print);
        seen.files
            .iter()
            .map(|line| format!("▤ {line}"))
            .for_each(&mut print);
    }
    Ok(())
}

fn start<const N: usize>(subjects: [Subject<'_>; N]) -> anyhow::Result<[Side; N]> {
    let sides: Vec<_> = subjects
        .iter()
        .map(|one| Side::new(one.binary, one.answers))
        .collect::<Result<_, _>>()?;
    sides
        .try_into()
        .map_err(|_| anyhow::anyhow!("as many sides as subjects"))
}

/// Does a step on all sides at the same time. Returns what is seen when they are still, and whether an expected text is shown.
fn run<const N: usize>(
    sides: &mut [Side; N],
    action: &Action,
    size: (u16, u16),
) -> anyhow::Result<([Seen; N], bool)> {
    for side in sides.iter_mut() {
        side.begin(action, size)?;
    }
    for side in sides.iter_mut() {
        side.finish()?;
    }
    let awaited = match action {
        Action::Wait(text) if size.0 >= WIDE => Some((&text[..], WAIT)),
        Action::Wait(text) => Some((&text[..], SHORT_WAIT)),
        _ => None,
    };
    let (began, mut first, mut is_shown) = (Instant::now(), None::<[Seen; N]>, true);
    let shown = loop {
        let last = std::thread::scope(|scope| {
            let look = |side: &mut Side| side.look(awaited.filter(|_| is_shown));
            let looks = sides.each_mut().map(|side| scope.spawn(move || look(side)));
            looks.map(|look| look.join().expect("no panics"))
        });
        is_shown &= last.iter().all(|(_, is_shown)| *is_shown);
        let last = last.map(|(seen, _)| seen);
        let first = first.get_or_insert_with(|| last.clone());
        // Screens that become equal once different notices are gone differ nevertheless.
        let meets = first
            .iter()
            .all(|one| sides.iter().all(|side| side.has_shown(&one.screen)));
        let is_equal = last.iter().all(|one| *one == last[0]);
        if is_equal && meets {
            break last;
        }
        if matches!(action, Action::Command { .. }) || began.elapsed() > PATIENCE {
            break if is_equal { first.clone() } else { last };
        }
    };
    sides.iter_mut().for_each(Side::end);
    Ok((shown, is_shown))
}

/// Returns the lines that only one side has, after the sign of the side.
fn differing(seen: &[Seen; 2]) -> Vec<String> {
    let [old, new] = seen;
    let mut lines = Vec::new();
    for (a, b) in [
        (&old.screen, &new.screen),
        (&old.requests, &new.requests),
        (&old.files, &new.files),
    ] {
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[same..], &b[same..]);
        let end = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
        // Marks of colors are shown only where nothing else differs.
        let is_style = a
            .iter()
            .map(|line| plain(line))
            .eq(b.iter().map(|line| plain(line)));
        let shown = |line: &String| if is_style { line.clone() } else { plain(line) };
        lines.extend(
            a.iter()
                .filter(|line| !b.contains(line))
                .map(|line| format!("- {}", shown(line))),
        );
        lines.extend(
            b.iter()
                .filter(|line| !a.contains(line))
                .map(|line| format!("+ {}", shown(line))),
        );
        if a != b && lines.is_empty() {
            lines.push(format!(
                "the same lines in another order: {}",
                a.join("\n    ")
            ));
        }
    }
    lines
}

/// Returns a line of a screen without its marks.
fn plain(line: &str) -> String {
    let (mut text, mut is_mark) = (String::new(), false);
    for c in line.chars() {
        match c {
            '⟨' => is_mark = true,
            '⟩' => is_mark = false,
            _ if is_mark => {}
            _ => text.push(c),
        }
    }
    text
}
