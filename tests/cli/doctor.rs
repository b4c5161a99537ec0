//! `runtail doctor` as a user and a script see it: text, JSON, exit codes, TLS and proxies, and no secrets anywhere.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use runtail_testkit::common::{CANARY, Closed, Server, json, raw, tls};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

struct Ended {
    code: i32,
    out: String,
}

impl Ended {
    #[track_caller]
    fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "{}", self.out);
        self
    }

    #[track_caller]
    fn expect_text(self, text: &str) -> Ended {
        // Long lines are wrapped.
        let words: Vec<&str> = self.out.split_whitespace().collect();
        assert!(
            words.join(" ").contains(text),
            "{text:?} is not in\n{}",
            self.out
        );
        self
    }

    /// The only check of this name, from JSON lines.
    #[track_caller]
    fn check(&self, name: &str) -> Value {
        let rows = self
            .out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect(line));
        rows.into_iter()
            .find(|row| row["check"] == name)
            .unwrap_or_else(|| panic!("no {name} in\n{}", self.out))
    }
}

/// Runs the doctor in an empty home folder.
async fn doctor(home: &Path, args: &[&str], env: &[(&str, &str)]) -> Ended {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("conf"))
        .env("RUNTAIL_TEST_KEY", CANARY);
    command
        .env("LANG", "C.UTF-8")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .arg("doctor")
        .args(args);
    let output = command.output().await.unwrap();
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    let all = format!("{out}{err}");
    assert!(!all.contains("canary"), "{all}");
    assert!(
        !all.contains(home.to_str().unwrap()),
        "the path of the home folder is printed: {all}"
    );
    Ended {
        code: output.status.code().unwrap_or(-1),
        out: out + &err,
    }
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn configure(home: &Path, text: &str) {
    let folder = home.join("conf/runtail");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(
            folder.join("config.toml"),
            std::fs::Permissions::from_mode(0o644),
        )
        .unwrap();
    }
}

fn profile(name: &str, url: &str) -> String {
    format!("[profiles.{name}]\nurl = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n")
}

/// Starts a control plane that sends this response to every request.
async fn server_with(status: u16, body: &'static str) -> Server {
    Server::start(move |_| json(status, body)).await
}

#[tokio::test]
async fn doctor_output_as_text_and_json() {
    let (home, server) = (home(), server_with(200, r#"{"resources":[]}"#).await);
    configure(home.path(), &profile("eu", server.url.as_str()));
    let ended = doctor(home.path(), &[], &[("TERM", "xterm")])
        .await
        .expect(0);
    let expected = [
        "This machine",
        "✓ configuration  ~/conf/runtail/config.toml, 1 profile",
        "✓ rights         only you can change it (mode 644)",
        "Profile eu",
        "✓ key            the environment variable RUNTAIL_TEST_KEY: a personal access",
        "✓ headers        to the control plane: X-Api-Key; to agent servers: X-Api-Key",
        "✓ workspace      none sent, none required",
        "✓ deployments    0 in the list",
        "- logs           no deployments",
        "No problems found.",
    ];
    let mut lines = ended.out.lines();
    for line in expected {
        assert!(
            lines.any(|l| l == line),
            "{line:?} is not, or not there, in\n{}",
            ended.out
        );
    }
    for line in ended.out.lines() {
        assert!(runtail_core::text::width(line) <= 80, "{line}");
    }
    let ended = doctor(home.path(), &["--ascii", "--try-regions"], &[])
        .await
        .expect(0);
    assert!(
        ended.out.is_ascii() && ended.out.contains("+ configuration"),
        "{}",
        ended.out
    );
    let ended = doctor(home.path(), &["--color", "always"], &[])
        .await
        .expect(0);
    assert!(
        ended.out.contains("\u{1b}[32m✓\u{1b}[0m key"),
        "{}",
        ended.out
    );

    let all: Value = serde_json::from_str(
        &doctor(home.path(), &["-o", "json"], &[])
            .await
            .expect(0)
            .out,
    )
    .unwrap();
    let address = all
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["check"] == "address")
        .unwrap();
    assert_eq!(
        (&address["profile"], &address["server"], &address["state"]),
        (&"eu".into(), &Value::Null, &"good".into())
    );
    assert!(
        address["evidence"][0]
            .as_str()
            .unwrap()
            .starts_with("GET http://127.0.0.1:")
    );
    let keys: Vec<&String> = address.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "profile", "server", "check", "state", "found", "evidence", "likely", "do"
        ]
    );
}

