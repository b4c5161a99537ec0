//! The states of waiting subgraphs, from servers that tell them in different ways.

use runtail_api::{AgentServer, Http};
use runtail_core::config::Profile;
use runtail_testkit::common::{Server, json as respond};
use serde_json::{Value, json};

/// How a server answers the request for a state with its subgraphs.
#[derive(Clone, Copy)]
enum Tells {
    /// With the states.
    States,
    /// With the places of the states only.
    Places,
    /// With the places, which it doesn't read.
    PlacesOnly,
    /// Not at all.
    Nothing,
}

fn state(tasks: Value) -> Value {
    json!({"values": {"n": 1}, "next": ["mid"], "tasks": tasks, "metadata": {"source": "loop", "step": 1},
           "created_at": "2026-11-22T03:00:00Z", "checkpoint": {"checkpoint_id": "c"}})
}

async fn load(tells: Tells) -> (Value, Vec<String>, Vec<String>) {
    let inner = json!({"values": {"inner": 1.5}, "next": ["leaf"], "tasks": []});
    let place = |ns: &str| json!({"thread_id": "t", "checkpoint_ns": ns});
    let server = Server::start(move |seen| {
        let nested = seen.query == "subgraphs=true";
        match (seen.method.as_str(), seen.path.as_str(), tells) {
            ("GET", "/threads/t/state/c", Tells::Nothing) if nested => {
                respond(422, r#"{"detail":"unknown parameter"}"#)
            }
            ("GET", "/threads/t/state/c", Tells::States) if nested => respond(
                200,
                state(json!([{"name": "mid", "checkpoint": null, "state": inner}])),
            ),
            ("GET", "/threads/t/state/c", _) => respond(
                200,
                state(json!([{"name": "ask", "checkpoint": null, "state": null},
                             {"name": "mid", "checkpoint": place("mid:1"), "state": null},
                             {"name": "side", "checkpoint": place("side:1"), "state": null}])),
            ),
            ("POST", "/threads/t/state/checkpoint", Tells::Places) => {
                let body = seen.json();
                assert_eq!(body["subgraphs"], true);
                match body["checkpoint"]["checkpoint_ns"].as_str() {
                    Some("mid:1") => respond(200, &inner),
                    _ => respond(403, r#"{"detail":"not yours"}"#),
                }
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await;
    // Reading is allowed to read-only profiles.
    let profile = Profile {
        read_only: true,
        ..Profile::default()
    };
    let agent = AgentServer::new(Http::new(&profile).unwrap(), server.url.clone());
    let nested = agent.nested_state("t", "c", 1 << 20).await.unwrap();
    let sent = server
        .seen()
        .iter()
        .map(|seen| format!("{} {}?{}", seen.method, seen.path, seen.query))
        .collect();
    (
        serde_json::from_str(nested.state.get()).unwrap(),
        nested.missing,
        sent,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_subgraphs_are_at_their_tasks() {
    let (state, missing, sent) = load(Tells::States).await;
    assert_eq!(
        (
            &state["tasks"][0]["state"]["values"]["inner"],
            missing.len()
        ),
        (&json!(1.5), 0)
    );
    assert_eq!(sent, ["GET /threads/t/state/c?subgraphs=true"]);

    let (state, missing, sent) = load(Tells::Places).await;
    assert_eq!(state["tasks"][1]["state"]["values"]["inner"], 1.5);
    assert_eq!(
        (&state["tasks"][0]["name"], &state["tasks"][0]["state"]),
        (&json!("ask"), &Value::Null)
    );
    assert_eq!(
        (&state["values"], &state["tasks"][2]["state"]),
        (&json!({"n": 1}), &Value::Null)
    );
    assert_eq!(sent.len(), 3, "{sent:?}");
    // The server that refuses is named.
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(
        missing[0]
            .starts_with("Couldn't load the state of the subgraph side from http://127.0.0.1"),
        "{missing:?}"
    );
    assert!(missing[0].contains("403: not yours"), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_states_of_subgraphs_is_named() {
    let (state, missing, _) = load(Tells::PlacesOnly).await;
    assert_eq!(state["values"], json!({"n": 1}));
    assert_eq!(missing.len(), 2, "{missing:?}");
    let (state, missing, sent) = load(Tells::Nothing).await;
    assert_eq!(
        (&state["values"], sent.len()),
        (&json!({"n": 1}), 2),
        "{sent:?}"
    );
    assert!(
        missing[0].contains("127.0.0.1") && missing[0].contains("unknown parameter"),
        "{missing:?}"
    );
}
