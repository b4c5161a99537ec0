//! The actions of the log view, and the logs that it polls.

use super::state::{LogSource, LogView};
use super::view;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    Epoch, LogRef, NO_LOGS, Pace, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::{Component, Cx, Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use runtail_api::{LogKind, LogScope};

/// Lines above the rows: the title, the status line, and an empty line.
pub(super) const HEAD: u16 = 3;
/// Maximum logs in one view, because each one is polled every few seconds.
const MAX_LOGS: usize = 16;

impl LogView {
    /// Opens logs in one view. Also returns a notice if some are left out.
    ///
    /// # Errors
    /// There is no log to show.
    pub fn open(
        session: &Session,
        kind: LogKind,
        mut of: Vec<LogRef>,
    ) -> Result<(LogView, Option<String>), &'static str> {
        if of.is_empty() {
            return Err(NO_LOGS);
        }
        let notice = (of.len() > MAX_LOGS)
            .then(|| format!("Showing the first {MAX_LOGS} marked deployments."));
        of.truncate(MAX_LOGS);
        let source = |LogRef {
                          profile,
                          name,
                          deployment,
                          revision,
                      }| LogSource {
            profile,
            name,
            scope: LogScope {
                deployment,
                revision,
                kind,
            },
            revision: None,
            loaded_at: None,
            error: None,
        };
        let mut view = LogView::new(
            session.next_stream.take(),
            kind,
            of.into_iter().map(source).collect(),
        );
        view.adjust_clocks(session);
        Ok((view, notice))
    }

    /// Applies the clock offset of each server, so that lines of several servers are sorted by one clock.
    pub fn adjust_clocks(&mut self, session: &Session) {
        for n in 0..self.sources.len() {
            let skew = session
                .profile(&self.sources[n].profile)
                .map(|profile| profile.skew)
                .unwrap_or_default();
            self.set_skew(n, skew);
        }
    }

    /// Requests the logs again, after a change of the requested lines.
    pub fn reread(&mut self, session: &Session, change: impl FnOnce(&mut LogView)) {
        *self = self.again(session.next_stream.take());
        change(self);
        let kind = self.kind;
        self.sources
            .iter_mut()
            .for_each(|source| source.scope.kind = kind);
    }

    /// Inspects the line under the cursor with all its fields.
    fn inspect(&self) -> Requests {
        let Some(line) = self.under_cursor().map(|entry| entry.line.clone()) else {
            return Requests::none();
        };
        let mut fields = line.extra.map(|extra| *extra).unwrap_or_default();
        fields.insert("timestamp".into(), line.at.map(|at| at.to_string()).into());
        fields.insert("level".into(), line.level.as_deref().into());
        fields.insert("message".into(), (*line.message).into());
        Requests::inspect("log line".into(), &fields)
    }
}

fn height(area: Area) -> usize {
    area.h.saturating_sub(HEAD).into()
}

impl Component for LogView {
    fn on_event(
        &mut self,
        session: &mut Session,
        from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        if let (SubscriptionId::Log(_, source), SubscriptionEvent::Lines { lines, incomplete }) =
            (from, event)
        {
            if let Err(error) = &lines {
                session.report_error(error);
            }
            self.take(source, lines, session.now);
            self.note_incomplete(source, incomplete);
        }
        Requests::none()
    }

    fn context(&self) -> Context {
        Context::Logs
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Open | Action::Right => return self.inspect(),
            Action::Level => self.reread(cx.session, LogView::next_level),
            Action::Window => self.reread(cx.session, LogView::next_minutes),
            Action::BuildLog => self.reread(cx.session, |logs| logs.kind = LogKind::Build),
            Action::ServerLog => self.reread(cx.session, |logs| logs.kind = LogKind::Server),
            _ => {}
        }
        Requests::none()
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(Context::Logs)
            .enable_if(!self.place.follow, &["logs.follow"])
            .footer(&["logs.follow", "logs.filter", "logs.level", "logs.window"])
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, whole_window: bool) {
        let rows = self.rows();
        match whole_window {
            true => self.place.page(&rows, height(cx.area), lines),
            false => self.place.step(&rows, height(cx.area), lines),
        }
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let rows = self.rows();
        match start {
            true => self.place.to_start(&rows, height(cx.area)),
            false => self.place.to_end(&rows, height(cx.area), true),
        }
    }

    fn click(&mut self, cx: &Cx<'_>, _x: u16, y: u16) -> Requests {
        if let Some(row) = y.checked_sub(HEAD) {
            let by = self.place.top.key as isize + isize::from(row as i16)
                - self.place.cursor.key as isize;
            self.step(cx, by, false);
        }
        Requests::none()
    }

    fn copied(&mut self) -> Option<String> {
        self.under_cursor()
            .map(|entry| entry.line.message.to_string())
    }

    fn back(&mut self, _quit: bool) -> Option<Requests> {
        let is_filtered = !LogView::filter(self).text().is_empty();
        is_filtered.then(|| {
            LogView::set_filter(self, "");
            Requests::none()
        })
    }

    fn filter(&self) -> Option<&str> {
        Some(LogView::filter(self).text())
    }

    fn set_filter(&mut self, text: &str) {
        LogView::set_filter(self, text);
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.clamp(height(cx.area));
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        for (n, source) in self
            .sources
            .iter()
            .enumerate()
            .filter(|(_, source)| cx.session.may_poll(&source.profile))
        {
            if self.is_read_to_its_end(cx, n) {
                continue;
            }
            let filter = self.log_filter(cx.session.server_time(&source.profile));
            let what = SubscriptionKind::Log(source.profile.clone(), source.scope.clone(), filter);
            let mut log =
                Subscription::new(SubscriptionId::Log(self.number, n), Epoch::default(), what);
            // A log hidden by another pane is polled slowly.
            log.params.pace = if cx.is_shown {
                cx.session.pace(false)
            } else {
                Pace::Slow
            };
            out.push(log);
        }
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::draw(self, cx, canvas);
        None
    }
}
