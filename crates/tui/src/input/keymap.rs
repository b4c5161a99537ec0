//! The keymap: the default bindings with the changes of `[keys]` applied.

use super::action::{Action, Context};
pub use super::bindings::{BINDINGS, Binding, binding, works_only};
use super::key::{Code, Key};
use std::collections::BTreeMap;

/// Ids of earlier versions, and those of the actions that took their place.
const RENAMED: [(&str, &str); 5] = [
    ("stream.updates", "stream.steps"),
    ("stream.history", "stream.steps"),
    ("stream.custom", "stream.events"),
    ("stream.raw", "stream.events"),
    ("stream.delivery", "stream.events"),
];

/// Returns the changes of `[keys]` under today's ids, so that the configuration of an earlier version still works.
fn with_new_ids(changes: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let mut renamed = changes.clone();
    for (old, new) in RENAMED {
        if let Some(keys) = renamed.remove(old) {
            renamed.entry(new.into()).or_default().extend(keys);
        }
    }
    renamed
}

/// The current key bindings.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: BTreeMap<(Context, Key), Action>,
    shown: BTreeMap<&'static str, Vec<Key>>,
    /// Problems of the configuration's changes.
    problems: Vec<String>,
}

impl Default for Keymap {
    fn default() -> Self {
        Keymap::new(&BTreeMap::new()).0
    }
}

impl Keymap {
    /// Builds the map. Reports all problems of the configuration at once; invalid entries change nothing.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> (Keymap, Vec<String>) {
        let mut problems = Vec::new();
        let changes = &with_new_ids(changes);
        for id in changes
            .keys()
            .filter(|id| !BINDINGS.iter().any(|b| b.id == id.as_str()))
        {
            problems.push(format!("[keys] {id}: unknown action (`:keys` lists them)"));
        }
        let mut keys: BTreeMap<(Context, Key), Action> = BTreeMap::new();
        let mut owners: BTreeMap<(Context, Key), &'static str> = BTreeMap::new();
        let mut shown: BTreeMap<&'static str, Vec<Key>> = BTreeMap::new();
        let mut wanted: Vec<(&Binding, Vec<Key>)> = Vec::new();
        for binding in BINDINGS.iter() {
            let own = binding
                .keys()
                .filter_map(|k| k.parse().ok())
                .collect::<Vec<Key>>();
            let list = changes
                .get(binding.id)
                .map(|list| list.iter().map(|key| parse_key(binding, key)).collect());
            wanted.push((
                binding,
                list.unwrap_or_else(|| Ok(own.clone()))
                    .unwrap_or_else(|e: String| {
                        problems.push(format!("[keys] {}: {e}", binding.id));
                        own
                    }),
            ));
        }
        let sends = |(binding, _): &&(&Binding, Vec<Key>)| binding.action == Action::Send;
        let sending: Vec<Key> = wanted
            .iter()
            .filter(sends)
            .flat_map(|(_, keys)| keys.clone())
            .collect();
        for (binding, wanted) in wanted {
            for key in wanted {
                // The key that opens a preview from an editor doesn't send from it while it is held (`App::handle_key`).
                let only_opens =
                    binding.writes && !binding.action.sends() && binding.action != Action::Preview;
                if only_opens && sending.contains(&key) {
                    problems.push(format!(
                        "[keys] {key} sends, so it can't also be {}",
                        binding.id
                    ));
                    continue;
                }
                if let Some(owner) = owners.get(&(binding.context, key)) {
                    problems.push(format!(
                        "[keys] {key} is bound to {owner} and {}; the first wins",
                        binding.id
                    ));
                    continue;
                }
                owners.insert((binding.context, key), binding.id);
                keys.insert((binding.context, key), binding.action);
                shown.entry(binding.id).or_default().push(key);
            }
        }
        problems.extend(shadows(&owners));
        (
            Keymap {
                keys,
                shown,
                problems: problems.clone(),
            },
            problems,
        )
    }

    /// Returns what a key does in a context.
    pub fn action(&self, context: Context, key: Key) -> Option<Action> {
        self.keys
            .get(&(context, key))
            .or_else(|| self.keys.get(&(Context::Global, key)))
            .copied()
    }

    /// Returns the action that a key has in another context, the most common contexts first.
    pub fn elsewhere(&self, key: Key) -> Option<&'static Binding> {
        BINDINGS
            .iter()
            .find(|row| row.context != Context::Global && self.keys_of(row.id).contains(&key))
    }

    /// Returns whether a key quits while a line is typed: never one that types a character.
    pub(crate) fn quits(&self, key: Key) -> bool {
        key.text().is_none() && self.action(Context::Command, key) == Some(Action::QuitNow)
    }

    /// Returns the problems of the configuration's changes.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns the keys of a row of the table.
    pub fn keys_of(&self, id: &str) -> &[Key] {
        self.shown.get(id).map_or(&[], Vec::as_slice)
    }

    /// Formats the first key of a row of the table, if it has one.
    pub fn key(&self, id: &str, ascii: bool) -> Option<String> {
        self.keys_of(id).first().map(|key| key_glyph(*key, ascii))
    }
}

