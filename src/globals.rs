//! The options that are valid with every command.

use crate::prelude::*;
use runtail_core::model::shell_option;

/// Options valid everywhere.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Use this profile (repeatable, all before or all after the command; default: `default_profiles` of the configuration, else all)
    #[arg(short, long = "profile", value_name = "NAME", global = true)]
    pub profiles: Vec<String>,
    /// Use this configuration file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Use one agent server, without a control plane and without a key
    #[arg(long, value_name = "URL", global = true, conflicts_with_all = ["profiles", "deployment", "demo"])]
    pub url: Option<String>,
    /// Use the agent server of a deployment
    #[arg(short, long, value_name = "NAME|ID", global = true)]
    pub deployment: Option<String>,
    /// Use the embedded simulator: no account, no network
    #[arg(long, global = true)]
    pub demo: bool,
    /// Refuse all write operations
    #[arg(long, global = true, conflicts_with = "write")]
    pub read_only: bool,
    /// Allow writing to profiles labeled as production
    #[arg(long, global = true)]
    pub write: bool,
    /// Draw with ASCII only
    #[arg(long, global = true)]
    pub ascii: bool,
    /// When to use colors (NO_COLOR is honored)
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: Color,
    /// The configuration of the simulator in this process
    #[arg(skip)]
    pub simulated: Option<runtail_core::config::Config>,
    /// Write diagnostics to this file
    #[arg(long, value_name = "FILE", global = true)]
    pub log: Option<PathBuf>,
}

impl Globals {
    /// Returns why two options conflict.
    pub fn conflict(&self) -> Option<&'static str> {
        let url = self.url.is_some();
        match self {
            _ if url && !self.profiles.is_empty() => {
                Some("--url names one agent server and can't be combined with --profile")
            }
            _ if url && self.deployment.is_some() => {
                Some("--url and --deployment both name an agent server; use one")
            }
            _ if url && self.demo => {
                Some("--url can't be combined with --demo, which has its own servers")
            }
            _ if self.read_only && self.write => Some("--read-only and --write exclude each other"),
            _ => None,
        }
    }

    /// Returns the options that select the same server, for a suggested command: empty, or starting with a space.
    pub fn where_to(&self) -> String {
        let mut words = String::new();
        let mut option =
            |name: &str, value: &str| words.push_str(&shell_option(&format!(" {name}"), value));
        if let Some(file) = &self.config {
            option("--config", &file.to_string_lossy());
        }
        if let Some(url) = &self.url {
            option("--url", url);
        }
        self.profiles
            .iter()
            .for_each(|profile| option("-p", profile));
        if let Some(deployment) = &self.deployment {
            option("-d", deployment);
        }
        words
    }
}

/// When to use colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether an output gets colors.
    pub fn is_on(self, is_terminal: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        }
    }
}
