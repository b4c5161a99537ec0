//! The fields of a profile that a form shows. The profile's text stays the draft, as in the file: the form reads its fields
//! from it and writes changed ones into it.

use super::secret::is_variable;
use super::toml_fields::{not_one_text, parse, scalar, set_value};
use super::{ConfigError, KEY_SETTINGS, REGIONS, looks_like_key};
use toml_edit::{Array, Item, TableLike, Value};

/// Where the servers of a profile are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPlace {
    /// A region of LangSmith, by its index in [`REGIONS`].
    Region(usize),
    /// A self-hosted installation, by its address.
    SelfHosted,
    /// One agent server, by its address.
    AgentServer,
    /// As the text has them: the form has no field for several servers, or for an exact control plane. They stay as they are.
    AsWritten,
}

/// Where the API key is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPlace {
    /// An environment variable.
    Variable,
    /// A file that only its owner can read.
    File,
    /// The keychain of the operating system.
    Keychain,
    /// What another command prints.
    Command,
    /// No key.
    None,
    /// As the text has it, in a way that the form has no field for. It stays as it is.
    AsWritten,
}

/// A field that an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileField {
    Name,
    Server,
    Key,
    Workspace,
    Label,
    Access,
}

/// The fields, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileForm {
    pub name: String,
    pub place: ServerPlace,
    /// The address, unless it is a region; of servers as written, what the text says.
    pub address: String,
    pub key_place: KeyPlace,
    /// The variable, the file, the words of the command, or the keychain entry; of a key as written, its setting.
    pub key: String,
    pub workspace: String,
    pub label: String,
    pub is_read_only: bool,
}

/// The settings of the key in the file.
const KEYS: [&str; 4] = KEY_SETTINGS[0];
/// The settings of the servers.
const SERVERS: [&str; 4] = ["region", "url", "control_plane", "agent_server"];
/// The other settings that have a field.
const OTHERS: [&str; 3] = ["workspace", "label", "read_only"];

impl KeyPlace {
    /// Returns the key reference that is offered for this place.
    pub fn default_reference(self) -> &'static str {
        match self {
            KeyPlace::Variable => "LANGSMITH_API_KEY",
            KeyPlace::Keychain => "langsmith",
            KeyPlace::File | KeyPlace::Command | KeyPlace::None | KeyPlace::AsWritten => "",
        }
    }
}

impl ServerPlace {
    /// Returns the key that is offered for a server: only LangSmith gets LangSmith's. The variable of a self-hosted
    /// installation is unknown.
    pub fn default_key(self) -> (KeyPlace, &'static str) {
        match self {
            ServerPlace::Region(_) => (KeyPlace::Variable, KeyPlace::Variable.default_reference()),
            ServerPlace::SelfHosted => (KeyPlace::Variable, ""),
            ServerPlace::AgentServer => (KeyPlace::None, ""),
            ServerPlace::AsWritten => (KeyPlace::AsWritten, ""),
        }
    }
}

impl Default for ProfileForm {
    fn default() -> ProfileForm {
        ProfileForm {
            name: String::new(),
            place: ServerPlace::Region(0),
            address: String::new(),
            key_place: KeyPlace::None,
            key: String::new(),
            workspace: String::new(),
            label: String::new(),
            is_read_only: false,
        }
    }
}

impl ProfileForm {
    /// Returns whether the key is read from a variable whose name can't be one.
    pub fn has_invalid_variable(&self) -> bool {
        self.key_place == KeyPlace::Variable && !is_variable(&self.key)
    }

    /// Takes what was typed as the place of the key. The beginning of a reference, such as `env:`, is no part of its name.
    pub fn set_key(&mut self, typed: &str) {
        let start = match self.key_place {
            KeyPlace::Variable => "env:",
            KeyPlace::File => "file:",
            _ => "",
        };
        self.key = typed
            .trim_start()
            .strip_prefix(start)
            .filter(|_| !start.is_empty())
            .unwrap_or(typed)
            .to_string();
    }

