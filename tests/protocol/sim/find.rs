//! Searches over the pages of a simulated server, while its threads change.

use crate::sim::world;
use runtail_api::{AgentServer, Http, Kind};
use runtail_core::config::Profile;
use runtail_core::model::{ThreadSearch, ThreadSort};
use runtail_sim::{Options, Scenario};
use std::collections::BTreeSet;

fn search(text: &str) -> ThreadSearch {
    ThreadSearch::parse(text).unwrap()
}

async fn server(scenario: Scenario) -> (impl Sized, AgentServer) {
    let world = world(Options {
        scenario,
        ..Options::default()
    })
    .await;
    let url = world.sim.agents()[0].url.parse().unwrap();
    (
        world,
        AgentServer::new(Http::new(&Profile::default()).unwrap(), url),
    )
}

#[tokio::test]
async fn pages_cover_all_threads() {
    let (_world, server) = server(Scenario::Threads { threads: 730 }).await;
    let (mut seen, mut offset, mut pages) = (BTreeSet::new(), 0, 0);
    loop {
        let page = server
            .find_threads(&search(""), ThreadSort::Updated, (offset, 500))
            .await
            .unwrap();
        seen.extend(
            page.threads
                .iter()
                .map(|found| found.thread.thread_id.clone()),
        );
        assert!(page.next_offset > offset || page.is_last);
        (offset, pages) = (page.next_offset, pages + 1);
        assert!(page.is_sorted);
        assert!(page.threads.iter().all(|found| found.title.is_some()));
        if page.is_last {
            break;
        }
    }
    assert_eq!(seen.len(), 730);
    assert!(pages <= 4, "{pages}");
    let count = server.count_found(&search("status:error")).await.unwrap();
    assert_eq!(count, Some(73));
}

#[tokio::test]
async fn a_scan_reads_each_thread_once() {
    let (_world, server) = server(Scenario::Threads { threads: 1300 }).await;
    let all = server
        .find_all_threads(&search("age>0s"), usize::MAX, jiff::Timestamp::now())
        .await
        .unwrap();
    assert_eq!(
        (all.threads.len(), all.scanned, all.is_complete),
        (1300, 1300, true)
    );
}

#[tokio::test]
async fn a_list_sorted_by_change_is_read_only_as_far_as_a_search_can_match() {
    let (_world, server) = server(Scenario::Threads { threads: 1300 }).await;
    let found = server
        .find_all_threads(&search("age<1h"), usize::MAX, jiff::Timestamp::now())
        .await
        .unwrap();
    assert!(
        found.is_complete && found.scanned <= 500,
        "{} were read",
        found.scanned
    );
}

#[tokio::test]
async fn a_server_with_only_the_contracts_calls_reports_that_it_has_no_search() {
    let (_world, server) = server(Scenario::Contract).await;
    let error = server
        .find_threads(&search("status:idle"), ThreadSort::Updated, (0, 100))
        .await
        .unwrap_err();
    assert!(
        error.may_lack_call() && error.kind == Kind::NotFound,
        "{error}"
    );
    assert_eq!(
        server.count_found(&search("status:idle")).await.unwrap(),
        None
    );
}
