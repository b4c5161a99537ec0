//! Profiles without a file: from the official environment variables, and from `--url`.

use super::{ConfigError, Profile, SecretSource, base};
use url::Url;

/// Returns the profile of the official variables. `LANGGRAPH_HOST_URL` is the control plane's full address (the official
/// clients add nothing to it); `LANGSMITH_ENDPOINT` is any address of the installation.
pub(super) fn profile(
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<Profile>, ConfigError> {
    let get = |name: &str| {
        env(name)
            .map(|v| v.trim().to_string())
            .filter(|v| !v.is_empty())
    };
    let key = get("LANGSMITH_API_KEY");
    // As in the official clients, a key takes precedence and no token is sent with it.
    let bearer = get("LANGSMITH_BEARER_TOKEN").filter(|_| key.is_none());
    let control_plane = if let Some(text) = get("LANGGRAPH_HOST_URL") {
        Some(base::as_it_stands(&address("LANGGRAPH_HOST_URL", &text)?))
    } else if let Some(text) = get("LANGSMITH_ENDPOINT") {
        Some(base::control_plane(&address("LANGSMITH_ENDPOINT", &text)?))
    } else {
        key.as_ref()
            .or(bearer.as_ref())
            .and_then(|_| base::of_region("us"))
    };
    let Some(control_plane) = control_plane else {
        return Ok(None);
    };
    let workspace = get("LANGSMITH_WORKSPACE_ID").or_else(|| get("LANGSMITH_TENANT_ID"));
    if workspace
        .as_ref()
        .is_some_and(|w| !w.bytes().all(|b| b.is_ascii_graphic()))
    {
        return Err(
            ConfigError::new("the workspace in the environment is not a UUID")
                .hint("LANGSMITH_WORKSPACE_ID must be a UUID"),
        );
    }
    Ok(Some(Profile {
        name: "env".into(),
        region: Some(base::tag(&control_plane)),
        control_plane: Some(control_plane),
        workspace,
        // By reference: the value is read when it is used.
        key: key.map(|_| SecretSource::Env("LANGSMITH_API_KEY".into())),
        bearer: bearer.map(|_| SecretSource::Env("LANGSMITH_BEARER_TOKEN".into())),
        ..Profile::default()
    }))
}

pub(super) fn url_profile(text: &str) -> Result<Profile, ConfigError> {
    let text = text.trim();
    let bad = |why: String| {
        ConfigError::new(format!("--url: {why}"))
            .hint("expected an address such as http://127.0.0.1:2024")
    };
    let url = if text.contains("://") {
        web_address(text).map_err(bad)?
    } else {
        // `localhost:2024` would otherwise be read as a scheme.
        let plain = web_address(&format!("http://{text}")).map_err(bad)?;
        match base::is_loopback(&plain) {
            true => plain,
            false => web_address(&format!("https://{text}")).map_err(bad)?,
        }
    };
    let url = match base::studio_server(&url) {
        Some(server) => web_address(&server).map_err(bad)?,
        None => url,
    };
    let mut url = base::as_it_stands(&url);
    // `langgraph dev` also prints the address of its documentation.
    if let Some(path) = url.path().strip_suffix("/docs").map(str::to_string) {
        url.set_path(&path);
    }
    let tag = base::tag(&url);
    Ok(Profile {
        name: tag.clone(),
        region: Some(tag.clone()),
        agent_servers: vec![(tag, url)],
        allow_http: true,
        ..Profile::default()
    })
}

/// Parses an http or https address without user and password.
pub(super) fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|e| format!("not a valid address ({e})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "the scheme {:?} is not http or https",
            crate::text::clean(url.scheme())
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address must not contain a user or a password".into());
    }
    if ["lsv2_", "ls__"].iter().any(|key| url.path().contains(key)) {
        return Err("an address must not contain a key".into());
    }
    Ok(url)
}

