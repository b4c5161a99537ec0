//! The other lists of the control plane, over all chosen profiles at once, and single records of them.

use crate::context::{Context, Site};
use crate::exit::{Exit, Failure, report_missing};
use crate::output::{Column, Output, column, field_column, placed, time};
use crate::resolve;
use futures::future::join_all;
use runtail_api::{ApiError, ControlPlane, Kind, Listing, Place};
use runtail_core::config::Profile;
use runtail_core::model::Collection;
use runtail_core::text;
use serde_json::Value;

/// The columns of a collection's table.
pub(crate) fn columns(of: &Collection) -> Vec<Column> {
    let own = of.resource().columns.iter().map(|field| {
        column(field.title, move |row| {
            if field.is_time {
                time(field.of(row))
            } else {
                field.words(row)
            }
        })
    });
    let place = [
        field_column("PROFILE", "/profile"),
        field_column("REGION", "/region"),
    ];
    place.into_iter().chain(own).collect()
}

/// Prints a collection. Requests all profiles at once and prints the rows of those that answer; each failure is a message
/// on stderr, and the first one sets the exit code. If the list belongs to a parent, only one of the profiles has to know it.
pub(crate) async fn list(
    context: &Context,
    of: &Collection,
    output: &Output,
) -> Result<Exit, Failure> {
    let (profiles, of) = narrowed(context, of);
    let answers = join_all(
        with_control_plane(profiles)?
            .into_iter()
            .map(|profile| async {
                let site = Site::open(profile).await?;
                let Some(control) = &site.control else {
                    return Ok((site.profile, Vec::new(), Vec::new()));
                };
                let Listing {
                    mut items,
                    incomplete,
                    unread,
                } = control.collection(&of).await?;
                let odd = site.keep_records(&mut items, unread, |row| of.id_of(row).is_some());
                Ok::<_, ApiError>((
                    site.profile,
                    items,
                    incomplete.into_iter().chain(odd).collect(),
                ))
            }),
    )
    .await;
    let (mut all, mut failures, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = false;
    for answer in answers {
        match answer {
            Ok((profile, items, odd)) => {
                known = true;
                all.extend(items.into_iter().map(|row| placed(&profile, row)));
                failures.extend(odd);
            }
            Err(error) if of.owner().is_some() && is_unknown(&error) => unknown.push(error),
            Err(error) => failures.push(error),
        }
    }
    if !known {
        failures.append(&mut unknown);
    }
    // Don't print an empty table above the errors.
    if known {
        output.rows(&all, &columns(&of))?;
    }
    Ok(report_missing(&failures, &[]))
}

/// Prints one record by its id, from the profile that has it.
pub(crate) async fn get(
    context: &Context,
    of: &Collection,
    id: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let (profiles, id) = resolve::narrowed(context, id);
    let mut found = members(with_control_plane(profiles)?, of, id).await?;
    if found.len() > 1 {
        let profiles: Vec<Profile> = found.into_iter().map(|(profile, _)| profile).collect();
        return Err(ambiguous(of, id, &profiles));
    }
    let (profile, row) = found.remove(0);
    output.one(&placed(&profile, row))?;
    Ok(Exit::Done)
}

/// Returns the profiles that have a record, at least one.
pub(crate) async fn knowing(
    profiles: Vec<Profile>,
    of: &Collection,
    id: &str,
) -> Result<Vec<Profile>, Failure> {
    Ok(members(profiles, of, id)
        .await?
        .into_iter()
        .map(|(profile, _)| profile)
        .collect())
}

/// Returns the error for an id that several profiles have.
pub(crate) fn ambiguous(of: &Collection, id: &str, profiles: &[Profile]) -> Failure {
    let list: String = profiles
        .iter()
        .map(|profile| format!("\n  {}/{}", profile.name, text::clean(id)))
        .collect();
    let (shown, what) = (text::clean(id), of.plural());
    Failure::usage(format!(
        "\"{shown}\" is ambiguous: {} {what} have this id:{list}",
        profiles.len()
    ))
}

/// Fetches a record by its id from each profile that has it, at least one.
async fn members(
    profiles: Vec<Profile>,
    of: &Collection,
    id: &str,
) -> Result<Vec<(Profile, Value)>, Failure> {
    let answers = join_all(profiles.into_iter().map(|profile| async {
        let site = Site::open(profile).await?;
        let row = control_of(&site)?.record(of, id).await?;
        Ok::<_, ApiError>((site.profile, row))
    }))
    .await;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(row) => found.push(row),
            Err(error) => failed.push(error),
        }
    }
    // A temporary failure or a rejected key says more than "not found".
    failed.sort_by_key(is_unknown);
    match (found.is_empty(), failed.into_iter().next()) {
        (false, _) => Ok(found),
        (true, Some(error)) => Err(error.into()),
        (true, None) => Err(Failure::not_found(format!(
            "there is no {} \"{}\"",
            of.singular(),
            text::clean(id)
        ))),
    }
}

/// Returns the only profile with a control plane, for requests that need exactly one.
pub(crate) async fn only_site(context: &Context) -> Result<(Site, ControlPlane), Failure> {
    let mut profiles = with_control_plane(context.profiles.clone())?;
    if profiles.len() > 1 {
        let names: Vec<_> = profiles
            .iter()
            .map(|profile| text::clean(&profile.name))
            .collect();
        return Err(Failure::usage(format!(
            "which profile? Choose one with -p: {}",
            names.join(", ")
        )));
    }
    let site = Site::open(profiles.remove(0)).await?;
    let control = control_of(&site)?;
    Ok((site, control))
}

/// Returns the profiles that have a control plane.
pub(crate) fn with_control_plane(mut profiles: Vec<Profile>) -> Result<Vec<Profile>, Failure> {
    profiles.retain(|profile| profile.control_plane.is_some());
    match profiles.is_empty() {
        true => Err(Failure::usage(
            "none of the chosen profiles has a control plane",
        )),
        false => Ok(profiles),
    }
}

pub(crate) fn control_of(site: &Site) -> Result<ControlPlane, ApiError> {
    site.control.clone().ok_or_else(|| ApiError {
        kind: Kind::Refused,
        at: Place {
            profile: site.profile.name.clone(),
            ..Place::default()
        },
        detail: "this profile has no control plane".into(),
        hint: None,
    })
}

/// Narrows a list to one profile if its parent is given as PROFILE/ID.
fn narrowed(context: &Context, of: &Collection) -> (Vec<Profile>, Collection) {
    let Some(owner) = of.owner() else {
        return (context.profiles.clone(), of.clone());
    };
    let (profiles, id) = resolve::narrowed(context, owner);
    (profiles, of.owned_by(id))
}

/// Whether an error only means "not found".
fn is_unknown(error: &ApiError) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Invalid(_))
}
