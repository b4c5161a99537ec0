//! The other lists of the control plane, over all chosen profiles at once, and single records of them.

use crate::exit::report_missing;
use crate::output::time;
use crate::prelude::*;
use runtail_api::Place;
use runtail_core::model::Collection;

/// The columns of a collection's table.
pub fn columns(of: &Collection) -> Vec<Column> {
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
pub async fn list(context: &Context, of: &Collection, output: &Output) -> Result<Exit, Failure> {
    let (profiles, of) = narrowed(context, of);
    let answers = across(with_control_plane(profiles)?, async |site| {
        let Listing {
            mut items,
            incomplete,
            unread,
        } = control_of(site)?.collection(&of).await?;
        let odd = site.keep_records(&mut items, unread, |row| of.id_of(row).is_some());
        Ok((items, incomplete.into_iter().chain(odd)))
    })
    .await;
    let (mut all, mut failures, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    let mut known = false;
    for answer in answers {
        match answer {
            Ok((site, (items, odd))) => {
                known = true;
                all.extend(items.into_iter().map(|row| placed(&site.profile, row)));
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
pub async fn get(
    context: &Context,
    of: &Collection,
    id: &str,
    output: &Output,
) -> Result<Exit, Failure> {
    let (profiles, id) = resolve::narrowed(context, id);
    let (profile, row) = only_member(with_control_plane(profiles)?, of, id).await?;
    output.one(&placed(&profile, row))?;
    Ok(Exit::Done)
}

/// Fetches a record by its id from the only profile that has it.
pub async fn only_member(
    profiles: Vec<Profile>,
    of: &Collection,
    id: &str,
) -> Result<(Profile, Value), Failure> {
    let answers = across(profiles, async |site| {
        control_of(site)?.record(of, id).await
    })
    .await;
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok((site, row)) => found.push((site.profile, row)),
            Err(error) => failed.push(error),
        }
    }
    // A temporary failure or a rejected key says more than "not found".
    failed.sort_by_key(is_unknown);
    let shown = text::clean(id);
    match (found.len(), failed.into_iter().next()) {
        (1, _) => Ok(found.remove(0)),
        (0, Some(error)) => Err(error.into()),
        (0, None) => Err(Failure::failed(format!(
            "there is no {} \"{shown}\"",
            of.singular()
        ))),
        (n, _) => {
            let list: String = found
                .iter()
                .map(|(profile, _)| format!("\n  {}/{shown}", profile.name))
                .collect();
            Err(Failure::usage(format!(
                "\"{shown}\" is ambiguous: {n} {} have this id:{list}",
                of.plural()
            )))
        }
    }
}

/// Asks all profiles concurrently; the answers are in their order.
pub async fn across<T>(
    profiles: Vec<Profile>,
    ask: impl AsyncFn(&Site) -> Result<T, ApiError>,
) -> Vec<Result<(Site, T), ApiError>> {
    join_all(profiles.into_iter().map(async |profile| {
        let site = Site::open(profile).await?;
        let answer = ask(&site).await?;
        Ok((site, answer))
    }))
    .await
}

/// Returns the only profile with a control plane, for requests that need exactly one.
pub async fn only_site(context: &Context) -> Result<(Site, ControlPlane), Failure> {
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
pub fn with_control_plane(mut profiles: Vec<Profile>) -> Result<Vec<Profile>, Failure> {
    profiles.retain(|profile| profile.control_plane.is_some());
    if profiles.is_empty() {
        Err(Failure::usage(
            "none of the chosen profiles has a control plane",
        ))
    } else {
        Ok(profiles)
    }
}

pub fn control_of(site: &Site) -> Result<ControlPlane, ApiError> {
    site.control.clone().ok_or_else(|| {
        let at = Place::of(&site.profile.name);
        ApiError::new(Kind::Refused, at, "this profile has no control plane")
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
