//! `config init`, `config path`, `config show`, `config schema` and `config import`.

use crate::context;
use crate::prelude::*;
use runtail_core::config::create_private;
use runtail_tui::input::keymap::Keymap;

/// Commands for the configuration file.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented example, unless the file exists
    Init,
    /// Print the path of the file
    Path,
    /// Print the configuration in use, without secrets
    Show,
    /// Print the JSON schema of the file, for editors
    Schema,
    /// Add the profiles of the official tools
    #[command(after_long_help = IMPORT_NOTES)]
    Import(Import),
}

const SCHEMA: &str = include_str!("../../assets/config.schema.json");

const IMPORT_NOTES: &str = "\
Reads ~/.langsmith/config.json (or the file in LANGSMITH_CONFIG_FILE), and .env and langgraph.json in the current folder, and never \
changes them. Keys stay there: a new profile refers to its key. The changes to the configuration file are shown, and written only \
after a confirmation. Existing profiles stay as they are, and so does default_profiles: if it is set, new profiles are not in use by \
themselves.

A row's status is `added`, `new` (with --dry-run) or `skipped`, which has a `reason`.

Exit codes: 0 done, or nothing to add · 1 not written · 2 not confirmed, a NAME that can't be imported, or the configuration file is \
invalid.";

/// Options of `config import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Only the profiles with these names
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Show the changes, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub yes: Yes,
    #[command(flatten)]
    pub output: ResultOutput,
}

pub async fn run(globals: &Globals, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Init => init(&place(globals)?)?,
        Command::Path => output::print_path(&place(globals)?)?,
        Command::Show => {
            let config = context::load_config(globals)?;
            for problem in Keymap::new(&config.keys).1 {
                output::complain(format!("warning: {problem}"));
            }
            output::print(&show(&config), false)?;
        }
        Command::Schema => output::print(SCHEMA, true)?,
        Command::Import(options) => super::config_import::run(place(globals)?, options).await?,
    }
    Ok(Exit::Done)
}

fn place(globals: &Globals) -> Result<PathBuf, Failure> {
    let usual = || {
        Config::default_path()
            .ok_or_else(|| Failure::usage("no home directory found; use --config FILE"))
    };
    globals.config.clone().map_or_else(usual, Ok)
}

fn init(path: &Path) -> Result<(), Failure> {
    create_private(path, Config::EXAMPLE.as_bytes())
        .map_err(|error| Failure::of_file("", &path.display().to_string(), &error))?;
    output::print_path(path)
}

/// Returns the configuration in use, in the format of the file.
fn show(config: &Config) -> String {
    let source = match &config.path {
        Some(path) => path.display().to_string(),
        None if config.profiles.is_empty() => "no file; all defaults".to_string(),
        None => "no file; the profile comes from the environment or the arguments".to_string(),
    };
    format!("# {}\n\n{}", text::clean(&source), config.to_toml())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_shown_and_can_be_read_again() {
        let text = "default_profiles = [\"a\"]\n[profiles.a]\nurl = \"https://x.example.com\"\napi_key_env = \"K\"\nlabel = \"x\"\n\
                    deployments = [\"d\"]\npoll = { d = false }\n[profiles.\"b.c\"]\nagent_server = \"http://localhost:1\"\nread_only = true\n\
                    poll = false\nbearer_keyring = \"s/x\"\n[profiles.d]\nregion = \"eu\"\napi_key_command = [\"pass\"]\n\
                    agent_server = { x = \"http://localhost:1\", y = \"http://1.1.1.1\" }\nallow_http = true\n[poll]\ninterval = \"1500ms\"\n\
                    [limits]\nmax_answer = \"1GB\"\n[ui]\nmouse = \"off\"\nnotify = \"osc777\"\n[themes.dusk]\ninherits = \"dark\"\n\
                    good = \"bold 32 on #87afff\"\n[[answer]]\nmatch = \"action:a graph:g\"\ndecision = \"reject\"\nmessage = \"no\"\n\
                    [[answer]]\nmatch = \"action:*\"\ndecision = \"approve\"\n[[notify]]\nwhen = \"stuck\"\nmatch = \"graph:x profile:*\"\n\
                    command = [\"x\"]\n[[notify]]\nwhen = \"failed\"\n[stuck]\nsilent = \"10m\"\n[prices]\ncurrency = \"€\"\n\
                    \"gpt-5.1\" = { input = 1.25, output = 10, cached = 0.1 }\n[searches]\n\"a.b\" = \"star:yes\"\n\
                    [keys]\n\"a.b\" = \"G\"\nc.d = []\n";
        let config = Config::parse(text, None).unwrap();
        let again = Config::parse(&show(&config), None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.warnings, Vec::<String>::new());
        assert_eq!(format!("{again:?}"), format!("{config:?}"));
    }

    #[test]
    fn arguments_of_commands_are_not_shown() {
        let text = "[profiles.a]\nregion = \"us\"\napi_key_command = [\"pass\", \"canary\"]\nbearer_command = [\"curl\", \"canary\"]\n\
                    [[notify]]\nwhen = \"failed\"\ncommand = [\"sh\", \"-c\", \"canary\"]\n";
        let shown = show(&Config::parse(text, None).unwrap());
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(shown.matches(", \"…\"]").count(), 3, "{shown}");
    }
}
