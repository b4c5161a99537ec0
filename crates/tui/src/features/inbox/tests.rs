use super::page::InboxPage;
use super::rows::Entry;
use super::view::layout;
use crate::input::keymap::Keymap;
use crate::session::inbox::table::columns;
use crate::session::inbox::{Counts, Inbox, PageStatus, ProfileServers};
use crate::session::msg::{ServerRef, ThreadRef};
use crate::session::{Component, Cx, Session, Settings};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::theme::Theme;
use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use runtail_api::{ApiError, Kind, ServerInbox};
use runtail_core::config::NotifyWhen;
use runtail_core::config::theme::Themes;
use runtail_core::model::{
    InboxCause, InboxItem, InboxThread, Question, StuckSign, ThreadFacts, ThreadStatus,
};

fn server(name: &str) -> ServerRef {
    ServerRef {
        profile: "eu".into(),
        name: name.into(),
        url: format!("http://{name}.example/").into(),
    }
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
}

fn question(id: &str) -> Question {
    Question {
        id: Some(id.into()),
        value: "Send it?".into(),
        ..Question::default()
    }
}

fn asking(id: &str, question_id: &str, minute: i64) -> InboxThread {
    InboxThread {
        thread_id: id.into(),
        cause: Some(InboxCause::Question),
        since: Some(at(minute)),
        questions: vec![question(question_id)],
        ..InboxThread::default()
    }
}

fn failed(id: &str, minute: i64) -> InboxThread {
    InboxThread {
        cause: Some(InboxCause::Error),
        questions: Vec::new(),
        ..asking(id, "", minute)
    }
}

fn inbox(servers: &[&str]) -> Inbox {
    let mut inbox = Inbox::default();
    let servers = servers.iter().map(|name| (false, server(name))).collect();
    inbox.set_servers(vec![ProfileServers {
        profile: "eu".into(),
        region: Some("eu".into()),
        servers,
        unknown: None,
    }]);
    inbox
}

fn listing(threads: Vec<InboxThread>) -> Result<ServerInbox, ApiError> {
    Ok(ServerInbox {
        threads,
        ..ServerInbox::default()
    })
}

fn refused() -> ApiError {
    ApiError {
        kind: Kind::Server(503),
        at: Default::default(),
        detail: String::new(),
        hint: None,
    }
}

/// The events of an answer: what each is about, and its thread.
fn read(inbox: &mut Inbox, minute: i64, threads: Vec<InboxThread>) -> Vec<(NotifyWhen, String)> {
    let news = inbox.on_read(
        &server("bot"),
        (at(minute), at(minute)),
        listing(threads),
        &[],
    );
    news.into_iter()
        .map(|news| (news.when, news.thread.unwrap().id))
        .collect()
}

fn ids(inbox: &Inbox) -> Vec<String> {
    inbox
        .listing()
        .rows
        .iter()
        .map(|row| row.key.rsplit(' ').next().unwrap().to_string())
        .collect()
}

#[test]
fn each_event_is_new_once_and_earlier_ones_are_not() {
    let mut inbox = inbox(&["bot"]);
    assert_eq!(
        read(&mut inbox, 0, vec![asking("a", "q1", 0), failed("b", 0)]),
        []
    );
    assert_eq!(
        read(
            &mut inbox,
            1,
            vec![asking("a", "q1", 0), failed("b", 0), failed("c", 1)]
        ),
        [(NotifyWhen::Failed, "c".to_string())]
    );
    assert_eq!(
        read(&mut inbox, 2, vec![asking("a", "q1", 0), failed("c", 1)]),
        []
    );
    // It was answered and asks something else.
    assert_eq!(
        read(&mut inbox, 3, vec![asking("a", "q2", 3)]),
        [(NotifyWhen::Waiting, "a".to_string())]
    );
    // It no longer waited at one poll, so the next time is another one.
    assert_eq!(read(&mut inbox, 4, vec![]), []);
    assert_eq!(
        read(&mut inbox, 5, vec![asking("a", "q2", 5)]),
        [(NotifyWhen::Waiting, "a".to_string())]
    );
    // What a person stopped is no event.
    let cancelled = InboxThread {
        cause: Some(InboxCause::Cancelled),
        ..failed("d", 6)
    };
    assert_eq!(
        read(&mut inbox, 6, vec![asking("a", "q2", 5), cancelled]),
        []
    );
    assert_eq!(
        inbox.tally().counts,
        Counts {
            waiting: 1,
            unfinished: 1,
            ..Counts::default()
        },
        "nobody waits for an answer to a cancelled run"
    );
}

