//! `doctor`: what stands between a person and their deployments, a line a check.

use super::context::unwarned;
use super::{Exit, Failure, Globals, output};
use crate::api::doctor::{Ask, Check, Fault, Origin, Refused, State, examine, machine};
use crate::config::{Config, Profile};
use crate::runtime::{Terminal, abilities};
use crate::text;
use clap::{Args, ValueEnum};
use std::io::{IsTerminal, Write};
use tokio::sync::mpsc::unbounded_channel;

/// Columns of glyph and name.
const NAMES: usize = 17;
/// Widest line, in columns: longer ones are hard to read.
const WIDEST: usize = 100;

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct Options {
    /// Where a key is refused, send it to the other regions to find its own
    #[arg(long)]
    try_regions: bool,
    /// How to print
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,
}

/// How checks are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    Jsonl,
}

pub(super) async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let found = unwarned(globals);
    let unread = match &found {
        _ if globals.demo => Some("not read: --demo brings its own"),
        _ if globals.url.is_some() => Some("not read: --url was given"),
        _ => None,
    };
    let profiles = match &found {
        Ok(config) => config.choose(&globals.profiles)?,
        Err(_) => Vec::new(),
    };
    let origin = match (unread, &found) {
        // What is wrong with --url is a mistake on the command line, and said as such.
        (Some(_), Err(error)) => return Err(error.clone().into()),
        (Some(why), Ok(_)) => Origin::Unread(why),
        (None, Ok(config)) => Origin::Found(config),
        (None, Err(error)) => Origin::Broken(error),
    };
    let mut sheet = Sheet::new(globals, options.format, found.as_ref().ok());
    sheet.begin()?;
    let env = |name: &str| std::env::var(name).ok();
    for check in machine(origin, env).into_iter().chain(abilities(Terminal::here(), env)) {
        sheet.take(check)?;
    }
    let ask = Ask { deployment: globals.deployment.clone(), try_regions: options.try_regions, ..Ask::default() };
    let refused = examine_all(&mut sheet, &profiles, &ask).await?;
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    for refused in refused.iter().filter(|_| is_person && options.format == Format::Text) {
        if agreed(refused, &ask).await {
            sheet.take(refused.try_regions(&ask.regions).await)?;
        }
    }
    sheet.end()
}

/// Looks at all profiles at once and prints them in their order, each check as soon as it is its turn.
async fn examine_all(sheet: &mut Sheet, profiles: &[Profile], ask: &Ask) -> Result<Vec<Refused>, Failure> {
    let started = profiles.iter().map(|profile| {
        let (out, told) = unbounded_channel();
        let (profile, ask) = (profile.clone(), ask.clone());
        (tokio::spawn(async move { examine(&profile, &ask, out).await }), told)
    });
    let started: Vec<_> = started.collect();
    let mut all = Vec::new();
    for (task, mut told) in started {
        while let Some(check) = told.recv().await {
            sheet.take(check)?;
        }
        let ended = task.await.map_err(|e| Failure::new(Exit::Failed, format!("the doctor broke off: {e}")))?;
        all.extend(ended);
    }
    Ok(all)
}

