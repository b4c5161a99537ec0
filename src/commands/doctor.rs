//! `doctor`: diagnoses connection problems, one check per line.

use crate::consent;
use crate::context::unwarned;
use crate::prelude::*;
use runtail_api::doctor::{Ask, Check, Fault, Origin, Refused, examine_all, machine};
use runtail_core::config::ConfigError;
use runtail_tui::features::diagnostics::doctor::{of_check, sum};
use runtail_tui::input::keymap::Keymap;
use runtail_tui::runtime::{Terminal, terminal_checks};
use runtail_tui::widgets::line::Tone;
use tokio::sync::mpsc::unbounded_channel;

/// Maximum line width in columns.
const WIDEST: usize = 100;

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct Options {
    /// Send a rejected key to the other regions to find the one that accepts it
    #[arg(long)]
    try_regions: bool,
    /// How to print
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
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
    /// One JSON object per line.
    Jsonl,
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let found = checked(globals);
    let profiles = match &found {
        Ok(config) => config.choose(&globals.profiles)?,
        // A problem with --url is a usage error.
        Err(error) if globals.url.is_some() => return Err(error.clone().into()),
        Err(_) => Vec::new(),
    };
    let mut sheet = ReportWriter::new(globals, options.format, found.as_ref().ok());
    sheet.begin()?;
    for check in here(globals, &found) {
        sheet.take(check)?;
    }
    let ask = Ask {
        deployment: globals.deployment.clone(),
        try_regions: options.try_regions,
        ..Ask::default()
    };
    let (out, mut told) = unbounded_channel();
    let looking = tokio::spawn({
        let ask = ask.clone();
        async move { examine_all(profiles, &ask, out).await }
    });
    while let Some(check) = told.recv().await {
        sheet.take(check)?;
    }
    let broke = |e| Failure::failed(format!("the checks failed: {e}"));
    let refused = looking.await.map_err(broke)?;
    let is_person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    for refused in refused
        .iter()
        .filter(|_| is_person && options.format == Format::Text)
    {
        if agreed(refused, &ask).await? {
            sheet.take(refused.try_regions(&ask.regions).await)?;
        }
    }
    sheet.end()
}

/// Returns the report about this machine, for the dashboard.
pub fn environment_checks(globals: &Globals) -> Vec<Check> {
    here(globals, &checked(globals))
}

/// Loads the configuration, with the mistakes of `[keys]` among its warnings.
fn checked(globals: &Globals) -> Result<Config, ConfigError> {
    let mut config = unwarned(globals)?;
    config.warnings.extend(Keymap::new(&config.keys).1);
    Ok(config)
}

fn here(globals: &Globals, found: &Result<Config, ConfigError>) -> Vec<Check> {
    let origin = match found {
        _ if globals.demo => Origin::Unread("not used with --demo"),
        _ if globals.url.is_some() => Origin::Unread("not read: --url was given"),
        Ok(config) => Origin::Found(config),
        Err(error) => Origin::Broken(error),
    };
    let env = |name: &str| std::env::var(name).ok();
    machine(origin, env)
        .into_iter()
        .chain(terminal_checks(Terminal::here(), env))
        .collect()
}

/// Asks the user whether a key may be sent to the other regions.
async fn agreed(refused: &Refused, ask: &Ask) -> Result<bool, Failure> {
    let others = refused.others(&ask.regions).join(", ");
    let profile = text::clean(refused.profile());
    let question = format!(
        "\nSend the key of {profile} to the other regions ({others}) to see which one knows it? [y/N] "
    );
    output::print(&question, false)?;
    Ok(input::line().await.is_ok_and(|line| consent::is_yes(&line)))
}

/// Prints the report.
struct ReportWriter {
    format: Format,
    ascii: bool,
    color: bool,
    width: usize,
    heading: String,
    all: Vec<Check>,
}

impl ReportWriter {
    fn new(globals: &Globals, format: Format, config: Option<&Config>) -> ReportWriter {
        let is_terminal = std::io::stdout().is_terminal();
        let width = crossterm::terminal::size()
            .ok()
            .filter(|_| is_terminal)
            .map_or(80, |(w, _)| usize::from(w));
        ReportWriter {
            format,
            ascii: globals.ascii || config.is_some_and(|config| config.ui.ascii),
            color: globals.color.is_on(is_terminal),
            width: width.clamp(40, WIDEST),
            heading: String::new(),
            all: Vec::new(),
        }
    }

    fn begin(&self) -> Result<(), Failure> {
        match self.format {
            Format::Text => output::print(&format!("runtail {}\n", crate::args::VERSION), false),
            _ => Ok(()),
        }
    }

    fn take(&mut self, check: Check) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let mut printed = String::new();
                let heading = check.heading();
                if heading != self.heading {
                    printed.push_str(&format!(
                        "\n{}\n",
                        self.styled("1", &self.spelled(&heading))
                    ));
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
        let mut out = String::new();
        for line in of_check(check, self.width, self.ascii) {
            let mut printed = String::new();
            for piece in &line.left {
                let look = match piece.tone {
                    Tone::Good => "32",
                    Tone::Moving => "33",
                    Tone::Bad => "31;1",
                    Tone::Dim => "2",
                    _ => "",
                };
                printed.push_str(&self.styled(look, &self.spelled(&piece.text)));
            }
            out.push_str(printed.trim_end());
            out.push('\n');
        }
        out
    }

    /// Replaces non-ASCII characters with --ascii.
    fn spelled(&self, text: &str) -> String {
        let spell = |c: char| match c {
            '…' => "...".to_string(),
            '“' | '”' => "\"".to_string(),
            '–' | '—' | '·' => "-".to_string(),
            '●' => "*".to_string(),
            c if c.is_ascii() => c.to_string(),
            _ => "?".to_string(),
        };
        if self.ascii {
            text.chars().map(spell).collect()
        } else {
            text.to_string()
        }
    }

    fn styled(&self, look: &str, text: &str) -> String {
        let is_styled = self.color && !text.trim().is_empty();
        color::sgr(if is_styled { look } else { "" }, text)
    }

    /// Prints the summary, or the whole report as one JSON document; returns the exit code of the most severe problem.
    fn end(self) -> Result<Exit, Failure> {
        match self.format {
            Format::Json => {
                let all: Vec<_> = self.all.iter().map(Check::to_json).collect();
                output::print(&format!("{:#}\n", serde_json::Value::Array(all)), true)?;
            }
            Format::Text => {
                let sum = sum(&self.all);
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