/// Reports configured keys that hide a global key in one context. Both stay, because that may be intended.
fn shadows(owners: &BTreeMap<(Context, Key), &'static str>) -> Vec<String> {
    let is_default = |id: &str, key: Key| {
        let row = BINDINGS.iter().find(|binding| binding.id == id);
        row.is_some_and(|row| {
            row.keys()
                .any(|own| own.parse().is_ok_and(|own: Key| own == key))
        })
    };
    let local = owners
        .iter()
        .filter(|((context, _), _)| *context != Context::Global);
    let problems = local.filter_map(|((context, key), own)| {
        let hidden = owners.get(&(Context::Global, *key)).copied()?;
        // The defaults hide global keys on purpose.
        let changed = !is_default(own, *key) || !is_default(hidden, *key);
        changed.then(|| {
            format!(
                "[keys] {key} is {own} in {}, so it is not {hidden} there",
                context.place()
            )
        })
    });
    problems.collect()
}

/// Parses a configured key. Enter and characters can't send: they are pressed by habit, and pasted text may contain them.
fn parse_key(binding: &Binding, key: &str) -> Result<Key, String> {
    let key: Key = key.parse()?;
    match binding.action == Action::Send && (key.code == Code::Enter || key.text().is_some()) {
        true => Err(format!("{key} can't send; choose a ctrl key, or F1 to F12")),
        false => Ok(key),
    }
}

