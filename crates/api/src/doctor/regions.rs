//! Tries a rejected key in the other regions of the cloud, only after the user confirmed it.

use super::{Check, Reporter, below};
use crate::Http;
use crate::prelude::*;
use futures::future::join_all;
use tokio::sync::mpsc::unbounded_channel;

/// A rejected key. If dropped, it is sent nowhere else.
pub struct Refused {
    desk: Reporter,
    http: Http,
    base: Url,
}

/// A region's response to the key.
enum RegionReply {
    Accepted,
    Known,
    Refused,
    Nothing,
}

impl Refused {
    pub(super) fn new(desk: &Reporter, http: &Http, base: &Url) -> Refused {
        // It may be kept for long, so it must not delay the end of the checks.
        let desk = Reporter {
            out: unbounded_channel().0,
            ..desk.clone()
        };
        Refused {
            desk,
            http: http.clone(),
            base: base.clone(),
        }
    }

    /// The name of the key's profile.
    pub fn profile(&self) -> &str {
        &self.desk.profile
    }

    /// Returns the tags of the regions that were not tried.
    pub fn others<'r>(&self, regions: &'r [(String, Url)]) -> Vec<&'r str> {
        self.other(regions).map(|(tag, _)| tag.as_str()).collect()
    }

    fn other<'r>(&self, regions: &'r [(String, Url)]) -> impl Iterator<Item = &'r (String, Url)> {
        let own = self.base.origin();
        regions.iter().filter(move |(_, url)| url.origin() != own)
    }

    /// Sends the key to the other regions and reports which one accepts it.
    #[boxed]
    pub async fn try_regions(&self, regions: &[(String, Url)]) -> Check {
        let asked = self.other(regions).cloned().map(|(tag, url)| async move {
            let list = below(&url, &["v2", "deployments"], &[("limit", "1".into())]);
            // Only now, after the user confirmed it.
            self.http.allow(&url);
            let seen = self.desk.list(&self.http, Service::Control, list).await;
            let said = match seen.json() {
                Ok(_) => RegionReply::Accepted,
                Err(error) if error.kind == Kind::Forbidden => RegionReply::Known,
                Err(error) if error.kind == Kind::Unauthorized => RegionReply::Refused,
                Err(_) => RegionReply::Nothing,
            };
            let evidence = match (seen.status(), seen.json()) {
                (Some(200), _) | (_, Ok(_)) => "200".to_string(),
                (Some(status), Err(error)) => format!("{status}, {}", error.detail),
                (None, Err(error)) => error.detail,
            };
            let evidence = format!("{tag}: {evidence}");
            (tag, said, evidence)
        });
        let all = join_all(asked).await;
        let tags = |wanted: fn(&RegionReply) -> bool| {
            all.iter()
                .filter(|(_, said, _)| wanted(said))
                .map(|(tag, ..)| tag.as_str())
                .collect::<Vec<_>>()
        };
        let accepted = tags(|said| matches!(said, RegionReply::Accepted));
        let known = tags(|said| matches!(said, RegionReply::Known));
        let silent = tags(|said| matches!(said, RegionReply::Nothing));
        let name = "regions";
        let mut check = match (accepted.first().or(known.first()), silent.is_empty()) {
            (Some(tag), _) => {
                let how = if accepted.is_empty() {
                    "is known"
                } else {
                    "is accepted"
                };
                Check::warn(name, format!("it {how} in {tag}"))
                    .likely("the key belongs to that region")
                    .to_do(format!("set `region = \"{tag}\"` in the profile"))
            }
            (None, true) => Check::warn(name, "no other region accepts it either")
                .likely("it is revoked, expired, or was copied incompletely")
                .to_do("create a new one in the dashboard under Settings, API Keys"),
            (None, false) => {
                Check::warn(name, format!("no usable answer from {}", silent.join(", ")))
            }
        };
        check.evidence = all.into_iter().map(|(.., evidence)| evidence).collect();
        self.desk.safe(check)
    }
}
