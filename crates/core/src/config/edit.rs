//! The texts of new profiles, and the text of a file that they are appended to.

use super::{Config, ConfigError, base};
use std::sync::Arc;

/// Returns the text of a profile for a region of LangSmith, with the key of its variable.
///
/// # Errors
/// There is no such region.
pub fn region_profile(region: &str) -> Result<String, ConfigError> {
    let name = region.trim().to_lowercase();
    if base::of_region(&name).is_none() {
        let known: Vec<&str> = base::REGIONS.iter().map(|(tag, _)| *tag).collect();
        let why = "LangSmith has no such region";
        return Err(ConfigError::new(why).hint(format!("there are: {}", known.join(", "))));
    }
    Ok(format!(
        "[profiles.{name}]\nregion = \"{name}\"\napi_key_env = \"LANGSMITH_API_KEY\"\n"
    ))
}

/// Returns the text of a profile for one agent server at this address. An address without a scheme is https, or http on this
/// machine.
///
/// # Errors
/// The address is invalid, or is that of a region of LangSmith, which needs a key.
pub fn server_profile(address: &str) -> Result<String, ConfigError> {
    let read = super::env::url_profile(address).map_err(|error| ConfigError {
        message: unnamed(&error.message),
        ..error
    })?;
    let Some((_, url)) = read.agent_servers.first() else {
        return Err(ConfigError::new("there is no address"));
    };
    if let Some(region) = base::region_of(&base::control_plane(url)) {
        let why = format!("this is the LangSmith region {region}, not an agent server");
        return Err(ConfigError::new(why).hint("choose \"Connect to LangSmith\""));
    }
    let host = url.host_str().unwrap_or_default();
    let first = host.split('.').next().unwrap_or_default();
    let is_name = !first.is_empty() && !first.bytes().all(|b| b.is_ascii_digit());
    let is_bare = first
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let name = match (base::is_loopback(url), is_name && is_bare) {
        (true, _) => "local",
        (false, true) => first,
        (false, false) => "server",
    };
    let mut text = format!(
        "[profiles.{name}]\nagent_server = {}\n",
        toml_edit::Value::from(url.as_str())
    );
    if url.scheme() == "http" && !base::is_loopback(url) {
        text.push_str("allow_http = true\n");
    }
    Ok(text)
}

/// Removes the option of the command line from a message about its address.
fn unnamed(message: &str) -> String {
    message
        .strip_prefix("--url: ")
        .unwrap_or(message)
        .to_string()
}

/// Appends profiles to the text of a file, with its line ends.
///
/// # Errors
/// The text is no valid configuration: the file has a profile of one of the names, for example.
pub(super) fn with_profiles(file: &str, profiles: &[Arc<str>]) -> Result<String, ConfigError> {
    let end = if file.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = file.to_string();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(end);
    }
    for profile in profiles {
        if !text.is_empty() {
            text.push_str(end);
        }
        profile.lines().for_each(|line| text.extend([line, end]));
    }
    Config::parse(&text, None)?;
    Ok(text)
}
