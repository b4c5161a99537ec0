//! Changes listeners, providers and tokens, from a file or from options.

use crate::act::{Act, Approval, Sending};
use crate::commands::collections;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::resolve;
use runtail_core::config::Profile;
use runtail_core::model::{Collection, Intent, Service, ServiceChange};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The fields to send.
pub(crate) enum Written {
    /// A file, or `-` for stdin.
    File(PathBuf),
    /// Fields from options, by their JSON names.
    Options(Map<String, Value>),
}

impl Written {
    /// Returns the file's document, else the options.
    pub fn of(
        file: Option<PathBuf>,
        options: impl IntoIterator<Item = (&'static str, Option<Value>)>,
    ) -> Written {
        match file {
            Some(file) => Written::File(file),
            None => {
                let given = options
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_string(), value?)));
                Written::Options(given.collect())
            }
        }
    }
}

/// Makes a change in the only profile with a control plane.
pub(crate) async fn change(
    context: &Context,
    what: Service,
    written: Written,
    sending: &Sending,
    approval: Approval<'_>,
) -> Result<Exit, Failure> {
    let change = read(what, written).await?;
    let (site, _) = collections::only_site(context).await?;
    let act = Act {
        context,
        site: &site,
        sending,
        approval,
    };
    act.plane(&Intent::Service(Box::new(change)), None).await
}

/// Makes a change to a record by its id, or PROFILE/ID, in the profile that has it.
pub(crate) async fn change_one(
    context: &Context,
    of: &Collection,
    id: &str,
    what: impl FnOnce(String) -> Service,
    written: Written,
    (sending, approval): (&Sending, Approval<'_>),
) -> Result<Exit, Failure> {
    let (profiles, id) = resolve::narrowed(context, id);
    let profiles = collections::with_control_plane(profiles)?;
    // Report errors of the document before any request is made.
    let change = read(what(id.to_string()), written).await?;
    let profile = match profiles.as_slice() {
        [one] => one.clone(),
        _ => the_one_that_knows(profiles, of, id).await?,
    };
    let context = Context {
        profiles: vec![profile],
        ..context.clone()
    };
    let (site, _) = collections::only_site(&context).await?;
    let act = Act {
        context: &context,
        site: &site,
        sending,
        approval,
    };
    act.plane(&Intent::Service(Box::new(change)), None).await
}

async fn the_one_that_knows(
    profiles: Vec<Profile>,
    of: &Collection,
    id: &str,
) -> Result<Profile, Failure> {
    let mut knowing = collections::knowing(profiles, of, id).await?;
    match knowing.len() {
        1 => Ok(knowing.remove(0)),
        _ => Err(collections::ambiguous(of, id, &knowing)),
    }
}

async fn read(what: Service, written: Written) -> Result<ServiceChange, Failure> {
    let read = match written {
        Written::File(path) if path.as_os_str() == "-" => {
            what.read(&input::stdin_text().await?, None)
        }
        Written::File(path) => {
            let text = runtail_core::config::files::read_text(&path)
                .map_err(|e| Failure::usage(format!("cannot read {}: {e}", path.display())))?;
            what.read(&text, Some(&path))
        }
        // Files and options are parsed by the same reader, so the same rules apply.
        Written::Options(given) => what.read(&Value::Object(given).to_string(), None),
    };
    read.map_err(Failure::from)
}
