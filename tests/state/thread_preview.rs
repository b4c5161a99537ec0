//! The selected thread below a wide list of threads: what is read of it, and what is shown of its record.

use crate::inbox_details::{read, tick};
use runtail_api::Kind;
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::session::msg::{EffectResult, InboxTarget, RowDetail};

fn opened(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_server();
    dash.screen();
    dash
}

fn message() -> RowDetail {
    RowDetail { title: "last message".into(), rows: vec![("ai · draft".into(), "Shall I send 5 EUR?".into())] }
}

#[test]
fn the_selected_thread_is_read_once_it_stays_selected() {
    let mut dash = opened((140, 40));
    dash.keys("<Home>");
    assert_eq!(read(&tick(&mut dash, 100)), None, "the row is not selected for long enough");
    dash.keys("<Down>");
    assert_eq!(read(&tick(&mut dash, 100)), None);
    assert!(dash.app.next_tick().is_some_and(|after| after.as_millis() <= 50));
    let of = read(&tick(&mut dash, 100)).expect("the thread is read");
    assert!(matches!(&of, InboxTarget::Thread(thread) if thread.id.ends_with("715e")), "{of:?}");
    assert_eq!(read(&tick(&mut dash, 1000)), None, "it is read once");
    dash.done(EffectResult::RowRead(of, Ok(message())));
    insta::assert_snapshot!("thread_preview_waiting_140x40", dash.screen());
    assert_eq!(read(&tick(&mut dash, 1000)), None);
    // The failed thread is above it, with its whole error.
    dash.keys("<Up>");
    insta::assert_snapshot!("thread_preview_failed_140x40", dash.screen());
    let of = read(&tick(&mut dash, 200)).expect("the thread is read");
    let error = dash.error("prod-us", Kind::Timeout);
    dash.done(EffectResult::RowRead(of, Err(error)));
    assert!(dash.screen().contains("── the details couldn't be read (timeout) ──"), "{}", dash.screen());
}

#[test]
fn small_terminals_other_lists_and_dialogs_have_no_preview() {
    for size in [(80, 24), (139, 40), (140, 20)] {
        let mut dash = opened(size);
        assert_eq!(read(&tick(&mut dash, 1000)), None, "{size:?}");
        assert!(!dash.screen().contains("changed "), "{}", dash.screen());
    }
    let mut dash = opened((140, 40));
    dash.keys("2");
    assert_eq!(read(&tick(&mut dash, 1000)), None);
    dash.keys("1?");
    assert_eq!(read(&tick(&mut dash, 1000)), None, "the help covers the list");
    dash.keys("<Esc>");
    assert!(read(&tick(&mut dash, 1000)).is_some());
}

#[test]
fn the_keys_of_the_preview_write_only_where_writing_is_allowed() {
    let mut dash = opened((140, 40));
    dash.keys("<Home><Down>");
    assert!(dash.screen().contains("a answer   ⏎ open the thread"), "{}", dash.screen());
    dash.keys("<Home>");
    assert!(dash.screen().contains("e explain   R retry   ⏎ open the thread"), "{}", dash.screen());
    dash.seal();
    assert!(dash.screen().contains("e explain   ⏎ open the thread"), "{}", dash.screen());
}
