//! The two panes: the list of deployments, and the revisions of the selected one.

use super::Deployments;
use super::columns::{Order, Sort};
use super::list::{Live, Row};
use super::view::LIST_HEAD;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    Described, Effect, LogRef, NO_LOGS, RevisionRef, SubscriptionEvent, SubscriptionId,
    no_build_log,
};
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Requests, Route, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::table::{GUTTER, Table};
use runtail_api::{LogKind, ServerInfo};
use runtail_core::config::deployment_page;
use runtail_core::model::{DeploymentSpec, Intent, Phase, Revision, RevisionRole};
use runtail_core::text;
use std::sync::Arc;

/// Lines above the revisions: column headers.
const REVISIONS_HEAD: u16 = 1;

/// The list of deployments.
pub struct ListPane<'a>(pub &'a mut Deployments);

/// The revisions of the selected deployment.
pub struct RevisionsPane<'a>(pub &'a mut Deployments);

fn height(area: Area, head: u16) -> usize {
    area.h.saturating_sub(head).into()
}

fn gone(row: &Row) -> Requests {
    Requests::error(format!("{} was deleted; r refreshes.", row.name))
}

fn no_revision(name: &str) -> Requests {
    Requests::info(format!("{name} has no revision."))
}

/// A value, or the notice to show instead.
type OrNotice<T> = Result<T, Requests>;

impl Deployments {
    /// Returns whether the selected deployment is of a control plane that no longer answers.
    pub fn is_selection_outdated(&self, session: &Session) -> bool {
        let row = self.list.selected().filter(|row| row.deployment.is_some());
        row.and_then(|row| session.profiles.get(row.profile))
            .is_some_and(|profile| profile.problem().is_some())
    }

    /// Fits both scroll positions to their contents.
    pub fn relayout(&mut self, list: Area, revisions: Area) {
        self.list.table.fit(height(list, LIST_HEAD));
        if self.revisions_of.as_deref() != self.list.table.selected() {
            self.revisions_of = self.list.table.selected().map(str::to_string);
            self.revision_table.restart();
        }
        let revisions_shown = self.history().map(|history| history.revisions.as_slice());
        let ids = revisions_shown.unwrap_or_default().iter();
        let ids = ids.map(|revision| revision.id.clone()).collect();
        self.revision_table
            .lay_out(ids, height(revisions, REVISIONS_HEAD));
    }

    /// Returns the profile of the selected row if it has a control plane, otherwise the first profile that has one.
    pub fn chosen_profile(&self, session: &Session) -> Option<Arc<str>> {
        let mut profiles = session.profiles.iter().filter(|p| p.control_plane);
        let selected = self.list.selected().map(|row| &row.profile_name);
        let own = profiles.clone().find(|p| Some(&p.name) == selected);
        own.or_else(|| profiles.next()).map(|p| p.name.clone())
    }

    /// Returns what the keys of the list or of the revisions do now.
    pub fn commands(&self, context: Context) -> Commands {
        let row = self.list.selected();
        let ids: &[&str] = match (row, context) {
            (_, Context::Revisions) if self.revision_table.is_empty() => {
                &["app.back", "app.refresh"]
            }
            (_, Context::Revisions) if self.is_revision_moving() => &[
                "revisions.explain",
                "revisions.build_log",
                "revisions.watch",
                "revisions.interrupt",
            ],
            (_, Context::Revisions) => &[
                "revisions.explain",
                "revisions.build_log",
                "revisions.redeploy",
                "revisions.compare",
            ],
            (None, _) if self.list.filter().is_empty() => {
                &["deployments.create", "app.profiles", "app.refresh"]
            }
            (None, _) => &["deployments.filter", "app.profiles", "app.refresh"],
            (Some(row), _) if row.deployment.is_none() => &[
                "deployments.open",
                "deployments.new_run",
                "deployments.filter",
                "deployments.sort",
            ],
            _ => &[
                "deployments.open",
                "deployments.explain",
                "app.inbox",
                "deployments.filter",
            ],
        };
        let has_server = row.is_none_or(|row| row.url.is_some());
        let has_builds = row.is_none_or(Row::has_builds);
        Commands::of(context)
            .enable_if(has_server, &["deployments.open", "deployments.new_run"])
            .enable_if(has_builds, &["revisions.build_log"])
            .footer(ids)
    }

