//! The sides of a comparison.

use super::Session;
use super::deployments::{KnownDeployment, KnownDeployments};
use super::msg::{RevisionRef, ServerRef, ThreadRef};
use runtail_core::model::Configuration;
use runtail_core::text::{clean, short_id};
use runtail_stream::comparison::{FileContents, SideRequest};
use std::path::PathBuf;
use std::sync::Arc;

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideRef {
    /// A thread, or one run of it.
    Thread(ThreadRef, Option<String>),
    /// A recording, or a saved comparison, which has both sides.
    File(PathBuf),
    /// The configuration of a revision.
    Configuration(ConfigurationRef),
}

/// A revision whose configuration is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigurationRef {
    pub profile: Arc<str>,
    /// The deployment's id.
    pub deployment: Arc<str>,
    /// The deployment's name, for titles.
    pub name: Arc<str>,
    /// The revision's id; none for the newest one.
    pub revision: Option<Arc<str>>,
}

impl ConfigurationRef {
    /// Returns the configuration of a revision. `name`: of its deployment.
    pub fn of_revision(of: &RevisionRef, name: &str) -> ConfigurationRef {
        ConfigurationRef {
            profile: of.profile.clone(),
            deployment: of.deployment.clone(),
            name: name.into(),
            revision: Some(of.revision.clone()),
        }
    }

    /// Returns its deployment as a place on the screen: `eu › support-bot`.
    pub fn place(&self, session: &Session) -> String {
        let region = session
            .profile(&self.profile)
            .map_or(&*self.profile, |profile| profile.tag());
        format!("{} › {}", clean(region), clean(&self.name))
    }
}

/// The contents of a side.
#[derive(Debug, Clone)]
pub enum SideContents {
    Steps(Arc<FileContents>),
    Configuration(Arc<Configuration>),
}

/// A loaded side, or why it can't be loaded.
pub type SideLoaded = Result<SideContents, String>;

impl SideRef {
    /// Returns the profile whose key is used.
    pub fn profile(&self) -> Option<&str> {
        match self {
            SideRef::Thread(thread, _) => Some(&thread.server.profile),
            SideRef::Configuration(of) => Some(&of.profile),
            SideRef::File(_) => None,
        }
    }

    /// Returns its title while it isn't loaded.
    pub fn title(&self) -> String {
        match self {
            SideRef::Thread(thread, None) => {
                format!("{} › {}", place(&thread.server), short_id(&thread.id))
            }
            SideRef::Thread(thread, Some(run)) => {
                format!(
                    "{} › {}, run {}",
                    place(&thread.server),
                    short_id(&thread.id),
                    short_id(run)
                )
            }
            SideRef::File(path) => clean(&path.to_string_lossy()).into_owned(),
            SideRef::Configuration(of) => {
                let revision = of
                    .revision
                    .as_deref()
                    .map(|id| format!(" › {}", short_id(id)));
                format!(
                    "{} › {}{}",
                    clean(&of.profile),
                    clean(&of.name),
                    revision.unwrap_or_default()
                )
            }
        }
    }

    /// Returns the configuration that it names.
    pub fn configuration(&self) -> Option<&ConfigurationRef> {
        match self {
            SideRef::Configuration(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the title of a loaded side, with the region of its server in place of the profile, as on the other screens.
    pub fn shown_title(&self, title: &str, session: &Session) -> String {
        let SideRef::Thread(thread, _) = self else {
            return title.to_string();
        };
        match title.strip_prefix(&place(&thread.server)) {
            Some(rest) => format!("{}{rest}", session.place(&thread.server)),
            None => title.to_string(),
        }
    }

    /// Returns whether servers of two profiles are shown as the same place.
    pub fn looks_like(&self, other: &SideRef, session: &Session) -> bool {
        match (self, other) {
            (SideRef::Thread(a, _), SideRef::Thread(b, _)) => {
                a.server.profile != b.server.profile
                    && session.place(&a.server) == session.place(&b.server)
            }
            (SideRef::Configuration(a), SideRef::Configuration(b)) => {
                a.profile != b.profile && a.place(session) == b.place(session)
            }
            _ => false,
        }
    }

    /// Returns the request that loads a thread or a run.
    pub fn request(thread: &ThreadRef, run: Option<&str>) -> SideRequest {
        SideRequest {
            place: place(&thread.server),
            profile: thread.server.profile.to_string(),
            thread: thread.id.clone(),
            run: run.map(str::to_string),
        }
    }
}

fn place(server: &ServerRef) -> String {
    match server.profile == server.name {
        true => clean(&server.profile).into_owned(),
        false => format!("{} › {}", clean(&server.profile), clean(&server.name)),
    }
}

/// Parses the sides that a command names, separated by spaces: `T`, `T/R`, `PROFILE/DEPLOYMENT:T[/R]`, `PROFILE/DEPLOYMENT` or a
/// file. `open` is the server of a thread without a place, `known` are those that can be named.
///
/// # Errors
/// Why a side can't be understood.
pub fn parse_sides(
    text: &str,
    open: Option<&ServerRef>,
    known: &[ServerRef],
    deployments: &KnownDeployments,
) -> Result<Vec<SideRef>, String> {
    text.split_whitespace()
        .map(|word| parse_side(word, open, known, deployments))
        .collect()
}

/// Finds an agent server by its name, as `PROFILE/DEPLOYMENT`, or by its address.
///
/// # Errors
/// Why there is no such server, or not only one.
pub fn parse_server<'a>(place: &str, known: &'a [ServerRef]) -> Result<&'a ServerRef, String> {
    let is_meant = |server: &&ServerRef| {
        *place == *server.name
            || format!("{}/{}", server.profile, server.name) == place
            || server.url.trim_end_matches('/') == place.trim_end_matches('/')
    };
    let mut found: Vec<&ServerRef> = known.iter().filter(is_meant).collect();
    found.sort();
    found.dedup();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(format!("no listed server {}.", clean(place))),
        _ => Err("several servers match; name PROFILE/DEPLOYMENT.".into()),
    }
}