#[test]
fn a_failed_first_answer_makes_nothing_news() {
    let mut inbox = inbox(&["bot"]);
    let partial = ServerInbox {
        threads: vec![asking("a", "q", 0)],
        failures: vec![refused()],
        ..ServerInbox::default()
    };
    assert_eq!(
        inbox.on_read(&server("bot"), (at(0), at(0)), Ok(partial), &[]),
        []
    );
    assert_eq!(
        read(&mut inbox, 1, vec![asking("a", "q", 0), failed("old", -60)]),
        []
    );
    assert_eq!(
        read(&mut inbox, 2, vec![failed("new", 2)]),
        [(NotifyWhen::Failed, "new".to_string())]
    );
}

#[test]
fn rows_of_a_server_that_fails_later_stay_with_their_time() {
    let mut inbox = inbox(&["bot", "other"]);
    read(&mut inbox, 0, vec![asking("a", "q", 0), failed("b", 0)]);
    inbox.on_read(&server("other"), (at(0), at(0)), Err(refused()), &[]);
    // One of the searches failed: what it listed is confirmed.
    let partial = ServerInbox {
        threads: vec![asking("a", "q", 0)],
        failures: vec![refused()],
        ..ServerInbox::default()
    };
    inbox.on_read(&server("bot"), (at(1), at(1)), Ok(partial), &[]);
    let stale: Vec<_> = inbox.listing().rows.iter().map(|row| row.as_of).collect();
    assert_eq!(
        (ids(&inbox), stale),
        (vec!["a".into(), "b".into()], vec![None, Some(at(0))])
    );
    inbox.on_read(&server("bot"), (at(2), at(2)), Err(refused()), &[]);
    assert!(
        inbox
            .listing()
            .rows
            .iter()
            .all(|row| row.as_of == Some(at(0))),
        "{:#?}",
        inbox.listing()
    );
    assert_eq!(
        inbox.listing().failed.len(),
        1,
        "both servers failed alike, so their profile is named"
    );
    read(&mut inbox, 3, vec![]);
    assert_eq!(ids(&inbox), [""; 0]);
}

#[test]
fn a_failed_answer_keeps_the_number_of_busy_threads() {
    let mut inbox = inbox(&["bot"]);
    let busy = ServerInbox {
        busy: 3,
        ..ServerInbox::default()
    };
    inbox.on_read(&server("bot"), (at(0), at(0)), Ok(busy), &[]);
    inbox.on_read(&server("bot"), (at(1), at(1)), Err(refused()), &[]);
    assert_eq!(inbox.counts_of(&server("bot")).0, 3);
    read(&mut inbox, 2, vec![]);
    assert_eq!(inbox.counts_of(&server("bot")).0, 0);
}

#[test]
fn a_list_that_a_limit_cut_says_nothing_about_other_threads() {
    let mut inbox = inbox(&["bot"]);
    let lists = |inbox: &Inbox, id: &str| {
        inbox.lists(&ThreadRef {
            server: server("bot"),
            id: id.into(),
        })
    };
    let cut = ServerInbox {
        threads: vec![asking("a", "q", 0)],
        limits: vec!["only the newest threads are listed".into()],
        ..ServerInbox::default()
    };
    inbox.on_read(&server("bot"), (at(0), at(0)), Ok(cut), &[]);
    assert_eq!(lists(&inbox, "b"), None);
    read(&mut inbox, 1, vec![asking("a", "q", 0)]);
    assert_eq!(
        (lists(&inbox, "a"), lists(&inbox, "b")),
        (Some(true), Some(false))
    );
}

