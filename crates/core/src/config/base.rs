//! Addresses of the services: the hosts of the regions, and how an address of an installation becomes the base of the
//! control plane (control-plane reference §1).

use url::Url;

/// The regions: the tag in the configuration and the host of the control plane.
pub const REGIONS: [(&str, &str); 4] = [
    ("us", "api.host.langchain.com"),
    ("eu", "eu.api.host.langchain.com"),
    ("apac", "apac.api.host.langchain.com"),
    ("aws", "aws.api.host.langchain.com"),
];

/// Returns the control plane of a region.
pub fn of_region(tag: &str) -> Option<Url> {
    let (_, host) = REGIONS.iter().find(|(name, _)| *name == tag)?;
    Url::parse(&format!("https://{host}")).ok()
}

/// Returns the tag of the region with this control plane; nothing for other installations.
pub fn region_of(url: &Url) -> Option<&'static str> {
    let host = url.host_str().unwrap_or_default();
    REGIONS
        .iter()
        .find(|(_, known)| *known == host)
        .map(|(tag, _)| *tag)
}

/// Returns the tag of an address: the region of a known host, else the host (with its port, unless it is the default).
pub fn tag(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match (region_of(url), url.port()) {
        (Some(tag), _) => tag.to_string(),
        (None, Some(port)) => format!("{host}:{port}"),
        (None, None) => host.to_string(),
    }
}

/// Returns the control plane of an address of a LangSmith installation: its root, its API (`…/api/v1`), its dashboard, or
/// the control plane itself. Cloud hosts keep no path; elsewhere the base ends in `/api-host`, once.
pub fn control_plane(url: &Url) -> Url {
    let mut base = as_it_stands(url);
    let host = url.host_str().unwrap_or_default().to_string();
    if let Some(cloud) = cloud_host(&host) {
        base.set_path("");
        // The regions are served over https at the usual port; a host that parsed once parses again.
        let _ = base.set_host(Some(&cloud));
        return base;
    }
    let path = url.path();
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    let path = match segments.iter().position(|s| *s == "api-host") {
        // The path after the prefix (`/v2/deployments`) belongs to calls, not to the base.
        Some(at) => segments[..=at].join("/"),
        None => {
            let root = match segments.as_slice() {
                [root @ .., "api", "v1"] | [root @ .., "api"] => root,
                all => all,
            };
            root.iter()
                .copied()
                .chain(["api-host"])
                .collect::<Vec<_>>()
                .join("/")
        }
    };
    base.set_path(&path);
    base
}

/// Returns the page of an installation on which deployments are enabled and managed, from the address of its control
/// plane; nothing if it can't be derived (control-plane reference §11).
pub fn deployments_page(url: &Url) -> Option<Url> {
    let mut page = as_it_stands(url);
    let host = url.host_str().unwrap_or_default();
    let root = match host.strip_suffix("api.host.langchain.com") {
        Some(region) if region.is_empty() || region.ends_with('.') => {
            page.set_host(Some(&format!("{region}smith.langchain.com")))
                .ok()?;
            String::new()
        }
        _ => url.path().split_once("/api-host")?.0.to_string(),
    };
    page.set_path(&format!("{root}/host/deployments"));
    Some(page)
}

/// Returns the page of a deployment (control-plane reference §11); nothing if it can't be derived.
pub fn deployment_page(control_plane: &Url, workspace: &str, deployment: &str) -> Option<Url> {
    let mut page = deployments_page(control_plane)?;
    let root = page.path().strip_suffix("/host/deployments")?.to_string();
    page.set_path(&root);
    page.path_segments_mut().ok()?.pop_if_empty().extend([
        "o",
        workspace,
        "host",
        "deployments",
        deployment,
    ]);
    Some(page)
}

/// Returns the Studio page of an agent server or a thread: that of the installation of its control plane, else that of the
/// cloud, which also reaches servers on the user's own machine.
pub fn studio_page(control_plane: Option<&Url>, server: &str, thread: Option<&str>) -> Option<Url> {
    let cloud = || Url::parse("https://smith.langchain.com/host/deployments").ok();
    let mut page = control_plane.and_then(deployments_page).or_else(cloud)?;
    let root = page.path().strip_suffix("/host/deployments")?.to_string();
    page.set_path(&format!("{root}/studio/"));
    page.query_pairs_mut()
        .append_pair("baseUrl", server.trim_end_matches('/'));
    if let Some(thread) = thread {
        page.query_pairs_mut().append_pair("threadId", thread);
    }
    Some(page)
}

/// Returns the agent server that a link to Studio names, as `langgraph dev` prints it.
pub fn studio_server(url: &Url) -> Option<String> {
    let is_studio = url.path().trim_end_matches('/').ends_with("/studio");
    url.query_pairs()
        .filter(|_| is_studio)
        .find(|(name, _)| name == "baseUrl")
        .map(|(_, server)| server.into_owned())
}

/// Returns an address without query, fragment and trailing slashes.
pub fn as_it_stands(url: &Url) -> Url {
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    let path = base.path().trim_end_matches('/').to_string();
    base.set_path(&path);
    base
}

/// Whether an address is this machine. A name that only resolves to it does not count.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost")
                || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => {
            ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
        }
        None => false,
    }
}