/// Says how many rows are marked for a comparison.
pub fn marked_words(count: usize) -> &'static str {
    match count {
        0 => "Nothing marked.",
        1 => "Marked. Press = on another to compare.",
        _ => "Two marked. Press = to compare.",
    }
}

/// Says that more than two rows are marked.
pub fn too_many_marked(count: usize) -> String {
    format!("{count} marked. Mark only two to compare.")
}

fn parse_side(
    word: &str,
    open: Option<&ServerRef>,
    known: &[ServerRef],
    deployments: &KnownDeployments,
) -> Result<SideRef, String> {
    let is_named = |one: &&KnownDeployment| format!("{}/{}", one.profile, one.name) == word;
    if let Some(one) = deployments.existing().find(is_named) {
        return Ok(SideRef::Configuration(ConfigurationRef {
            profile: one.profile.clone(),
            deployment: one.id.clone(),
            name: one.name.clone(),
            revision: None,
        }));
    }
    let is_file = word.ends_with(".jsonl") || word.ends_with(".gz") || word.ends_with(".json");
    if is_file || word.starts_with(['.', '~']) || (word.starts_with('/') && !word.contains(':')) {
        return Ok(SideRef::File(PathBuf::from(word)));
    }
    let shown = clean(word);
    let (server, rest) = match word.rsplit_once(':') {
        Some((place, rest)) => (
            parse_server(place, known).map_err(|why| format!("{shown}: {why}"))?,
            rest,
        ),
        None => (
            open.ok_or_else(|| format!("{shown}: open a server, or name PROFILE/DEPLOYMENT:T."))?,
            word,
        ),
    };
    let (thread, run) = match rest.split_once('/') {
        Some((thread, run)) => (thread, Some(run.to_string())),
        None => (rest, None),
    };
    if thread.is_empty() || run.as_deref() == Some("") {
        return Err(format!(
            "{shown}: expected T, T/R, PROFILE/DEPLOYMENT:T[/R] or a file."
        ));
    }
    Ok(SideRef::Thread(
        ThreadRef {
            server: server.clone(),
            id: thread.to_string(),
        },
        run,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_named_as_on_the_command_line() {
        let server = |profile: &str, name: &str| ServerRef {
            profile: profile.into(),
            name: name.into(),
            url: format!("http://{profile}.example/{name}").into(),
        };
        let known = [
            server("us", "bot"),
            server("eu", "bot"),
            server("eu", "desk"),
            server("eu", "desk"),
        ];
        let thread = |server: &ServerRef, id: &str, run: Option<&str>| {
            SideRef::Thread(
                ThreadRef {
                    server: server.clone(),
                    id: id.into(),
                },
                run.map(String::from),
            )
        };
        let mut listed = KnownDeployments::default();
        listed.set_all(["d-1", "d-2"].into_iter().map(|id| KnownDeployment {
            profile: "eu".into(),
            id: id.into(),
            name: format!("bot-{id}").into(),
            is_gone: false,
            revisions: Default::default(),
        }));
        let parse = |text: &str| parse_sides(text, Some(&known[0]), &known, &listed);
        let named = parse("eu/bot-d-2").unwrap();
        assert_eq!(
            named[0]
                .configuration()
                .map(|of| (&*of.deployment, of.revision.is_none())),
            Some(("d-2", true))
        );
        assert_eq!(
            parse("eu/other").unwrap(),
            [thread(&known[0], "eu", Some("other"))]
        );
        assert_eq!(
            parse("t-1  t-2/r-2").unwrap(),
            [
                thread(&known[0], "t-1", None),
                thread(&known[0], "t-2", Some("r-2"))
            ]
        );
        assert_eq!(
            parse("eu/bot:t-1/r-1").unwrap(),
            [thread(&known[1], "t-1", Some("r-1"))]
        );
        assert_eq!(parse("desk:t-1").unwrap(), [thread(&known[2], "t-1", None)]);
        assert_eq!(
            parse("./a.jsonl").unwrap(),
            [SideRef::File("./a.jsonl".into())]
        );
        assert!(parse("").unwrap().is_empty());
        assert!(parse("bot:t").unwrap_err().contains("several"));
        assert!(parse("nope:t").unwrap_err().contains("no listed server"));
        assert!(parse("eu/bot:").unwrap_err().contains("expected"));
        assert!(parse("t/").unwrap_err().contains("expected"));
        assert!(
            parse_sides("t", None, &known, &listed)
                .unwrap_err()
                .contains("open a server")
        );
    }
}