#[tokio::test]
async fn doctor_exits_with_the_code_of_the_worst_problem() {
    let nothing = home();
    doctor(nothing.path(), &[], &[])
        .await
        .expect(2)
        .expect_text("no profile configured")
        .expect_text("config init");
    configure(nothing.path(), "[profiles.a]\nregion = \"mars\"\n");
    doctor(nothing.path(), &[], &[])
        .await
        .expect(2)
        .expect_text("unknown region")
        .expect_text("~/conf/runtail/config.toml:2:10: region");

    let home = home();
    let (well, refusing) = (
        server_with(200, "{}").await,
        server_with(401, r#"{"detail":"no"}"#).await,
    );
    let closed = Closed::bind();
    let text = profile("well", well.url.as_str())
        + &profile("refusing", refusing.url.as_str())
        + &profile("gone", closed.url().as_str());
    configure(
        home.path(),
        &(text + "[profiles.unset]\nurl = \"http://127.0.0.1:1\"\napi_key_env = \"NO_SUCH\"\n"),
    );
    let of = |names: &'static [&'static str]| {
        names
            .iter()
            .flat_map(|name| ["-p", name])
            .collect::<Vec<_>>()
    };
    doctor(home.path(), &of(&["well"]), &[]).await.expect(0);
    doctor(home.path(), &of(&["well", "gone"]), &[])
        .await
        .expect(5);
    let both = doctor(home.path(), &of(&["gone", "refusing"]), &[])
        .await
        .expect(3);
    let (first, second) = (
        both.out.find("Profile gone").unwrap(),
        both.out.find("Profile refusing").unwrap(),
    );
    assert!(
        first < second,
        "in the order of the arguments: {}",
        both.out
    );
    doctor(home.path(), &[], &[])
        .await
        .expect(2)
        .expect_text("variable NO_SUCH is not set");
    doctor(home.path(), &["-p", "well", "-d", "bot"], &[])
        .await
        .expect(1)
        .expect_text("bot is not in this profile");
    doctor(home.path(), &["-p", "wel"], &[])
        .await
        .expect(2)
        .expect_text("did you mean");
}

#[tokio::test]
async fn doctor_works_with_environment_variables_only() {
    let (home, server) = (home(), server_with(200, "{}").await);
    let env = [
        ("LANGSMITH_BEARER_TOKEN", "canary-token-1"),
        ("LANGGRAPH_HOST_URL", server.url.as_str()),
    ];
    let ended = doctor(home.path(), &[], &env).await.expect(0);
    let ended = ended
        .expect_text("the environment makes the profile")
        .expect_text("to the control plane: Authorization;");
    ended.expect_text("set: LANGSMITH_BEARER_TOKEN, LANGGRAPH_HOST_URL");
    let env = [("LANGGRAPH_HOST_URL", "http://user:canary@ls.example.com/")];
    doctor(home.path(), &[], &env)
        .await
        .expect(2)
        .expect_text("must not contain a user or a password");
}

#[cfg(unix)]
#[tokio::test]
async fn doctor_checks_file_permissions_and_key_commands() {
    use std::os::unix::fs::PermissionsExt;
    let (home, server) = (home(), server_with(200, "{}").await);
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    let key = home.path().join("conf/runtail/key");
    let with = |source: &str| {
        format!(
            "[profiles.a]\nurl = \"{}\"\n{source}\nnovel = 1\n",
            server.url
        )
    };
    configure(home.path(), &with("api_key_file = \"key\""));
    std::fs::write(&key, CANARY).unwrap();
    open(&key, 0o644);
    let ended = doctor(home.path(), &[], &[]).await.expect(2);
    ended
        .expect_text("the file ~/conf/runtail/key can be read by")
        .expect_text("unknown key `novel`");
    open(&key, 0o600);
    open(&home.path().join("conf/runtail/config.toml"), 0o666);
    let ended = doctor(home.path(), &[], &[]).await.expect(0);
    ended
        .expect_text("key (mode 600): a personal")
        .expect_text("! rights others can change it (mode 666)")
        .expect_text("No problems found; 2 warnings.");
    // A key command's error output may contain a part of the key.
    configure(
        home.path(),
        &with("api_key_command = [\"sh\", \"-c\", \"echo canary-of-a-command >&2; exit 3\"]"),
    );
    doctor(home.path(), &[], &[])
        .await
        .expect(2)
        .expect_text("the command \"sh\" failed with exit code 3");
}