/// Returns the control plane's host for a host of the cloud: `<r>.api.host`, `<r>.api.smith` and `<r>.smith`.
fn cloud_host(host: &str) -> Option<String> {
    let name = host.strip_suffix(".langchain.com")?;
    for ending in ["api.host", "api.smith", "smith"] {
        match name.strip_suffix(ending) {
            Some("") => return Some("api.host.langchain.com".to_string()),
            Some(region) if region.ends_with('.') => {
                return Some(format!("{region}api.host.langchain.com"));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_plane_is_derived_from_any_url() {
        for (given, base) in [
            (
                "https://api.host.langchain.com",
                "https://api.host.langchain.com/",
            ),
            (
                "https://api.host.langchain.com/api-host/",
                "https://api.host.langchain.com/",
            ),
            (
                "https://api.smith.langchain.com/api/v1",
                "https://api.host.langchain.com/",
            ),
            (
                "https://api.smith.langchain.com",
                "https://api.host.langchain.com/",
            ),
            (
                "https://eu.api.smith.langchain.com/",
                "https://eu.api.host.langchain.com/",
            ),
            (
                "https://apac.smith.langchain.com/o/1/host",
                "https://apac.api.host.langchain.com/",
            ),
            (
                "https://smith.langchain.com",
                "https://api.host.langchain.com/",
            ),
            (
                "https://aws.api.host.langchain.com/v2",
                "https://aws.api.host.langchain.com/",
            ),
            ("https://ls.example.com", "https://ls.example.com/api-host"),
            (
                "https://ls.example.com///",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/api-host",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/api-host/",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/api-host/v2/deployments?x=1",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/api/v1",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/api/",
                "https://ls.example.com/api-host",
            ),
            (
                "https://ls.example.com/tools/smith/api/v1/",
                "https://ls.example.com/tools/smith/api-host",
            ),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000/api-host"),
            (
                "https://notsmith.langchain.com",
                "https://notsmith.langchain.com/api-host",
            ),
            (
                "https://smith.langchain.com.evil.example",
                "https://smith.langchain.com.evil.example/api-host",
            ),
        ] {
            assert_eq!(
                control_plane(&Url::parse(given).unwrap()).as_str(),
                base,
                "{given}"
            );
        }
    }

    #[test]
    fn regions_have_urls_and_tags() {
        assert_eq!(
            of_region("eu").unwrap().as_str(),
            "https://eu.api.host.langchain.com/"
        );
        assert!(of_region("mars").is_none());
        assert_eq!(tag(&of_region("aws").unwrap()), "aws");
        assert_eq!(
            tag(&Url::parse("https://ls.example.com/api-host").unwrap()),
            "ls.example.com"
        );
        assert_eq!(
            tag(&Url::parse("http://127.0.0.1:2024").unwrap()),
            "127.0.0.1:2024"
        );
    }

    #[test]
    fn studio_page_of_a_thread() {
        let page = |base: Option<&str>, thread| {
            let base = base.map(|base| Url::parse(base).unwrap());
            studio_page(base.as_ref(), "http://127.0.0.1:2024/", thread)
                .unwrap()
                .to_string()
        };
        let of = "studio/?baseUrl=http%3A%2F%2F127.0.0.1%3A2024";
        assert_eq!(
            page(None, None),
            format!("https://smith.langchain.com/{of}")
        );
        let eu = page(Some("https://eu.api.host.langchain.com"), Some("a&b"));
        assert_eq!(
            eu,
            format!("https://eu.smith.langchain.com/{of}&threadId=a%26b")
        );
        let own = page(Some("https://ls.example.com/tools/api-host"), None);
        assert_eq!(own, format!("https://ls.example.com/tools/{of}"));
    }

    #[test]
    fn deployment_page_has_the_workspace_and_the_deployment() {
        for (base, page) in [
            (
                "https://eu.api.host.langchain.com",
                Some("https://eu.smith.langchain.com/o/w%2F1/host/deployments/d"),
            ),
            (
                "https://ls.corp/tools/api-host/",
                Some("https://ls.corp/tools/o/w%2F1/host/deployments/d"),
            ),
            ("https://example.com", None),
        ] {
            let found = deployment_page(&Url::parse(base).unwrap(), "w/1", "d");
            assert_eq!(found.as_ref().map(Url::as_str), page, "{base}");
        }
    }

    #[test]
    fn deployments_page_is_derived_from_the_control_plane() {
        for (base, page) in [
            (
                "https://api.host.langchain.com/v2/deployments",
                Some("https://smith.langchain.com/host/deployments"),
            ),
            (
                "https://eu.api.host.langchain.com",
                Some("https://eu.smith.langchain.com/host/deployments"),
            ),
            (
                "https://ls.example.com/api-host/v2/deployments?x=1",
                Some("https://ls.example.com/host/deployments"),
            ),
            (
                "http://127.0.0.1:9/tools/api-host",
                Some("http://127.0.0.1:9/tools/host/deployments"),
            ),
            ("https://notapi.host.langchain.com/v2", None),
            ("https://ls.example.com/v2", None),
        ] {
            let found = deployments_page(&Url::parse(base).unwrap());
            assert_eq!(found.as_ref().map(Url::as_str), page, "{base}");
        }
    }

    #[test]
    fn loopback_urls_are_recognized() {
        for yes in [
            "http://localhost:1",
            "http://127.9.9.9",
            "http://[::1]:2024",
            "http://app.localhost",
        ] {
            assert!(is_loopback(&Url::parse(yes).unwrap()), "{yes}");
        }
        for no in [
            "http://localhost.example.com",
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://notlocalhost",
        ] {
            assert!(!is_loopback(&Url::parse(no).unwrap()), "{no}");
        }
    }
}