    /// Returns whether the selected revision is being deployed.
    fn is_revision_moving(&self) -> bool {
        let chosen = self.chosen_revision(true);
        let revision = chosen.and_then(|(_, revision)| revision);
        revision.is_some_and(|revision| !revision.phase().is_final())
    }

    pub(super) fn revision_ref(row: &Row, revision: &str) -> Option<RevisionRef> {
        let deployment = row.deployment.as_ref()?;
        Some(RevisionRef {
            profile: row.profile_name.clone(),
            deployment: deployment.id.as_str().into(),
            revision: revision.into(),
        })
    }

    /// Returns the revision that an action applies to: the selected one in the revisions pane, otherwise the newest of the
    /// selected deployment.
    pub(super) fn chosen_revision(
        &self,
        in_revisions: bool,
    ) -> Option<(RevisionRef, Option<Revision>)> {
        let row = self.list.selected()?;
        let known = |id: &str| {
            let listed = self
                .history()
                .and_then(|h| h.revisions.iter().find(|r| r.id == id));
            listed
                .or(row.newest.as_ref().filter(|r| r.id == id))
                .cloned()
        };
        let id = match in_revisions {
            true => self.revision_table.selected()?.to_string(),
            false => row.newest_id()?.to_string(),
        };
        Some((Self::revision_ref(row, &id)?, known(&id)))
    }

    fn toggle_watch_of(&mut self, session: &Session, in_revisions: bool) -> Requests {
        let Some(name) = self.list.selected().map(Row::title) else {
            return Requests::none();
        };
        match self.chosen_revision(in_revisions) {
            Some((of, revision)) => self.toggle_watch(session, of, &name, revision.as_ref()),
            None => no_revision(&name),
        }
    }

    fn explain(&self, in_revisions: bool) -> Requests {
        let Some(row) = self.list.selected() else {
            return Requests::none();
        };
        let name = row.title();
        let address = format!("{}/{}", row.profile_name, row.name);
        match self.chosen_revision(in_revisions) {
            Some((of, _)) => Route::Explanation { of, name, address }.into(),
            None => no_revision(&name),
        }
    }

    /// Opens the logs of the marked deployments, of the selected one, or of the selected revision.
    fn logs(&self, kind: LogKind, in_revisions: bool) -> Requests {
        let log_of = |row: &Row, revision: Option<String>| {
            let id = revision.as_deref().map(text::short_id);
            Some(LogRef {
                profile: row.profile_name.clone(),
                name: match id {
                    Some(id) => format!("{} › {id}", row.title()),
                    None => row.title(),
                },
                deployment: row.deployment.as_ref()?.id.clone(),
                revision,
            })
        };
        let marked = &self.list.table.marked;
        if !in_revisions && kind == LogKind::Server && !marked.is_empty() {
            let rows = marked.iter().filter_map(|id| self.list.row(id));
            let of = rows.filter_map(|row| log_of(row, None)).collect();
            return Route::Logs(kind, of).into();
        }
        let Some(row) = self.list.selected() else {
            return Requests::none();
        };
        if kind == LogKind::Build && row.deployment.is_some() && !row.has_builds() {
            return Requests::info(no_build_log(&row.title()));
        }
        let chosen = || Some(self.chosen_revision(in_revisions)?.0.revision.to_string());
        let is_of_revision = in_revisions || kind == LogKind::Build;
        let revision = is_of_revision.then(chosen).flatten();
        if revision.is_none() && kind == LogKind::Build && row.deployment.is_some() {
            return no_revision(&row.title());
        }
        match log_of(row, revision) {
            Some(of) => Route::Logs(kind, vec![of]).into(),
            None => Requests::info(NO_LOGS),
        }
    }