    /// Reads the fields of the text of one profile.
    ///
    /// # Errors
    /// The text isn't valid TOML, or has something that the form can't show.
    pub fn read(text: &str) -> Result<ProfileForm, ConfigError> {
        let root = parse(text)?;
        let profiles = root.get("profiles").and_then(Item::as_table_like);
        let mut profiles = profiles.into_iter().flat_map(TableLike::iter);
        let (Some((name, item)), None) = (profiles.next(), profiles.next()) else {
            return Err(ConfigError::new(
                "the form shows exactly one [profiles.NAME]",
            ));
        };
        let table = item.as_table_like().ok_or_else(|| not_one_text(name))?;
        let get = |key: &str| match table.get(key) {
            None => Ok(String::new()),
            Some(item) => item
                .as_str()
                .map(str::to_string)
                .ok_or_else(|| not_one_text(key)),
        };
        let (place, address) = server_of(table)?;
        let (key_place, key) = key_of(table)?;
        let is_read_only = match table.get("read_only") {
            None => false,
            Some(item) => item.as_bool().ok_or_else(|| not_one_text("read_only"))?,
        };
        let (workspace, label) = (get("workspace")?, get("label")?);
        Ok(ProfileForm {
            name: name.to_string(),
            place,
            address,
            key_place,
            key,
            workspace,
            label,
            is_read_only,
        })
    }

    /// Returns the settings of the text that the form has no field for.
    pub fn other_settings(text: &str) -> Vec<String> {
        let Ok(root) = parse(text) else {
            return Vec::new();
        };
        let profiles = root.get("profiles").and_then(Item::as_table_like);
        let table = profiles.and_then(|profiles| profiles.iter().next()?.1.as_table_like());
        let has_field =
            |key: &str| SERVERS.contains(&key) || KEYS.contains(&key) || OTHERS.contains(&key);
        let keys = table
            .into_iter()
            .flat_map(TableLike::iter)
            .map(|(key, _)| key);
        keys.filter(|key| !has_field(key))
            .map(str::to_string)
            .collect()
    }

    /// Returns the field that the text has at a line and a column, from 1; none if it is another setting.
    pub fn field_at(text: &str, line: usize, column: usize) -> Option<ProfileField> {
        let line = text.lines().nth(line.checked_sub(1)?)?;
        let end = line
            .char_indices()
            .nth(column.saturating_sub(1))
            .map_or(line.len(), |(at, _)| at);
        // The last setting that begins at or before the column.
        let begins = |key: &str| {
            let starts = line.match_indices(key).filter(|(at, _)| *at <= end);
            let is_key = |at: &usize| {
                let (before, after) = (&line[..*at], line[at + key.len()..].trim_start());
                after.starts_with('=')
                    && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
            };
            starts.map(|(at, _)| at).filter(is_key).last()
        };
        let field = |key: &str| match key {
            "workspace" => ProfileField::Workspace,
            "label" => ProfileField::Label,
            "read_only" => ProfileField::Access,
            key if SERVERS.contains(&key) => ProfileField::Server,
            _ => ProfileField::Key,
        };
        let all = SERVERS.iter().chain(&KEYS).chain(&OTHERS);
        let found = all
            .filter_map(|key| Some((begins(key)?, field(key))))
            .max_by_key(|(at, _)| *at);
        match found {
            Some((_, field)) => Some(field),
            None if line.trim_start().starts_with('[') => Some(ProfileField::Name),
            None => None,
        }
    }

    /// Writes the fields that differ into the text of a profile. Everything else in it stays as it is.
    ///
    /// # Errors
    /// The text has something that the form can't show.
    pub fn write(&self, text: &str) -> Result<String, ConfigError> {
        let before = ProfileForm::read(text)?;
        if before == *self {
            return Ok(text.to_string());
        }
        let mut root = parse(text)?;
        let profiles = root.get_mut("profiles").and_then(Item::as_table_like_mut);
        let profiles = profiles.ok_or_else(|| not_one_text("profiles"))?;
        if before.name != self.name
            && let Some(item) = profiles.remove(&before.name)
        {
            profiles.insert(&self.name, item);
        }
        let table = profiles
            .get_mut(&self.name)
            .and_then(Item::as_table_like_mut);
        let table = table.ok_or_else(|| not_one_text(&self.name))?;
        if self.place != ServerPlace::AsWritten
            && (before.place, &before.address) != (self.place, &self.address)
        {
            let (kept, value) = match self.place {
                ServerPlace::Region(at) => ("region", REGIONS.get(at).map_or("", |(tag, _)| tag)),
                ServerPlace::SelfHosted => ("url", &*self.address),
                ServerPlace::AgentServer | ServerPlace::AsWritten => {
                    ("agent_server", &*self.address)
                }
            };
            SERVERS
                .iter()
                .filter(|key| **key != kept)
                .for_each(|key| drop(table.remove(key)));
            set_value(table, kept, Value::from(value));
        }
        if self.key_place != KeyPlace::AsWritten
            && (before.key_place, &before.key) != (self.key_place, &self.key)
        {
            self.write_key(table);
        }
        for (key, old, new) in [
            ("workspace", &before.workspace, &self.workspace),
            ("label", &before.label, &self.label),
        ] {
            match new.as_str() {
                _ if old == new => {}
                "" => drop(table.remove(key)),
                new => set_value(table, key, Value::from(new)),
            }
        }
        match self.is_read_only {
            now if now == before.is_read_only => {}
            true => set_value(table, "read_only", Value::from(true)),
            false => drop(table.remove("read_only")),
        }
        Ok(root.to_string())
    }

