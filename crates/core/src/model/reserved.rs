//! Reserved names of variables, which the service sets itself.
//!
//! The list is `RESERVED_ENV_VARS` of langgraph-cli 0.4.40 (`langgraph_cli/deploy.py`), in its two groups.

/// Reserved everywhere.
const EVERYWHERE: [&str; 29] = [
    "LANGCHAIN_TRACING_V2",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_ENDPOINT",
    "LANGCHAIN_PROJECT",
    "LANGSMITH_PROJECT",
    "LANGSMITH_LANGGRAPH_GIT_REPO",
    "LANGGRAPH_GIT_REPO_PATH",
    "LANGCHAIN_API_KEY",
    "LANGSMITH_CONTROL_PLANE_API_KEY",
    "POSTGRES_URI",
    "POSTGRES_PASSWORD",
    "DATABASE_URI",
    "LANGSMITH_LANGGRAPH_GIT_REF",
    "LANGSMITH_LANGGRAPH_GIT_REF_SHA",
    "LANGGRAPH_AUTH_TYPE",
    "LANGSMITH_AUTH_ENDPOINT",
    "LANGSMITH_TENANT_ID",
    "LANGSMITH_AUTH_VERIFY_TENANT_ID",
    "LANGSMITH_HOST_PROJECT_ID",
    "LANGSMITH_HOST_PROJECT_NAME",
    "LANGSMITH_HOST_REVISION_ID",
    "LOG_JSON",
    "LOG_DICT_TRACEBACKS",
    "REDIS_URI",
    "LANGCHAIN_CALLBACKS_BACKGROUND",
    "DD_TRACE_PSYCOPG_ENABLED",
    "DD_TRACE_REDIS_ENABLED",
    "LANGSMITH_DEPLOYMENT_NAME",
    "LANGGRAPH_CLOUD_LICENSE_KEY",
];

/// Reserved in the cloud; self-hosted installations take them.
const IN_THE_CLOUD: [&str; 11] = [
    "LANGSMITH_API_KEY",
    "LANGSMITH_ENDPOINT",
    "POSTGRES_URI_CUSTOM",
    "REDIS_URI_CUSTOM",
    "PATH",
    "PORT",
    "MOUNT_PREFIX",
    "LSD_ENV",
    "LSD_DD_API_KEY",
    "LSD_DD_ENDPOINT",
    "LSD_DEPLOYMENT_TYPE",
];

/// Returns why a variable can't have this name, if it is reserved.
pub(super) fn reserved(name: &str, is_cloud: bool) -> Option<&'static str> {
    if EVERYWHERE.contains(&name) {
        return Some("the name is reserved by the service");
    }
    (is_cloud && IN_THE_CLOUD.contains(&name)).then_some("the name is reserved in the cloud")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_names_are_reserved_only_in_the_cloud() {
        assert!(
            reserved("POSTGRES_URI", false).is_some() && reserved("POSTGRES_URI", true).is_some()
        );
        assert!(reserved("PORT", true).is_some() && reserved("PORT", false).is_none());
        assert!(reserved("OPENAI_API_KEY", true).is_none());
    }
}