    /// Returns the deployment that a change applies to, with its profile and id; otherwise a notice.
    fn chosen_deployment(&self) -> OrNotice<(&Row, Arc<str>, String)> {
        let Some(row) = self.list.selected() else {
            return Err(Requests::none_selected("deployment"));
        };
        if row.gone {
            return Err(gone(row));
        }
        let Some(id) = row.deployment.as_ref().map(|d| d.id.clone()) else {
            return Err(Requests::error(format!(
                "{} has no control plane.",
                row.name
            )));
        };
        Ok((row, row.profile_name.clone(), id))
    }

    /// Opens the editor for a new deployment of the chosen profile.
    fn create(&self, session: &Session) -> Requests {
        let all = session.profiles.iter().filter(|p| p.control_plane);
        let all: Vec<&Arc<str>> = all.map(|profile| &profile.name).collect();
        let profile = match all.as_slice() {
            [] => {
                let text = "No profile has a control plane.";
                return Requests::error(text);
            }
            [only] if session.is_read_only(only) => {
                return Requests::error(session.read_only_text(only));
            }
            [only] => (*only).clone(),
            // Among several, the profile is a field of the form.
            _ => "".into(),
        };
        let subject = Subject::CreateDeployment { profile };
        Route::Edit(subject, DeploymentSpec::NEW.to_string()).into()
    }

    /// Opens the editor with the current settings of the selected deployment.
    fn update(&self, session: &Session) -> OrNotice<Requests> {
        let (row, profile, id) = self.chosen_deployment()?;
        if session.is_read_only(&profile) {
            return Err(Requests::error(session.read_only_text(&profile)));
        }
        Ok(Route::DeploymentDocument(profile, id.into(), row.name.clone()).into())
    }

    fn delete(&self) -> OrNotice<Requests> {
        let (row, profile, id) = self.chosen_deployment()?;
        let status = row.deployment.as_ref().and_then(|d| d.status.as_deref());
        let force = status.is_some_and(|s| s.starts_with("AWAITING_") && s.ends_with("DELETE"));
        let intent = Intent::DeleteDeployment {
            id,
            delete_tracing_project: false,
            force,
        };
        Ok(Route::change(profile, intent).into())
    }

    /// Starts a change of a deployment or of a revision.
    pub fn change(&self, session: &Session, action: Action, in_revisions: bool) -> Requests {
        let result = match action {
            Action::Create => Ok(self.create(session)),
            Action::Update => self.update(session),
            Action::Delete => self.delete(),
            Action::Rollback if !in_revisions => self.roll_back_newest(),
            action => self.change_revision(action, in_revisions),
        };
        result.unwrap_or_else(|notice| notice)
    }

    fn change_revision(&self, action: Action, in_revisions: bool) -> OrNotice<Requests> {
        self.chosen_deployment()?;
        let Some((of, _)) = self.chosen_revision(in_revisions) else {
            return Err(Requests::none_selected("revision"));
        };
        if action == Action::Rollback && self.serves_as_newest(&of.revision) {
            let id = text::short_id(&of.revision);
            return Err(Requests::info(format!(
                "{id} already serves; nothing would change."
            )));
        }
        let (deployment, revision) = (of.deployment.to_string(), of.revision.to_string());
        let intent = match action {
            Action::Redeploy => Intent::Redeploy {
                deployment,
                revision,
            },
            Action::Interrupt => Intent::Interrupt {
                deployment,
                revision,
            },
            Action::Rollback => Intent::Rollback {
                deployment,
                revision,
                changes_source: false,
            },
            _ => return Ok(Requests::none()),
        };
        Ok(Route::change(of.profile, intent).into())
    }

    /// Returns whether the newest revision of the selected deployment serves, and is this one.
    fn serves_as_newest(&self, id: &str) -> bool {
        let (Some(history), Some(row)) = (self.history(), self.list.selected()) else {
            return false;
        };
        let roles = history.roles(row.deployment.as_ref(), None);
        let newest = history.revisions.first();
        newest.is_some_and(|newest| {
            newest.id == id && roles.of(id, &newest.status) == RevisionRole::Serving
        })
    }

