//! The fields of a profile that a form shows. The profile's text stays the draft, as in the file: the form reads its fields
//! from it and writes changed ones into it.

use super::toml_fields::{not_one_text, parse, scalar, set_value};
use super::{ConfigError, REGIONS};
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
}

/// The fields, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileForm {
    pub name: String,
    pub place: ServerPlace,
    /// The address, unless it is a region.
    pub address: String,
    pub key_place: KeyPlace,
    /// The variable, the file, the words of the command, or the keychain entry.
    pub key: String,
    pub workspace: String,
    pub label: String,
    pub is_read_only: bool,
}

/// The settings of the key in the file.
const KEYS: [&str; 4] = ["api_key_env", "api_key_file", "api_key_command", "api_key_keyring"];
/// The settings of the servers.
const SERVERS: [&str; 4] = ["region", "url", "control_plane", "agent_server"];

impl KeyPlace {
    /// Returns the key reference that is offered for this place.
    pub fn default_reference(self) -> &'static str {
        match self {
            KeyPlace::Variable => "LANGSMITH_API_KEY",
            KeyPlace::Keychain => "langsmith",
            KeyPlace::File | KeyPlace::Command | KeyPlace::None => "",
        }
    }
}

impl ProfileForm {
    /// Reads the fields of the text of one profile.
    ///
    /// # Errors
    /// The text isn't valid TOML, or has something that the form can't show.
    pub fn read(text: &str) -> Result<ProfileForm, ConfigError> {
        let root = parse(text)?;
        let profiles = root.get("profiles").and_then(Item::as_table_like);
        let mut profiles = profiles.into_iter().flat_map(TableLike::iter);
        let (Some((name, item)), None) = (profiles.next(), profiles.next()) else {
            return Err(ConfigError::new("the form shows exactly one [profiles.NAME]"));
        };
        let table = item.as_table_like().ok_or_else(|| not_one_text(name))?;
        let get = |key: &str| match table.get(key) {
            None => Ok(String::new()),
            Some(item) => item.as_str().map(str::to_string).ok_or_else(|| not_one_text(key)),
        };
        if SERVERS.iter().filter(|key| table.contains_key(key)).count() > 1 {
            return Err(ConfigError::new("the form can't show a profile with several servers"));
        }
        if KEYS.iter().filter(|key| table.contains_key(key)).count() > 1 {
            return Err(ConfigError::new("the form can't show a profile with several keys"));
        }
        if table.contains_key("control_plane") {
            return Err(not_one_text("control_plane"));
        }
        let region = get("region")?;
        let (place, address) = match REGIONS.iter().position(|(tag, _)| *tag == region) {
            Some(at) => (ServerPlace::Region(at), String::new()),
            None if !region.is_empty() => return Err(ConfigError::new(format!("there is no region {region}"))),
            None if table.contains_key("agent_server") => (ServerPlace::AgentServer, get("agent_server")?),
            None => (ServerPlace::SelfHosted, get("url")?),
        };
        let (key_place, key) = key_of(table)?;
        let is_read_only = match table.get("read_only") {
            None => false,
            Some(item) => item.as_bool().ok_or_else(|| not_one_text("read_only"))?,
        };
        let (workspace, label) = (get("workspace")?, get("label")?);
        Ok(ProfileForm { name: name.to_string(), place, address, key_place, key, workspace, label, is_read_only })
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
        let table = profiles.get_mut(&self.name).and_then(Item::as_table_like_mut);
        let table = table.ok_or_else(|| not_one_text(&self.name))?;
        if (before.place, &before.address) != (self.place, &self.address) {
            let (kept, value) = match self.place {
                ServerPlace::Region(at) => ("region", REGIONS.get(at).map_or("", |(tag, _)| tag)),
                ServerPlace::SelfHosted => ("url", &*self.address),
                ServerPlace::AgentServer => ("agent_server", &*self.address),
            };
            SERVERS.iter().filter(|key| **key != kept).for_each(|key| drop(table.remove(key)));
            set_value(table, kept, Value::from(value));
        }
        if (before.key_place, &before.key) != (self.key_place, &self.key) {
            self.write_key(table);
        }
        for (key, old, new) in
            [("workspace", &before.workspace, &self.workspace), ("label", &before.label, &self.label)]
        {
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
            KeyPlace::None => None,
        };
        let kept = wanted.as_ref().map(|(key, _)| *key);
        KEYS.iter().filter(|key| Some(**key) != kept).for_each(|key| drop(table.remove(key)));
        if let Some((key, value)) = wanted {
            set_value(table, key, value);
        }
    }
}

fn key_of(table: &dyn TableLike) -> Result<(KeyPlace, String), ConfigError> {
    let [variable, file, command, keyring] = KEYS;
    for (key, place) in [(variable, KeyPlace::Variable), (file, KeyPlace::File), (keyring, KeyPlace::Keychain)] {
        if let Some(item) = table.get(key) {
            return Ok((place, scalar(item).ok_or_else(|| not_one_text(key))?));
        }
    }
    let Some(item) = table.get(command) else { return Ok((KeyPlace::None, String::new())) };
    let words = item.as_array().ok_or_else(|| not_one_text(command))?;
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    // A word with a blank would be two words when the form writes it.
    let is_plain = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
    let words = words.filter(|words| words.iter().all(is_plain)).ok_or_else(|| not_one_text(command))?;
    Ok((KeyPlace::Command, words.join(" ")))
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
        assert_eq!((form.place, form.key_place, form.key.as_str()), (ServerPlace::Region(0), KeyPlace::Variable, "K"));
        assert_eq!(form.write(TEXT).unwrap(), TEXT);
        form.name = "prod-eu".into();
        form.place = ServerPlace::Region(1);
        (form.key_place, form.key) = (KeyPlace::Keychain, KeyPlace::Keychain.default_reference().into());
        form.label = "PROD".into();
        let text = form.write(TEXT).unwrap();
        for line in
            ["# mine\n[profiles.prod-eu]", "region = \"eu\" # Iowa", "bearer_env = \"B\"", "deployments = [\"d\"]"]
        {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(ProfileForm::read(&text).unwrap(), form);
        let profile = profile_of(&text, None).unwrap();
        assert!(profile.is_production() && profile.name == "prod-eu", "{text}");
        assert!(text.contains("api_key_keyring = \"langsmith\""), "{text}");
    }

    #[test]
    fn new_profile_is_shown_as_a_form() {
        let form = ProfileForm::read(&profile_template(None)).unwrap();
        assert_eq!((form.place, form.key_place), (ServerPlace::Region(0), KeyPlace::Variable));
    }

    #[test]
    fn profiles_that_the_form_cannot_show_say_why() {
        for (text, why) in [
            ("[profiles.a]\nregion = \"mars\"", "no region mars"),
            ("[profiles.a]\n[profiles.b]", "exactly one"),
            ("", "exactly one"),
            ("[profiles.a]\nagent_server = { x = \"http://a\" }", "can't show `agent_server`"),
            ("[profiles.a]\napi_key_command = [\"sh\", \"-c\", \"echo x\"]", "can't show `api_key_command`"),
            ("[profiles.a]\napi_key_env = \"A\"\napi_key_file = \"b\"", "several keys"),
        ] {
            let error = ProfileForm::read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
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
        ("[a-z.é-]{1,6}", place, key, "[ -~]{0,5}", "[ -~]{0,5}", any::<bool>()).prop_map(
            |(name, (place, address), (key_place, key), workspace, label, is_read_only)| ProfileForm {
                name,
                place,
                address,
                key_place,
                key,
                workspace,
                label,
                is_read_only,
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
