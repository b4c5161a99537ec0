//! The Runs view, and one run shown alone in all views.

use crate::cursor_sync::viewer;
use runtail_stream::Seq;
use runtail_tui::features::stream::viewer::Viewer;
use runtail_tui::features::stream::views::View;

/// Returns the events of a run: its start, two steps, and its end.
fn run(id: &str, is_over: bool) -> String {
    let mut body = format!(
        "event: metadata\ndata: {{\"run_id\":\"{id}\",\"attempt\":1}}\n\n\
         event: updates\ndata: {{\"first\":{{\"of\":\"{id}\"}}}}\n\n\
         event: updates\ndata: {{\"second\":{{\"of\":\"{id}\"}}}}\n\n"
    );
    if is_over {
        body +=
            &format!("event: metadata\ndata: {{\"run_id\":\"{id}\",\"status\":\"run_done\"}}\n\n");
    }
    body
}

/// Returns a page with three runs, of which the last one never ended.
fn page() -> Viewer {
    let runs = [("run-a", true), ("run-b", true), ("run-c", false)];
    let body: String = runs.iter().map(|(id, is_over)| run(id, *is_over)).collect();
    viewer(body.into_bytes())
}

fn lines(viewer: &mut Viewer, view: View) -> Vec<String> {
    viewer.show(view);
    viewer.prepare(&[(view, 120, 30)]);
    viewer
        .window(view)
        .iter()
        .map(|(line, _)| line.text())
        .collect()
}

#[test]
fn runs_are_rows_and_the_newest_is_first() {
    let mut viewer = page();
    let rows = lines(&mut viewer, View::Runs);
    assert_eq!(rows.len(), 3, "{rows:#?}");
    assert!(
        rows[0].contains("3 here  ◐ running"),
        "a run that never ended: {rows:#?}"
    );
    assert!(rows[2].contains("1 here"), "{rows:#?}");
}

#[test]
fn one_run_is_shown_alone_in_all_views() {
    let mut viewer = page();
    let updates = |viewer: &mut Viewer| lines(viewer, View::Steps).len();
    assert_eq!(updates(&mut viewer), 6);
    viewer.show_only_run(Some("run-b".into()));
    assert_eq!(updates(&mut viewer), 2);
    assert_eq!(viewer.only_run_name().as_deref(), Some("run 2 here of 3"));
    for view in [View::Messages, View::State, View::Timeline, View::Events] {
        lines(&mut viewer, view);
        let at = viewer.anchor().map(|Seq(at)| at);
        assert!(
            at.is_some_and(|at| (5..=8).contains(&at)),
            "{view:?}: {at:?}"
        );
        viewer.to_start();
        viewer.step(-3, false);
    }
    assert!(
        lines(&mut viewer, View::Events)
            .iter()
            .all(|line| !line.contains("run-a"))
    );
    viewer.filter("second");
    assert_eq!(updates(&mut viewer), 1, "the filter applies within the run");
    viewer.filter("");
    assert!(viewer.show_other_run(true) && !viewer.show_other_run(true));
    assert_eq!(updates(&mut viewer), 2);
    assert!(viewer.follows(), "the newest run goes on");
    assert!(viewer.clear_find() && viewer.only_run().is_none() && !viewer.clear_find());
    assert_eq!(updates(&mut viewer), 6);
}

#[test]
fn two_hundred_runs_are_rows() {
    let body: String = (0..200)
        .map(|at| run(&format!("run-{at:03}"), true))
        .collect();
    let mut viewer = viewer(body.into_bytes());
    let rows = lines(&mut viewer, View::Runs);
    assert_eq!(
        (rows.len(), viewer.count(View::Runs)),
        (29, 200),
        "a row is the head"
    );
    viewer.show_only_run(Some("run-007".into()));
    assert_eq!(lines(&mut viewer, View::Steps).len(), 2);
}