    fn write_key(&self, table: &mut dyn TableLike) {
        let words = || Value::Array(self.key.split_whitespace().collect::<Array>());
        let wanted = match self.key_place {
            KeyPlace::Variable => Some((KEYS[0], Value::from(&*self.key))),
            KeyPlace::File => Some((KEYS[1], Value::from(&*self.key))),
            KeyPlace::Command => Some((KEYS[2], words())),
            KeyPlace::Keychain => Some((KEYS[3], Value::from(&*self.key))),
            KeyPlace::None | KeyPlace::AsWritten => None,
        };
        let kept = wanted.as_ref().map(|(key, _)| *key);
        KEYS.iter()
            .filter(|key| Some(**key) != kept)
            .for_each(|key| drop(table.remove(key)));
        if let Some((key, value)) = wanted {
            set_value(table, key, value);
        }
    }
}

/// Reads the servers. Those without a field are described.
fn server_of(table: &dyn TableLike) -> Result<(ServerPlace, String), ConfigError> {
    let given: Vec<(&str, &Item)> = SERVERS
        .iter()
        .filter_map(|key| Some((*key, table.get(key)?)))
        .collect();
    let described = || {
        given
            .iter()
            .map(|(key, item)| described(key, item))
            .collect::<Vec<_>>()
            .join(" · ")
    };
    Ok(match given.as_slice() {
        [] => (ServerPlace::SelfHosted, String::new()),
        [("region", item)] => {
            let region = item.as_str().ok_or_else(|| not_one_text("region"))?;
            match REGIONS.iter().position(|(tag, _)| *tag == region) {
                Some(at) => (ServerPlace::Region(at), String::new()),
                None => {
                    return Err(ConfigError::new(format!(
                        "there is no region {}",
                        crate::text::clean(region)
                    )));
                }
            }
        }
        [(key @ ("url" | "agent_server"), item)] if item.is_str() => {
            let place = if *key == "url" {
                ServerPlace::SelfHosted
            } else {
                ServerPlace::AgentServer
            };
            (place, item.as_str().unwrap_or_default().to_string())
        }
        _ => (ServerPlace::AsWritten, described()),
    })
}

