//! The other lists of a control plane, and single records of them (control-plane reference §2:
//! Integrations, Listeners, Auth service).

use crate::control_plane::ControlPlane;
use crate::pages::{List, NextPage, PAGE, Page, PageRequest, Pages};
use crate::prelude::*;
use runtail_core::model::{Collection, GithubApp};
use serde::Deserialize;

/// How a list is paginated.
enum Paging {
    /// Not paginated.
    Whole,
    /// By `limit` and `offset`.
    Offset,
    /// By `page_size` and `cursor`.
    Cursor,
}

impl ControlPlane {
    /// Returns all pages of a list as received, unknown fields and secrets included.
    ///
    /// # Errors
    /// `Kind::NotFound` if the server has no such list, or no such parent.
    #[boxed]
    pub async fn collection(&self, of: &Collection) -> Result<Listing<Value>, ApiError> {
        let listing = self.read(of).await;
        // Newer installations have the repositories at another path.
        if listing.as_ref().is_err_and(ApiError::may_lack_call)
            && let Some(other) = newer(of)
            && let Ok(listing) = self.read(&other).await
        {
            return Ok(listing);
        }
        listing.map_err(|error| explained(error, of))
    }

    /// Returns a record by its id, from its own call if there is one, else from its list.
    ///
    /// # Errors
    /// `Kind::NotFound` if there is none.
    #[boxed]
    pub async fn record(&self, of: &Collection, id: &str) -> Result<Value, ApiError> {
        if let Collection::Listeners | Collection::Providers = of {
            return self.member(of, id).await;
        }
        let Listing {
            items, incomplete, ..
        } = self.collection(of).await?;
        let found = items
            .into_iter()
            .find(|row| of.id_of(row).as_deref() == Some(id));
        let gone = || {
            let detail = format!("there is no {} {}", of.singular(), text::clean(id));
            ApiError {
                kind: Kind::NotFound,
                ..self.odd(detail)
            }
        };
        found.ok_or_else(|| incomplete.unwrap_or_else(gone))
    }

    /// Returns a listener, or a provider by its slug, as received; other records have no such call.
    ///
    /// # Errors
    /// `Kind::NotFound` also if the name is invalid (422), as in the official clients.
    #[boxed]
    pub async fn member(&self, of: &Collection, id: &str) -> Result<Value, ApiError> {
        let mut parts = of.path();
        parts.push(id.to_string());
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let row = match self.get(&parts).await {
            Ok(answer) => answer.json(),
            Err(error) => Err(error),
        };
        row.map_err(|error| not_found(explained(error, of)))
    }

    async fn read(&self, of: &Collection) -> Result<Listing<Value>, ApiError> {
        let query = match of {
            Collection::Tokens(Some(provider)) => vec![("provider_id", provider.clone())],
            _ => Vec::new(),
        };
        let list = List {
            parts: of.path(),
            query,
            is_main: false,
            what: of.plural(),
        };
        match paging(of) {
            Paging::Offset => {
                self.pages(list, usize::MAX)
                    .ahead(Self::MAX_CONCURRENCY)
                    .all()
                    .await
            }
            Paging::Cursor => self.by_cursor(list).all().await,
            Paging::Whole => self.on_one_page(list).all().await,
        }
    }

    /// Returns the page of a list that is not paginated.
    fn on_one_page(&self, list: List) -> Pages<'_> {
        Pages::new(
            list.what,
            (usize::MAX, 0),
            PAGE,
            move |PageRequest { limit, .. }| {
                let list = list.clone();
                Box::pin(async move {
                    let answer = self.page(&list, &[]).await?;
                    Ok(Page {
                        rows: answer.rows("data")?,
                        answer,
                        limit,
                        next: NextPage::Cursor(None),
                    })
                })
            },
        )
    }

    /// Returns the pages of a list with cursors.
    fn by_cursor(&self, list: List) -> Pages<'_> {
        #[derive(Deserialize)]
        struct Next {
            next_cursor: Option<Value>,
        }
        Pages::new(
            list.what,
            (usize::MAX, 0),
            PAGE,
            move |PageRequest { limit, cursor, .. }| {
                let list = list.clone();
                Box::pin(async move {
                    let size = ("page_size", limit.to_string());
                    let paging: Vec<_> = std::iter::once(size)
                        .chain(cursor.map(|cursor| ("cursor", cursor)))
                        .collect();
                    let answer = self.page(&list, &paging).await?;
                    let next = answer
                        .json::<Next>()
                        .ok()
                        .and_then(|next| Some(next.next_cursor?.as_str()?.to_string()));
                    let next = NextPage::Cursor(next.filter(|cursor| !cursor.is_empty()));
                    Ok(Page {
                        rows: answer.rows("items")?,
                        answer,
                        limit,
                        next,
                    })
                })
            },
        )
    }
}

fn paging(of: &Collection) -> Paging {
    match of {
        Collection::Listeners => Paging::Offset,
        Collection::InstallationRepositories(_) | Collection::ForgeInstallations => Paging::Cursor,
        _ => Paging::Whole,
    }
}

/// Returns the path of the newer call for the same list.
fn newer(of: &Collection) -> Option<Collection> {
    match of {
        Collection::Repositories(GithubApp::Deployments, id) => {
            Some(Collection::InstallationRepositories(id.clone()))
        }
        Collection::Integrations(GithubApp::Forge) => Some(Collection::ForgeInstallations),
        _ => None,
    }
}

/// Adds a hint to an error of these calls.
pub fn explained(mut error: ApiError, of: &Collection) -> ApiError {
    let said = error.detail.to_lowercase();
    let hint = match (&error.kind, of) {
        (Kind::Forbidden, _) if said.contains("requires workspace specification") => None,
        (Kind::Forbidden, Collection::Listeners) => Some(
            "listeners are for organizations that host their own deployments (enterprise plan)"
                .to_string(),
        ),
        (Kind::NotFound, _) if of.owner().is_none() => {
            let what = of.plural();
            Some(format!(
                "this control plane may not support {what}, or there is none with this name"
            ))
        }
        _ => None,
    };
    error.hint = hint.or(error.hint);
    error
}

/// GET and DELETE have no body, so a 422 is about the id in the path, which then can't exist.
pub fn not_found(mut error: ApiError) -> ApiError {
    if let Kind::Invalid(fields) = &error.kind {
        if !fields.is_empty() {
            error.detail = format!("not found: {}", fields.join("; "));
        }
        error.kind = Kind::NotFound;
    }
    error
}