#[tokio::test]
async fn doctor_hides_the_proxy_password() {
    let home = home();
    configure(home.path(), &profile("far", "https://ls.example.com"));
    // The server echoes the request, as some do.
    let proxy = raw(
        b"HTTP/1.1 407 user:canary-proxy dXNlcjpjYW5hcnktcHJveHk=\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    let with_password = proxy
        .as_str()
        .replace("http://", "http://user:canary-proxy@");
    let ended = doctor(
        home.path(),
        &["-o", "jsonl"],
        &[("HTTPS_PROXY", &with_password)],
    )
    .await
    .expect(5);
    assert!(!ended.out.contains("dXNlcj"), "{}", ended.out);
    let shown = proxy.as_str().trim_end_matches('/');
    assert!(
        ended.check("proxy")["found"]
            .as_str()
            .unwrap()
            .starts_with(&format!("to {shown} in ")),
        "{}",
        ended.out
    );
    assert_eq!(ended.check("TLS")["state"], "skipped");
    assert_eq!(ended.check("address")["state"], "bad");
    assert_eq!(ended.check("network")["found"], "set: HTTPS_PROXY");
}

/// Creates a certificate authority, and a server on localhost with a certificate of it for these names until this day.
async fn tls_server(names: &[&str], last_day: (i32, u8, u8)) -> (String, String) {
    let (root, issuer) = tls::authority();
    let mut params = CertificateParams::new(
        names
            .iter()
            .map(|name| name.to_string())
            .collect::<Vec<_>>(),
    )
    .unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_day.0, last_day.1, last_day.2);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().der().clone();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = config
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let Ok((socket, _)) = listener.accept().await else {
                return;
            };
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate closes the connection.
                let Ok(mut stream) = acceptor.accept(socket).await else {
                    return;
                };
                let mut head = [0; 4096];
                if stream.read(&mut head).await.is_ok_and(|n| n > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                    let _ = stream.write_all(answer).await;
                    let _ = stream.shutdown().await;
                }
            });
        }
    });
    (root, format!("https://localhost:{port}"))
}

#[tokio::test]
async fn doctor_explains_certificate_problems() {
    let home = home();
    let store = home.path().join("root.pem");
    let (root, url) = tls_server(&["localhost"], (2090, 1, 1)).await;
    std::fs::write(&store, root).unwrap();
    configure(home.path(), &profile("own", &url));
    let trusting = [("SSL_CERT_FILE", store.to_str().unwrap())];
    let ended = doctor(home.path(), &["-o", "jsonl"], &trusting)
        .await
        .expect(0);
    let found = ended.check("TLS")["found"].as_str().unwrap().to_string();
    assert!(
        found.starts_with("TLS 1.3, certificate by Runtail Test Authority, valid for another "),
        "{found}"
    );

    let ended = doctor(home.path(), &["-o", "jsonl"], &[]).await.expect(5);
    let check = ended.check("TLS");
    assert!(
        check["found"]
            .as_str()
            .unwrap()
            .starts_with("the certificate of localhost is not trusted: "),
        "{check}"
    );
    let seen = "certificate by Runtail Test Authority, valid from 2020-01-01 to 2090-01-01";
    assert_eq!(check["evidence"][0], seen);
    assert!(
        check["likely"].as_str().unwrap().contains("SSL_CERT_FILE"),
        "{check}"
    );
    assert_eq!(ended.check("access")["state"], "skipped");

    std::fs::write(&store, "").unwrap();
    let ended = doctor(home.path(), &["-o", "jsonl"], &trusting)
        .await
        .expect(5);
    let check = ended.check("TLS");
    let found = "TLS is not possible: No CA certificates were loaded from the system";
    assert_eq!(check["found"], found);
    assert_eq!(
        check["likely"],
        "is a certificate store installed (ca-certificates), or SSL_CERT_FILE set?"
    );

    let (root, url) = tls_server(&["localhost"], (2021, 1, 1)).await;
    std::fs::write(&store, root).unwrap();
    configure(home.path(), &profile("own", &url));
    let check = doctor(home.path(), &["-o", "jsonl"], &trusting)
        .await
        .expect(5)
        .check("TLS");
    assert!(
        check["likely"]
            .as_str()
            .unwrap()
            .starts_with("the certificate is not valid today"),
        "{check}"
    );

    let (root, url) = tls_server(&["elsewhere.example"], (2090, 1, 1)).await;
    std::fs::write(&store, root).unwrap();
    configure(home.path(), &profile("own", &url));
    let check = doctor(home.path(), &["-o", "jsonl"], &trusting)
        .await
        .expect(5)
        .check("TLS");
    assert!(
        check["found"]
            .as_str()
            .unwrap()
            .contains("elsewhere.example"),
        "{check}"
    );
}
