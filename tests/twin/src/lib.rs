//! A driver that runs two binaries of Runtail with the same keys and commands against the same answers, and finds where they differ.
//! The README describes scripts and answers.

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

/// Longer than the delays after which the dashboard does something by itself.
const STILL: Duration = Duration::from_millis(300);
/// How long two screens may differ, because of a slow machine or a notice that disappears.
const PATIENCE: Duration = Duration::from_secs(4);
const WAIT: Duration = Duration::from_secs(15);
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

/// Runs a script with both, and returns its first difference: later ones follow from it, unless the steps are commands.
pub fn compare(
    script: &Script,
    size: (u16, u16),
    subjects: [Subject<'_>; 2],
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
            if script.opens_dashboard() {
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
    let mut is_shown = true;
    if let Action::Wait(text) = action {
        let until = Instant::now() + if size.0 >= WIDE { WAIT } else { Duration::ZERO };
        for side in sides.iter() {
            let shows = || {
                side.terminal
                    .as_ref()
                    .is_some_and(|terminal| terminal.text().contains(text))
            };
            while !shows() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_shown &= shows();
        }
    }
    let until = Instant::now() + PATIENCE;
    let mut seen: Vec<[Seen; N]> = Vec::new();
    let shown = loop {
        sides.iter().for_each(wait_until_still);
        seen.push(sides.each_ref().map(Side::seen));
        let (first, last) = (&seen[0], &seen[seen.len() - 1]);
        // Screens that become equal once different notices are gone differ nevertheless.
        let meets = |side: usize| {
            seen.iter().any(|all| {
                (0..N).any(|other| (other != side || N == 1) && all[other] == first[side])
            })
        };
        let is_equal = last.iter().all(|one| *one == last[0]);
        if is_equal && (0..N).any(meets) {
            break last.clone();
        }
        if matches!(action, Action::Command { .. }) || Instant::now() > until {
            break if is_equal {
                first.clone()
            } else {
                last.clone()
            };
        }
    };
    for (side, last) in sides.iter_mut().zip(&seen[seen.len() - 1]) {
        side.end(last);
    }
    Ok((shown, is_shown))
}

/// Waits until the dashboard draws nothing, uses no processor and waits for no answer, for at most `PATIENCE`.
fn wait_until_still(side: &Side) {
    let Some(terminal) = &side.terminal else {
        return;
    };
    let (began, mut busy) = (Instant::now(), Instant::now());
    while let Some(active) = terminal.active() {
        if side.world.is_busy() {
            busy = Instant::now();
        }
        busy = busy.max(active);
        if busy.elapsed() > STILL || began.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
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
