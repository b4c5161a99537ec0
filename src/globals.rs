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
        let named = [("-d", self.deployment.as_deref())];
        let profiles = self.profiles.iter().map(|profile| ("-p", Some(&**profile)));
        let url = [("--url", self.url.as_deref())];
        self.with_options(url.into_iter().chain(profiles).chain(named))
    }

    /// Returns the options that select a listed agent server, likewise.
    pub fn where_to_server(&self, profile: &str, name: &str) -> String {
        match &self.url {
            Some(url) => self.with_options([("--url", Some(&**url))]),
            None => self.with_options([("-p", Some(profile)), ("-d", Some(name))]),
        }
    }

    /// Returns the options that select the same configuration, likewise.
    pub fn where_configured(&self) -> String {
        self.with_options([])
    }

    /// Returns the options of the configuration and these, quoted for a shell.
    fn with_options<'a>(
        &self,
        more: impl IntoIterator<Item = (&'static str, Option<&'a str>)>,
    ) -> String {
        let mut words = String::from(if self.demo { " --demo" } else { "" });
        if let Some(file) = &self.config {
            words.push_str(&shell_option(" --config", &file.to_string_lossy()));
        }
        for (name, value) in more {
            let option = value.map(|value| shell_option(&format!(" {name}"), value));
            words.extend(option);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_options_are_quoted_for_a_shell() {
        let globals = Globals {
            config: Some("my $HOME/c.toml".into()),
            url: Some("http://127.0.0.1:1/a?b&c".into()),
            profiles: vec!["it's".into(), "--eu".into()],
            deployment: Some("acme bot".into()),
            ..Globals::default()
        };
        let file = " --config 'my $HOME/c.toml'";
        let url = " --url 'http://127.0.0.1:1/a?b&c'";
        let rest = r" -p 'it'\''s' -p='--eu' -d 'acme bot'";
        assert_eq!(globals.where_to(), format!("{file}{url}{rest}"));
        assert_eq!(globals.where_to_server("a", "b c"), format!("{file}{url}"));
        let demo = Globals {
            demo: true,
            ..Globals::default()
        };
        assert_eq!(demo.where_to_server("a", "b c"), " --demo -p a -d 'b c'");
        assert_eq!(demo.where_configured(), " --demo");
    }
}