/// The open page of thread a with a status.
fn page_of(status: &ThreadStatus) -> PageStatus<'_> {
    PageStatus {
        stream: 1,
        thread: ThreadRef {
            server: server("bot"),
            id: "a".into(),
        },
        facts: ThreadFacts::default(),
        status,
        stuck: None,
        region: Some("eu".into()),
    }
}

#[test]
fn an_open_page_keeps_what_only_the_list_knows() {
    let mut inbox = inbox(&["bot"]);
    let listed = InboxThread {
        graph: Some("support".into()),
        owner: Some("lea".into()),
        ..asking("a", "q", 0)
    };
    read(&mut inbox, 0, vec![listed]);
    let status = ThreadStatus::Waiting {
        since: Some(at(1)),
        questions: vec![question("q2")],
    };
    inbox.on_page(page_of(&status), at(1));
    let InboxItem::Thread(row) = &inbox.listing().rows[0].row.item else {
        panic!("{:?}", inbox.listing())
    };
    assert_eq!(row.since, Some(at(1)));
    assert_eq!(
        (row.graph.as_deref(), row.owner.as_deref()),
        (Some("support"), Some("lea"))
    );
}

#[test]
fn an_open_page_and_the_list_make_one_event() {
    let mut inbox = inbox(&["bot"]);
    read(&mut inbox, 0, vec![]);
    let mut page = |status: &ThreadStatus, minute: i64| {
        let news = inbox.on_page(page_of(status), at(minute));
        news.map(|news| news.when)
    };
    let running = ThreadStatus::Running {
        since: None,
        nodes: vec![],
        step: None,
        run_id: None,
        queued: 0,
    };
    let waiting = ThreadStatus::Waiting {
        since: Some(at(2)),
        questions: vec![question("q")],
    };
    assert_eq!(page(&running, 1), None);
    assert_eq!(page(&waiting, 2), Some(NotifyWhen::Waiting));
    assert_eq!(page(&waiting, 2), None);
    assert_eq!(page(&running, 3), None);
    assert_eq!(
        page(
            &ThreadStatus::Idle {
                ended: None,
                began: None
            },
            4
        ),
        Some(NotifyWhen::Finished)
    );
    assert_eq!(page(&running, 5), None);
    assert_eq!(page(&waiting, 6), Some(NotifyWhen::Waiting));
    assert_eq!(ids(&inbox), ["a"], "the page is newer than the list");
    // A poll that began before the question was asked doesn't know it yet, and doesn't make it news again.
    let early = inbox.on_read(&server("bot"), (at(5), at(7)), listing(vec![]), &[]);
    assert_eq!(early, []);
    assert_eq!(read(&mut inbox, 8, vec![asking("a", "q", 6)]), []);
}

#[test]
fn a_stuck_page_is_news_once_even_if_the_list_does_not_know_it() {
    let mut inbox = inbox(&["bot"]);
    read(&mut inbox, 0, vec![]);
    let status = ThreadStatus::Running {
        since: None,
        nodes: vec![],
        step: None,
        run_id: None,
        queued: 0,
    };
    let page = || page_of(&status);
    let sign = StuckSign::Attempt {
        run_id: None,
        number: 3,
    };
    assert!(inbox.on_page(page(), at(1)).is_none());
    assert!(!inbox.was_stuck(1) && inbox.tally().counts == Counts::default());
    inbox.set_stuck(&PageStatus {
        stuck: Some(sign.clone()),
        ..page()
    });
    assert!(inbox.was_stuck(1));
    assert_eq!(
        inbox.tally().counts,
        Counts {
            stuck: 1,
            ..Counts::default()
        },
        "its run is active, and needs a person"
    );
    inbox.set_stuck(&page());
    assert_eq!(inbox.tally().counts, Counts::default(), "an event came");
    assert_eq!(
        inbox
            .on_stuck_page(&page(), &sign, at(1))
            .map(|news| news.when),
        Some(NotifyWhen::Stuck)
    );
    read(&mut inbox, 2, vec![]);
    assert_eq!(inbox.on_stuck_page(&page(), &sign, at(3)), None);
    let stuck = InboxThread {
        cause: Some(InboxCause::Stuck),
        ..failed("a", 3)
    };
    assert_eq!(read(&mut inbox, 4, vec![stuck]), []);
}