fn address(variable: &str, text: &str) -> Result<Url, ConfigError> {
    let url = web_address(text).map_err(|why| ConfigError::new(format!("{variable}: {why}")))?;
    if url.scheme() == "http" && !base::is_loopback(&url) {
        return Err(ConfigError::new(format!(
            "{variable} is plain http to another machine, which would expose a key"
        ))
        .hint("use https, or a profile with `allow_http = true`"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn from(pairs: &[(&str, &str)]) -> Option<super::Profile> {
        Config::from_env(|name| {
            pairs
                .iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| v.to_string())
        })
    }

    #[test]
    fn official_variables_make_a_profile() {
        assert!(from(&[]).is_none());
        assert!(from(&[("LANGSMITH_API_KEY", " ")]).is_none());
        let us = from(&[
            ("LANGSMITH_API_KEY", "canary"),
            ("LANGSMITH_TENANT_ID", "w-2"),
        ])
        .unwrap();
        assert_eq!(
            us.control_plane.as_ref().unwrap().as_str(),
            "https://api.host.langchain.com/"
        );
        assert_eq!(
            (us.region.as_deref(), us.workspace.as_deref()),
            (Some("us"), Some("w-2"))
        );
        assert!(!format!("{us:?}").contains("canary"));
        assert!(us.bearer.is_none());
        let token = from(&[
            ("LANGSMITH_BEARER_TOKEN", "canary"),
            ("LANGSMITH_TENANT_ID", "w-2"),
        ])
        .unwrap();
        assert_eq!(
            (token.region.as_deref(), token.workspace.as_deref()),
            (Some("us"), Some("w-2"))
        );
        assert!(token.key.is_none() && token.bearer.is_some());
        let two = from(&[
            ("LANGSMITH_BEARER_TOKEN", "canary"),
            ("LANGSMITH_API_KEY", "k"),
        ])
        .unwrap();
        assert!(two.key.is_some() && two.bearer.is_none());
        let both = [
            ("LANGSMITH_WORKSPACE_ID", "w-1"),
            ("LANGSMITH_TENANT_ID", "w-2"),
            ("LANGSMITH_API_KEY", "k"),
        ];
        assert_eq!(from(&both).unwrap().workspace.as_deref(), Some("w-1"));
        for (name, given, base) in [
            (
                "LANGSMITH_ENDPOINT",
                "https://eu.api.smith.langchain.com/api/v1",
                "https://eu.api.host.langchain.com/",
            ),
            (
                "LANGSMITH_ENDPOINT",
                "http://127.0.0.1:1984/api/v1",
                "http://127.0.0.1:1984/api-host",
            ),
            (
                "LANGGRAPH_HOST_URL",
                "http://127.0.0.1:9000/",
                "http://127.0.0.1:9000/",
            ),
            (
                "LANGGRAPH_HOST_URL",
                "https://ls.example.com/api-host/",
                "https://ls.example.com/api-host",
            ),
        ] {
            let profile = from(&[(name, given)]).unwrap();
            assert_eq!(profile.control_plane.unwrap().as_str(), base, "{given}");
            assert!(profile.key.is_none());
        }
    }

    #[test]
    fn invalid_variables_make_no_profile() {
        for given in [
            "nonsense",
            "ftp://x",
            "http://ls.example.com",
            "https://user:canary@ls.example.com",
        ] {
            let env = |name: &str| (name == "LANGGRAPH_HOST_URL").then(|| given.to_string());
            assert!(Config::from_env(env).is_none());
            let error = super::profile(env).unwrap_err();
            assert!(
                error.to_string().starts_with("LANGGRAPH_HOST_URL"),
                "{error}"
            );
            assert!(!error.to_string().contains("canary"));
        }
    }

    #[test]
    fn profile_for_a_bare_url() {
        for (given, base) in [
            ("http://127.0.0.1:2024/", "http://127.0.0.1:2024/"),
            ("localhost:2024", "http://localhost:2024/"),
            ("[::1]:2024", "http://[::1]:2024/"),
            ("agents.example.com/x/", "https://agents.example.com/x"),
            ("http://10.0.0.7:2024", "http://10.0.0.7:2024/"),
            // What `langgraph dev` prints.
            ("http://127.0.0.1:2024/docs", "http://127.0.0.1:2024/"),
            (
                "https://smith.langchain.com/studio/?baseUrl=http://127.0.0.1:2024",
                "http://127.0.0.1:2024/",
            ),
        ] {
            let profile = super::url_profile(given).unwrap();
            assert_eq!(profile.agent_servers[0].1.as_str(), base);
            assert!(profile.key.is_none() && profile.control_plane.is_none());
        }
        for bad in ["", "http://", "file:///etc/passwd", "https://u:p@host"] {
            assert!(super::url_profile(bad).is_err(), "{bad}");
        }
    }
}