/// Formats a key for the footer. In ASCII the symbol of Enter would look like that of Ctrl.
pub fn key_glyph(key: Key, ascii: bool) -> String {
    match key.to_string().as_str() {
        "Enter" if !ascii => "⏎".into(),
        "BackTab" => "Shift-Tab".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::commands::Commands;
    use super::*;

    #[test]
    fn default_keys_parse_and_have_no_conflicts() {
        let (_, problems) = Keymap::new(&BTreeMap::new());
        assert_eq!(problems, Vec::<String>::new());
        for (n, binding) in BINDINGS.iter().enumerate() {
            assert!(
                BINDINGS[n + 1..].iter().all(|other| other.id != binding.id),
                "{} is listed twice",
                binding.id
            );
            for key in binding.keys() {
                key.parse::<Key>()
                    .unwrap_or_else(|e| panic!("{}: {e}", binding.id));
            }
        }
    }

    #[test]
    fn an_action_writes_in_every_context_or_in_none() {
        for binding in BINDINGS.iter().filter(|binding| binding.writes) {
            let same = BINDINGS
                .iter()
                .filter(|other| other.action == binding.action);
            assert!(same.clone().all(|other| other.writes), "{}", binding.id);
        }
        let writes = |id: &str| binding(id).unwrap().writes;
        assert!(
            writes("confirm.send")
                && writes("deployments.delete")
                && !writes("deployments.details")
        );
    }

    #[test]
    fn every_footer_hint_exists() {
        let map = Keymap::default();
        use Context::*;
        for context in [
            Deployments,
            Revisions,
            Server,
            Logs,
            Card,
            Inspector,
            Profiles,
            Browse,
            SignIn,
            Page,
        ] {
            let hints = Commands::of(context).hints(&map, false);
            assert!(hints.len() >= 3, "{context:?}");
        }
    }

    #[test]
    fn keys_of_renamed_actions_are_kept() {
        let keys = |id: &str, key: &str| (id.to_string(), vec![key.to_string()]);
        let changes = BTreeMap::from([keys("stream.raw", "F2"), keys("stream.history", "F3")]);
        let (map, problems) = Keymap::new(&changes);
        assert_eq!(problems, Vec::<String>::new());
        for (key, action) in [("F2", Action::View6), ("F3", Action::View2)] {
            let key = key.parse().unwrap();
            assert_eq!(map.action(Context::Stream, key), Some(action));
        }
    }

    #[test]
    fn configured_keys_replace_defaults_and_every_problem_is_reported() {
        let changes = BTreeMap::from([
            ("app.help".to_string(), vec!["F1".to_string()]),
            ("app.zoom".to_string(), vec!["Hyper".to_string()]),
            ("app.copy".to_string(), vec!["q".to_string()]),
            ("nonsense".to_string(), vec!["x".to_string()]),
        ]);
        let (map, problems) = Keymap::new(&changes);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(
            map.action(Context::Stream, "F1".parse().unwrap()),
            Some(Action::Help)
        );
        assert_eq!(map.action(Context::Stream, "?".parse().unwrap()), None);
        assert_eq!(
            map.action(Context::Stream, "f".parse().unwrap()),
            Some(Action::Zoom)
        );
        assert_eq!(
            map.action(Context::Stream, "q".parse().unwrap()),
            Some(Action::Quit)
        );
    }

    #[test]
    fn a_key_that_hides_a_global_key_is_reported_with_both_actions() {
        let set = |id: &str, key: &str| (id.to_string(), vec![key.to_string()]);
        let (map, problems) = Keymap::new(&BTreeMap::from([
            set("stream.open", "q"),
            set("app.refresh", "d"),
        ]));
        assert!(problems.contains(
            &"[keys] q is stream.open in a thread, so it is not app.quit there".to_string()
        ));
        let hides =
            |p: &&String| p.contains("d is ") && p.contains("so it is not app.refresh there");
        assert!(
            problems.iter().filter(hides).count() > 1,
            "in every context with its own d: {problems:?}"
        );
        assert_eq!(
            map.action(Context::Stream, "q".parse().unwrap()),
            Some(Action::Open)
        );
        // Configuring the default keys hides nothing new.
        let same = (
            "stream.follow".to_string(),
            vec!["End".to_string(), "G".to_string()],
        );
        assert_eq!(Keymap::new(&BTreeMap::from([same])).1, Vec::<String>::new());
    }

    #[test]
    fn a_key_that_opens_a_preview_never_sends() {
        let key = |text: &str| text.parse::<Key>().unwrap();
        let set = |id: &str, keys: &[&str]| {
            (id.to_string(), keys.iter().map(|k| k.to_string()).collect())
        };
        for never in ["Enter", "y", "Space"] {
            let (map, problems) = Keymap::new(&BTreeMap::from([set("confirm.send", &[never])]));
            assert!(
                problems.len() == 1 && problems[0].contains("can't send"),
                "{problems:?}"
            );
            assert_eq!(
                map.action(Context::Confirm, key("ctrl-s")),
                Some(Action::Send),
                "an invalid key changes nothing"
            );
            assert_ne!(map.action(Context::Confirm, key(never)), Some(Action::Send));
        }
        let changes = BTreeMap::from([
            set("confirm.send", &["ctrl-r"]),
            set("revisions.redeploy", &["ctrl-s", "R"]),
        ]);
        let (map, problems) = Keymap::new(&changes);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            map.action(Context::Confirm, key("ctrl-r")),
            Some(Action::Send)
        );
        assert_eq!(
            map.action(Context::Editor, key("ctrl-r")),
            Some(Action::Preview),
            "the dashboard ignores it while held"
        );
        assert_eq!(
            map.action(Context::Editor, key("F5")),
            Some(Action::Preview)
        );
        assert_eq!(
            map.action(Context::Revisions, key("ctrl-s")),
            None,
            "it sends an authentication, and writes the file"
        );
    }
}