#[test]
fn servers_that_are_shared_or_too_many_are_read_within_limits() {
    let mut inbox = Inbox::default();
    let same = ServerRef {
        url: "http://bot.example".into(),
        ..server("bot")
    };
    let many = (0..crate::session::inbox::MAX_SERVERS + 5).map(|n| server(&format!("s{n}")));
    let servers = many
        .chain([server("bot"), same])
        .map(|server| (false, server))
        .collect();
    inbox.set_servers(vec![ProfileServers {
        profile: "eu".into(),
        region: Some("eu".into()),
        servers,
        unknown: None,
    }]);
    let (_, read) = inbox.servers().next().unwrap();
    assert_eq!(read.len(), crate::session::inbox::MAX_SERVERS);
    assert_eq!(
        inbox.listing().limits,
        ["eu: 6 more servers not checked (limit 200)"]
    );
}

#[test]
fn new_rows_join_at_the_end_of_their_group_once_the_cursor_was_moved() {
    let mut inbox = inbox(&["bot", "other"]);
    read(&mut inbox, 0, vec![asking("b", "q", 10), failed("f", 5)]);
    let mut page = InboxPage::new(inbox.listing().clone());
    let shown = |page: &InboxPage| -> Vec<String> {
        page.rows
            .all()
            .iter()
            .map(|row| row.key.rsplit(' ').next().unwrap().to_string())
            .collect()
    };
    assert_eq!(shown(&page), ["b", "f"]);
    let older = listing(vec![asking("a", "q", 1), failed("e", 1)]);
    inbox.on_read(&server("other"), (at(0), at(0)), older, &[]);
    let mut untouched = page.clone();
    untouched.update_listing(inbox.listing());
    assert_eq!(shown(&untouched), ["a", "b", "f", "e"]);
    page.touch();
    page.update_listing(inbox.listing());
    assert_eq!(shown(&page), ["b", "a", "f", "e"]);
    // Opened again, they are sorted.
    assert_eq!(
        shown(&page.reopened(inbox.listing().clone())),
        ["a", "b", "f", "e"]
    );
}

#[test]
fn the_layout_fits_every_size() {
    for w in 60..220 {
        let columns = columns(w, false);
        let widths: Vec<usize> = (0..6).map(|n| columns.width(n)).collect();
        let shown = widths.iter().filter(|width| **width > 0).count();
        assert!(
            widths.iter().sum::<usize>() + 2 * (shown - 1) <= w,
            "{w}: {columns:?}"
        );
        assert!(columns.width(4) >= 8, "{w}: {columns:?}");
        for h in 12..80 {
            assert!(
                layout((w as u16, h)).fits(w as u16, h),
                "{w}x{h}: {:?}",
                layout((w as u16, h))
            );
        }
    }
}

/// A page of 10,000 threads of one server, and the settings that it is drawn with.
fn crowded(causes: usize) -> (InboxPage, Session) {
    let mut inbox = inbox(&["bot"]);
    let thread = |n: usize| InboxThread {
        detail: format!("Error {}", n % causes),
        ..failed(&format!("t{n}"), n as i64)
    };
    read(&mut inbox, 0, (0..10_000).map(thread).collect());
    let settings = Settings {
        demo: false,
        ascii: false,
        tz: jiff::tz::TimeZone::UTC,
        event_log: Default::default(),
        keys: Default::default(),
        warnings: Vec::new(),
    };
    let session = Session::new(
        settings,
        Keymap::default(),
        Vec::new(),
        (140, 40),
        at(10_000),
    );
    (InboxPage::new(inbox.listing().clone()), session)
}

/// Lays out and draws a frame. Returns how many rows were visited for it.
fn frame(page: &mut InboxPage, session: &Session) -> usize {
    page.rows.visited.set(0);
    let area = Area {
        x: 0,
        y: 0,
        w: 140,
        h: 40,
    };
    let cx = Cx {
        session,
        area,
        is_focused: true,
        is_shown: true,
        is_frozen: false,
        is_seen: true,
    };
    page.relayout(&cx);
    let _ = page.on_tick(&cx);
    page.next_tick(&cx);
    let themes = Themes::default();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 140, 40));
    let theme = Theme::default().paint(&themes, "default");
    page.view(
        &cx,
        &mut Canvas {
            buffer: &mut buffer,
            theme,
        },
    );
    page.rows.visited.get()
}