/// Describes a setting: its text, or the texts of its table.
fn described(key: &str, item: &Item) -> String {
    let texts = |table: &dyn TableLike| {
        let pairs = table
            .iter()
            .map(|(name, item)| format!("{name} {}", item.as_str().unwrap_or("?")));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let value = item
        .as_table_like()
        .map(texts)
        .or_else(|| item.as_str().map(str::to_string));
    format!("{key}: {}", value.unwrap_or_else(|| "?".into()))
}

/// Reads where the key is. Of a place without a field only the setting is named, because a command may have anything in it.
fn key_of(table: &dyn TableLike) -> Result<(KeyPlace, String), ConfigError> {
    let given: Vec<&str> = KEYS
        .iter()
        .copied()
        .filter(|key| table.contains_key(key))
        .collect();
    let [variable, file, command, keyring] = KEYS;
    let [key] = given.as_slice() else {
        return Ok(match given.is_empty() {
            true => (KeyPlace::None, String::new()),
            false => (KeyPlace::AsWritten, given.join(", ")),
        });
    };
    let value = table.get(key);
    let text = || value.and_then(scalar).ok_or_else(|| not_one_text(key));
    let (place, key) = match *key {
        key if key == variable => (KeyPlace::Variable, text()?),
        key if key == file => (KeyPlace::File, text()?),
        key if key == keyring => (KeyPlace::Keychain, text()?),
        _ => {
            let words = value
                .and_then(Item::as_array)
                .ok_or_else(|| not_one_text(command))?;
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            // A word with a blank would be two words when the form writes it.
            let is_plain = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
            match words.filter(|words| words.iter().all(is_plain)) {
                Some(words) => (KeyPlace::Command, words.join(" ")),
                None => (KeyPlace::AsWritten, command.to_string()),
            }
        }
    };
    // It would be shown.
    if looks_like_key(&key) {
        return Err(ConfigError::new("it has a key where its place is expected"));
    }
    Ok((place, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::edit::{profile_of, profile_template};
    use proptest::prelude::*;

    const TEXT: &str = "# mine\n[profiles.prod]\nregion = \"us\" # Iowa\napi_key_env = \"K\"\nbearer_env = \"B\"\ndeployments = [\"d\"]\n";

    #[test]
    fn form_changes_a_profile_in_place() {
        let mut form = ProfileForm::read(TEXT).unwrap();
        assert_eq!(
            (form.place, form.key_place, form.key.as_str()),
            (ServerPlace::Region(0), KeyPlace::Variable, "K")
        );
        assert_eq!(form.write(TEXT).unwrap(), TEXT);
        form.name = "prod-eu".into();
        form.place = ServerPlace::Region(1);
        (form.key_place, form.key) = (
            KeyPlace::Keychain,
            KeyPlace::Keychain.default_reference().into(),
        );
        form.label = "PROD".into();
        let text = form.write(TEXT).unwrap();
        for line in [
            "# mine\n[profiles.prod-eu]",
            "region = \"eu\" # Iowa",
            "bearer_env = \"B\"",
            "deployments = [\"d\"]",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(ProfileForm::read(&text).unwrap(), form);
        let profile = profile_of(&text, None).unwrap();
        assert!(
            profile.is_production() && profile.name == "prod-eu",
            "{text}"
        );
        assert!(text.contains("api_key_keyring = \"langsmith\""), "{text}");
    }

    #[test]
    fn reference_is_taken_without_its_kind() {
        for (place, typed, key, is_invalid) in [
            (KeyPlace::Variable, "env:LAB_KEY", "LAB_KEY", false),
            (KeyPlace::Variable, " env:LAB_KEY", "LAB_KEY", false),
            (KeyPlace::Variable, "LAB_KEY", "LAB_KEY", false),
            (KeyPlace::Variable, "file:k", "file:k", true),
            (KeyPlace::Variable, "", "", true),
            (KeyPlace::File, "file:~/k", "~/k", false),
            (KeyPlace::Command, "env: x", "env: x", false),
        ] {
            let mut form = ProfileForm {
                key_place: place,
                ..ProfileForm::default()
            };
            form.set_key(typed);
            assert_eq!(
                (&*form.key, form.has_invalid_variable()),
                (key, is_invalid),
                "{typed}"
            );
        }
    }

    #[test]
    fn new_profile_is_shown_as_a_form() {
        let form = ProfileForm::read(&profile_template(None)).unwrap();
        assert_eq!(
            (form.place, form.key_place),
            (ServerPlace::Region(0), KeyPlace::Variable)
        );
    }

    #[test]
    fn profiles_that_the_form_cannot_show_say_why() {
        for (text, why) in [
            ("[profiles.a]\nregion = \"mars\"", "no region mars"),
            ("[profiles.a]\n[profiles.b]", "exactly one"),
            ("", "exactly one"),
            ("[profiles.a]\nregion = 1", "can't show `region`"),
            (
                "[profiles.a]\nregion = \"us\"\nread_only = \"yes\"",
                "can't show `read_only`",
            ),
            (
                "[profiles.a]\nregion = \"us\"\napi_key_env = \"lsv2_pt_canary\"",
                "has a key",
            ),
        ] {
            let error = ProfileForm::read(text).unwrap_err().to_string();
            assert!(
                error.contains(why) && !error.contains("canary"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn what_the_form_has_no_field_for_stays_as_written() {
        let text = "[profiles.a]\nagent_server = { x = \"http://a\", y = \"http://b\" } # two\n\
                    api_key_command = [\"sh\", \"-c\", \"echo canary\"]\nbearer_env = \"B\"\nmine = 1\n";
        let mut form = ProfileForm::read(text).unwrap();
        assert_eq!(
            (form.place, form.key_place),
            (ServerPlace::AsWritten, KeyPlace::AsWritten)
        );
        assert_eq!(
            (&*form.address, &*form.key),
            ("agent_server: x http://a, y http://b", "api_key_command")
        );
        assert_eq!(ProfileForm::other_settings(text), ["bearer_env", "mine"]);
        form.label = "lab".into();
        assert_eq!(
            form.write(text).unwrap(),
            format!("{text}label = \"lab\"\n")
        );
        let both = "[profiles.a]\nregion = \"us\"\nagent_server = \"http://a\"\ncontrol_plane = \"http://c\"\n";
        let form = ProfileForm::read(both).unwrap();
        assert_eq!(
            form.address,
            "region: us · control_plane: http://c · agent_server: http://a"
        );
    }

    #[test]
    fn errors_belong_to_a_field() {
        for (text, field) in [
            (
                "[profiles.\"a b\"]\nregion = \"us\"",
                Some(ProfileField::Name),
            ),
            (
                "[profiles.a]\nurl = \"ftp://x\"",
                Some(ProfileField::Server),
            ),
            (
                "[profiles.a]\nagent_server = \"http://10.0.0.1\"",
                Some(ProfileField::Server),
            ),
            (
                "[profiles.a]\nregion = \"us\"\nworkspace = \"a b\"",
                Some(ProfileField::Workspace),
            ),
            (
                "[profiles.a]\nregion = \"us\"\napi_key_env = \"a b\"",
                Some(ProfileField::Key),
            ),
            (
                "[profiles.a]\nregion = \"us\"\napi_key_env = \"env:A\"",
                Some(ProfileField::Key),
            ),
            (
                "[profiles.a]\nregion = \"us\"\napi_key_env = \"\"",
                Some(ProfileField::Key),
            ),
            (
                "[profiles.a]\nregion = \"us\"\napi_key_keyring = \"-\"",
                Some(ProfileField::Key),
            ),
            (
                "[profiles.a]\nregion = \"us\"\nread_only = 1",
                Some(ProfileField::Access),
            ),
            (
                "profiles.a = { region = \"us\", label = 1 }",
                Some(ProfileField::Label),
            ),
            ("[profiles.a]\nregion = \"us\"\nbearer_env = \"a b\"", None),
        ] {
            let error = profile_of(text, None).unwrap_err();
            let place = error.place.unwrap();
            assert_eq!(
                ProfileForm::field_at(text, place.line, place.column),
                field,
                "{text}"
            );
        }
    }

    fn any_form() -> impl Strategy<Value = ProfileForm> {
        let place = prop_oneof![
            (0..REGIONS.len()).prop_map(|at| (ServerPlace::Region(at), String::new())),
            "[ -~]{0,12}".prop_map(|address| (ServerPlace::SelfHosted, address)),
            "[ -~]{0,12}".prop_map(|address| (ServerPlace::AgentServer, address)),
        ];
        let key = prop_oneof![
            Just((KeyPlace::None, String::new())),
            "[A-Z]{0,5}".prop_map(|name| (KeyPlace::Variable, name)),
            "[ -~]{0,9}".prop_map(|file| (KeyPlace::File, file)),
            "[a-z]{1,4}( [a-z-]{1,4}){0,3}".prop_map(|words| (KeyPlace::Command, words)),
            "[ -~]{0,9}".prop_map(|entry| (KeyPlace::Keychain, entry)),
        ];
        (
            "[a-z.é-]{1,6}",
            place,
            key,
            "[ -~]{0,5}",
            "[ -~]{0,5}",
            any::<bool>(),
        )
            .prop_map(
                |(name, (place, address), (key_place, key), workspace, label, is_read_only)| {
                    ProfileForm {
                        name,
                        place,
                        address,
                        key_place,
                        key,
                        workspace,
                        label,
                        is_read_only,
                    }
                },
            )
    }

    proptest! {
        #[test]
        fn form_and_text_convert_without_loss(first in any_form(), second in any_form()) {
            let text = first.write(TEXT).unwrap();
            prop_assert_eq!(&ProfileForm::read(&text).unwrap(), &first);
            let again = second.write(&text).unwrap();
            prop_assert_eq!(&ProfileForm::read(&again).unwrap(), &second);
            prop_assert!(again.contains("bearer_env = \"B\"") && again.contains("deployments = [\"d\"]"), "{}", again);
            prop_assert_eq!(second.write(&again).unwrap(), again);
        }
    }
}
