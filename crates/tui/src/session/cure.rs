//! What to do about a key that is missing or rejected.

use runtail_api::{ApiError, Kind};
use runtail_core::config::{Profile, SecretSource};
use runtail_core::text;

/// Returns what to do about a rejected or missing key. `test`: the key that tests the profile, where there is one.
pub fn cure(profile: &Profile, error: &ApiError, test: Option<&str>) -> Option<String> {
    if !matches!(error.kind, Kind::Unauthorized | Kind::NoKey) {
        return None;
    }
    let workspace = profile
        .workspace
        .as_deref()
        .map(|id| format!(" of workspace {}", text::short_id(id)));
    let key = format!("a key{}", workspace.unwrap_or_default());
    let what = match profile.key.as_ref().or(profile.bearer.as_ref())? {
        // The environment of a running program can't be changed from outside.
        SecretSource::Env(name) => {
            return Some(format!("set {name} to {key} and restart Runtail."));
        }
        SecretSource::File(path) => format!("put {key} into {}", path.display()),
        SecretSource::Entry(path, entry) => {
            format!("put {key} into {}, as {entry}", path.display())
        }
        SecretSource::Keyring(entry) => format!("store {key}: {}", entry.store_command()?),
        SecretSource::Command(words) => {
            format!(
                "check that {} prints {key}",
                words.first().map_or("", |word| word)
            )
        }
        SecretSource::Given(_) => return None,
    };
    Some(match test {
        Some(test) => format!("{what}, then press {test}."),
        None => format!("{what}."),
    })
}

/// Returns why a missing key stops a profile, and what to do: `K1 isn't set; set it and restart Runtail.`
pub fn missing_key(profile: &Profile, error: &ApiError, test: Option<&str>) -> Option<String> {
    let error = Some(error).filter(|error| error.kind == Kind::NoKey)?;
    match profile.key.as_ref().or(profile.bearer.as_ref()) {
        Some(SecretSource::Env(name)) => {
            Some(format!("{name} isn't set; set it and restart Runtail."))
        }
        _ => cure(profile, error, test).map(|cure| text::capitalized(&cure)),
    }
}
