//! The failure card of a revision, for `explain` and `wait`.

use crate::prelude::*;
use crate::resolve::Found;
use runtail_api::CardOf;
use runtail_core::model::{FailureCard, StatusTime};

/// Returns the card of a revision. Parts that can't be read are listed on it; this never fails.
pub async fn card(
    globals: &Globals,
    found: &Found,
    control: &ControlPlane,
    revision: &Value,
    times: &[StatusTime],
) -> FailureCard {
    let options = globals.where_configured();
    let of = CardOf {
        deployment: &found.id,
        address: &found.title(),
        options: &options,
        known: &found.row,
        revision,
        times,
    };
    let (card, missing) = control.failure_card(of).await;
    if let Some(error) = missing {
        complain(format!(
            "warning: the revisions could not be listed: {error}"
        ));
    }
    card
}