#[test]
fn a_frame_visits_the_visible_rows_only() {
    for causes in [1, 2_000, 10_000] {
        let (mut page, session) = crowded(causes);
        assert!(
            page.rows.visited.get() <= 20_000,
            "{causes}: {}",
            page.rows.visited.get()
        );
        assert_eq!(
            page.rows.len(),
            if causes == 10_000 { 10_000 } else { causes }
        );
        frame(&mut page, &session);
        for open in [false, true] {
            if let Some(entry) = page.selected().filter(|_| open) {
                page.rows.set_open(entry, true, &mut page.table);
                frame(&mut page, &session);
            }
            for step in [1, 500, isize::MAX / 2, -300] {
                page.table.step(step);
                let visited = frame(&mut page, &session);
                assert!(
                    visited <= 400,
                    "{causes} causes: {visited} rows for a frame"
                );
            }
        }
    }
}

#[test]
fn a_group_counts_its_threads_and_unfolds() {
    let (mut page, session) = crowded(2);
    frame(&mut page, &session);
    assert_eq!((page.rows.len(), page.listing().counts.failed), (2, 10_000));
    let group = page.selected().unwrap();
    // Failures are newest first.
    assert!(page.rows.row(group).key.ends_with("t9999"));
    page.rows.set_open(group, true, &mut page.table);
    frame(&mut page, &session);
    assert_eq!(page.rows.len(), 5_002);
    page.table.step(3);
    let thread = page.focused().unwrap().key.clone();
    // A thread in a group that is folded is selected as its group.
    page.rows.set_open(group, false, &mut page.table);
    frame(&mut page, &session);
    assert_eq!((page.selected(), page.rows.len()), (Some(group), 2));
    // A search finds it.
    page.table.filter = thread.rsplit(' ').next().unwrap().into();
    frame(&mut page, &session);
    assert_eq!((page.rows.len(), page.rows.matches), (1, 1));
    assert_eq!(page.focused().map(|row| &row.key), Some(&thread));
}

#[test]
fn the_cursor_stays_on_its_thread_when_groups_form_and_dissolve() {
    let mut inbox = inbox(&["bot"]);
    let error = |id: &str, detail: &str, minute: i64| InboxThread {
        detail: detail.into(),
        ..failed(id, minute)
    };
    let (_, session) = crowded(1);
    read(
        &mut inbox,
        0,
        vec![error("a", "x", 9), error("b", "y", 8), error("c", "z", 7)],
    );
    let mut page = InboxPage::new(inbox.listing().clone());
    frame(&mut page, &session);
    page.table.step(1);
    page.touch();
    let mut selected = |page: &mut InboxPage, threads: Vec<InboxThread>| {
        read(&mut inbox, 1, threads);
        page.update_listing(inbox.listing());
        frame(page, &session);
        let row = page
            .focused()
            .unwrap()
            .key
            .rsplit(' ')
            .next()
            .unwrap()
            .to_string();
        (matches!(page.selected(), Some(Entry::Group(_))), row)
    };
    let (a, b, c) = (error("a", "x", 9), error("b", "y", 8), error("c", "y", 7));
    // c fails of the same cause as b now.
    assert_eq!(
        selected(&mut page, vec![a.clone(), b, c.clone()]),
        (true, "b".into())
    );
    // b is gone, so c is no group.
    assert_eq!(selected(&mut page, vec![a, c]), (false, "c".into()));
}

#[test]
fn one_thread_id_on_two_servers_is_two_threads() {
    let mut inbox = inbox(&["bot", "other"]);
    read(&mut inbox, 0, vec![failed("a", 1), failed("b", 1)]);
    inbox.on_read(
        &server("other"),
        (at(0), at(0)),
        listing(vec![failed("a", 1)]),
        &[],
    );
    let page = InboxPage::new(inbox.listing().clone());
    assert_eq!(
        (page.rows.all().len(), page.rows.len()),
        (3, 2),
        "a group of bot, and a thread of other"
    );
}