    /// Starts a rollback of the selected deployment to the newest revision that was deployed before its newest one.
    fn roll_back_newest(&self) -> OrNotice<Requests> {
        let (row, profile, id) = self.chosen_deployment()?;
        let listed = self.history().into_iter().flat_map(|h| &h.revisions);
        let mut older = listed.skip(1);
        let Some(good) = older.find(|revision| revision.phase() == Phase::Deployed) else {
            let name = row.title();
            let text = format!("{name} has no earlier deployed revision.");
            return Err(Requests::info(text));
        };
        let intent = Intent::Rollback {
            deployment: id,
            revision: good.id.clone(),
            changes_source: false,
        };
        Ok(Route::change(profile, intent).into())
    }

    /// Sorts by an order, in reverse if it is already the current one.
    fn sort_by(&mut self, order: Order) {
        let sort = self.list.sort();
        let reversed = sort.order == order && !sort.reversed;
        self.list.set_sort(Sort { order, reversed });
    }

    fn act_on_selected(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let Some(row) = self.list.selected().cloned() else {
            return Requests::none_selected("deployment");
        };
        if row.gone && action != Action::Mark {
            return gone(&row);
        }
        match action {
            Action::Mark => {
                self.list.table.toggle_mark();
                self.list.table.step(1);
                Requests::none()
            }
            Action::Watch => self.toggle_watch_of(cx.session, false),
            Action::Explain => self.explain(false),
            Action::ServerLog => self.logs(LogKind::Server, false),
            Action::BuildLog => self.logs(LogKind::Build, false),
            Action::Describe => describe(cx, &row),
            Action::Compare => self.compare_deployments(),
            Action::OpenLink => open_in_browser(cx.session, &row),
            Action::Update
            | Action::Delete
            | Action::Redeploy
            | Action::Rollback
            | Action::Interrupt => self.change(cx.session, action, false),
            Action::Open | Action::Right | Action::NewRun => {
                let Some(server) = row.server(&cx.session.profiles) else {
                    return Requests::error(no_address(cx, &row));
                };
                let mut out: Requests = Route::Server(server).into();
                if action == Action::NewRun {
                    out.push(Route::Compose(Default::default()));
                }
                out
            }
            _ => Requests::none(),
        }
    }
}

/// Shows the record of a deployment, or what an agent server said about itself.
fn describe(cx: &Cx<'_>, row: &Row) -> Requests {
    if let Some(deployment) = &row.deployment {
        let (profile, id) = (row.profile_name.clone(), deployment.id.as_str().into());
        return Route::Record(Described::Deployment(profile, id, row.name.clone())).into();
    }
    let server = row.server(&cx.session.profiles);
    let info = server.and_then(|server| cx.session.infos.get(&server)?.value.as_ref());
    let inspect =
        |info: &ServerInfo| Requests::inspect(format!("agent server {}", row.name), &info.raw);
    info.map(inspect).unwrap_or_default()
}

/// Opens the page of a deployment in LangSmith, else the address of its agent server. Also shows the URL, for machines without a
/// browser.
fn open_in_browser(session: &Session, row: &Row) -> Requests {
    let profile = session
        .catalog
        .in_use()
        .iter()
        .find(|profile| *profile.name == *row.profile_name);
    let control_plane = profile.and_then(|profile| profile.control_plane.as_ref());
    let page = row.deployment.as_ref().and_then(|deployment| {
        deployment_page(
            control_plane?,
            deployment.workspace.as_deref()?,
            &deployment.id,
        )
        .map(String::from)
    });
    match page.or_else(|| row.url.clone()) {
        Some(page) => {
            Requests::info(format!("Opening {}", text::clean(&page))).and(Effect::OpenLink(page))
        }
        None => Requests::error(format!("{} reports no workspace or URL to open.", row.name)),
    }
}