/// Asks a person whether a key may be sent to the other regions. Anything but yes is no.
async fn agreed(refused: &Refused, ask: &Ask) -> bool {
    let others = refused.others(&ask.regions).join(", ");
    let profile = text::clean(refused.profile());
    print!("\nSend the key of {profile} to the other regions ({others}) to see which one knows it? [y/N] ");
    let _ = std::io::stdout().flush();
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    matches!(read.await, Ok(Ok(line)) if matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// What is printed.
struct Sheet {
    format: Format,
    ascii: bool,
    color: bool,
    width: usize,
    heading: String,
    all: Vec<Check>,
}

impl Sheet {
    fn new(globals: &Globals, format: Format, config: Option<&Config>) -> Sheet {
        let is_terminal = std::io::stdout().is_terminal();
        let width = crossterm::terminal::size().ok().filter(|_| is_terminal).map_or(80, |(w, _)| usize::from(w));
        Sheet {
            format,
            ascii: globals.ascii || config.is_some_and(|config| config.ui.ascii),
            color: globals.color.is_on(is_terminal),
            width: width.clamp(40, WIDEST),
            heading: String::new(),
            all: Vec::new(),
        }
    }

    fn begin(&self) -> Result<(), Failure> {
        let version = env!("CARGO_PKG_VERSION");
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        match self.format {
            Format::Text => output::print(&format!("runtail {version} on {os} {arch}\n"), false),
            _ => Ok(()),
        }
    }

    fn take(&mut self, check: Check) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let mut printed = String::new();
                let heading = check.heading();
                if heading != self.heading {
                    printed.push_str(&format!("\n{}\n", self.styled("1", &self.spelled(&heading))));
                    self.heading = heading;
                }
                printed.push_str(&self.lines(&check));
                output::print(&printed, false)?;
            }
            Format::Jsonl => output::print(&format!("{}\n", check.to_json()), true)?,
            Format::Json => {}
        }
        self.all.push(check);
        Ok(())
    }

    fn lines(&self, check: &Check) -> String {
        let (glyph, plain) = check.state.glyph();
        let glyph = if self.ascii { plain } else { glyph };
        let look = match check.state {
            State::Good => "32",
            State::Warn => "33",
            State::Bad(_) => "31;1",
            State::Skipped => "2",
        };
        let mut out = String::new();
        let room = self.width.saturating_sub(NAMES);
        for (i, line) in self.wrapped(&check.found, room).iter().enumerate() {
            match i {
                0 => out.push_str(&format!("{} {:<2$}{line}\n", self.styled(look, glyph), check.name, NAMES - 2)),
                _ => out.push_str(&format!("{:NAMES$}{line}\n", "")),
            }
        }
        for (label, text) in check.details() {
            let label = format!("{label:<8}");
            for (i, line) in self.wrapped(text, room.saturating_sub(label.len())).iter().enumerate() {
                let head = if i == 0 { self.styled("2", &label) } else { " ".repeat(label.len()) };
                out.push_str(&format!("{:NAMES$}{head}{line}\n", ""));
            }
        }
        out
    }

    fn wrapped(&self, text: &str, width: usize) -> Vec<String> {
        crate::app::line::wrap(&self.spelled(text), width)
    }

    /// A text in the characters that were asked for.
    fn spelled(&self, text: &str) -> String {
        let spell = |c: char| match c {
            '…' => "...".to_string(),
            '“' | '”' => "\"".to_string(),
            '–' | '—' | '·' => "-".to_string(),
            '●' => "*".to_string(),
            c if c.is_ascii() => c.to_string(),
            _ => "?".to_string(),
        };
        if self.ascii { text.chars().map(spell).collect() } else { text.to_string() }
    }

    fn styled(&self, look: &str, text: &str) -> String {
        if self.color { format!("\x1b[{look}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// Prints the sum, or all of it where it is one document; gives the exit code of the gravest fault.
    fn end(self) -> Result<Exit, Failure> {
        let of = |wanted: fn(State) -> bool| self.all.iter().filter(|check| wanted(check.state)).count();
        let (bad, warn) = (of(|s| matches!(s, State::Bad(_))), of(|s| s == State::Warn));
        match self.format {
            Format::Json => {
                let all: Vec<_> = self.all.iter().map(Check::to_json).collect();
                output::print(&format!("{:#}\n", serde_json::Value::Array(all)), true)?;
            }
            Format::Text => {
                let count = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
                let sum = match (bad, warn) {
                    (0, 0) => "All is well.".to_string(),
                    (0, n) => format!("It works; {} above.", count(n, "warning")),
                    (n, 0) => format!("{} above.", count(n, "fault")),
                    (n, m) => format!("{} and {} above.", count(n, "fault"), count(m, "warning")),
                };
                output::print(&format!("\n{sum}\n"), false)?;
            }
            Format::Jsonl => {}
        }
        Ok(match self.all.iter().filter_map(Check::fault).min() {
            None => Exit::Done,
            Some(Fault::Configuration) => Exit::Usage,
            Some(Fault::Access) => Exit::Forbidden,
            Some(Fault::Network) => Exit::Network,
            Some(Fault::Other) => Exit::Failed,
        })
    }
}