/// Returns why a deployment has no agent server to open.
fn no_address(cx: &Cx<'_>, row: &Row) -> String {
    let why = match row.state().meaning(false) {
        Some(meaning) => meaning.to_string(),
        None if row.live() == Live::Unknown => "The first deployed revision sets one.".into(),
        None => format!(
            "{} shows its record.",
            cx.session.key("deployments.details")
        ),
    };
    format!(
        "{} has no agent server: no `url` or `source_config.custom_url`. {why}",
        row.name
    )
}

impl Component for ListPane<'_> {
    fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        self.0.on_event(session, from, event)
    }

    fn context(&self) -> Context {
        Context::Deployments
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let list = &mut self.0.list;
        match action {
            Action::Sort => {
                let order = list.sort().order.next();
                let reversed = false;
                list.set_sort(Sort { order, reversed });
                return Requests::info(format!("Sorted {}.", order.word()));
            }
            Action::Create => return self.0.change(cx.session, action, false),
            Action::ReverseSort => {
                let sort = list.sort();
                list.set_sort(Sort {
                    reversed: !sort.reversed,
                    ..sort
                });
            }
            _ => return self.0.act_on_selected(cx, action),
        }
        Requests::none()
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.0.list.table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.0.list.table)
    }

    fn click(&mut self, cx: &Cx<'_>, x: u16, y: u16) -> Requests {
        match y.checked_sub(LIST_HEAD) {
            Some(line) => self.0.list.table.click(Some(line)),
            // A click on a column header sorts by it.
            None => {
                let column = x.checked_sub(GUTTER).map(usize::from);
                let column = column.and_then(|x| self.0.columns(cx).at(x));
                if let Some(order) = column.and_then(Order::of_column) {
                    self.0.sort_by(order);
                }
            }
        }
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        self.0.list.selected().map(|r| match &r.deployment {
            Some(d) => d.id.clone(),
            None => r.url.clone().unwrap_or_default(),
        })
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        let list = &mut self.0.list;
        let is_changed = list.set_filter("") || list.table.clear();
        is_changed.then(Requests::none)
    }

    fn filter(&self) -> Option<&str> {
        Some(self.0.list.filter().text())
    }

    fn set_filter(&mut self, text: &str) {
        if self.0.list.set_filter(text) {
            // The best matches are at the top.
            self.0.list.table.deselect();
        }
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        self.0.view_list(cx, canvas);
        None
    }
}

impl Component for RevisionsPane<'_> {
    fn context(&self) -> Context {
        Context::Revisions
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let deployments = &mut *self.0;
        match action {
            Action::Describe => {
                let id = deployments.revision_table.selected();
                let of = deployments
                    .list
                    .selected()
                    .and_then(|row| Deployments::revision_ref(row, id?));
                of.map(|of| Route::Record(Described::Revision(of)).into())
                    .unwrap_or_default()
            }
            Action::Redeploy | Action::Interrupt | Action::Rollback => {
                deployments.change(cx.session, action, true)
            }
            Action::Explain => deployments.explain(true),
            Action::Watch => deployments.toggle_watch_of(cx.session, true),
            Action::Mark => deployments.mark_revision(),
            Action::Compare => deployments.compare_revisions(true),
            Action::OpenLink => deployments
                .list
                .selected()
                .map(|row| open_in_browser(cx.session, row))
                .unwrap_or_default(),
            Action::BuildLog => deployments.logs(LogKind::Build, true),
            Action::ServerLog => deployments.logs(LogKind::Server, true),
            _ => Requests::none(),
        }
    }

    fn table(&self) -> Option<&Table> {
        Some(&self.0.revision_table)
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        Some(&mut self.0.revision_table)
    }

    fn copied(&mut self) -> Option<String> {
        self.selected_id().map(str::to_string)
    }

    // The filter applies to the list of deployments beside it.
    fn filter(&self) -> Option<&str> {
        Some(self.0.list.filter().text())
    }

    fn set_filter(&mut self, text: &str) {
        ListPane(self.0).set_filter(text);
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        self.0.view_revisions(cx, canvas, false);
        None
    }
}
