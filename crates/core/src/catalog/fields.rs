//! The fields of listeners, OAuth providers, authentications (control-plane reference §2) and crons (acting reference §9).
//! Those of deployments are in `model/spec`.

use super::Form::*;
use super::Verb::{Create, Update};
use super::{Field, field};

const NAMESPACES: Field = field("k8s_namespaces", Texts)
    .option(
        "namespace",
        "NS",
        "A Kubernetes namespace that it serves (repeatable)",
    )
    .sample("[\"default\"]      # namespaces it deploys to");
const NEW_COMPUTE: &[Field] = &[NAMESPACES];
const COMPUTE: &[Field] = &[NAMESPACES.option(
    "namespace",
    "NS",
    "A Kubernetes namespace that it serves (repeatable); replaces the whole list",
)];

pub const LISTENER: &[Field] = &[
    field("compute_type", Word(&["k8s"]))
        .needed()
        .only(Create)
        .sample("\"k8s\"              # the only type; can never be changed"),
    field("compute_id", Text)
        .needed()
        .only(Create)
        .option(
            "compute-id",
            "NAME",
            "Your name for the cluster; can never be changed",
        )
        .sample("\"my-cluster\"         # your name for the cluster; can never be changed"),
    field("compute_config", Table(NEW_COMPUTE))
        .needed()
        .only(Create),
    field("compute_config", Table(COMPUTE)).only(Update),
    field("version", Text)
        .option("listener-version", "V", "Version of the listener")
        .sample("\"…\""),
];

/// The slug of a new provider.
const SLUG: Field = field("provider_id", Text).needed().only(Create).option(
    "provider-id",
    "SLUG",
    "Its slug, which identifies it; can never be changed",
);
const NAME: Field = field("name", Text)
    .needed()
    .option("name", "NAME", "Its display name");

pub const PROVIDER: &[Field] = &[
    SLUG.sample("\"my-provider\"       # its unique slug; can never be changed"),
    NAME.sample("\"My provider\""),
    field("client_id", Text)
        .needed()
        .option("client-id", "ID", "The client's id at the provider")
        .sample("\"…\""),
    field("client_secret", Secret)
        .option(
            "client-secret",
            "REF",
            "The client's secret, by reference: env:NAME or file:PATH",
        )
        .sample("\"env:MY_PROVIDER_SECRET\"      # or file:PATH; never the secret itself"),
    field("auth_url", Text)
        .needed()
        .option("auth-url", "URL", "The authorization URL")
        .sample("\"https://provider.example/oauth/authorize\""),
    field("token_url", Text)
        .needed()
        .option("token-url", "URL", "The token URL")
        .sample("\"https://provider.example/oauth/token\""),
    field("uses_pkce", Bool)
        .option("uses-pkce", "BOOL", "Whether it uses PKCE")
        .sample("true"),
    field("code_challenge_method", Text)
        .option("code-challenge-method", "M", "The PKCE method (S256)")
        .sample("\"S256\""),
    field("provider_type", Word(&["microsoft", "salesforce", "slack"]))
        .only(Create)
        .option(
            "provider-type",
            "TYPE",
            "microsoft, salesforce or slack, if it is one of these",
        )
        .sample("\"slack\"         # microsoft, salesforce, slack"),
    field(
        "token_endpoint_auth_method",
        Word(&["none", "client_secret_basic", "client_secret_post"]),
    )
    .only(Create)
    .option(
        "token-endpoint-auth-method",
        "M",
        "none, client_secret_basic or client_secret_post",
    )
    .sample("\"client_secret_post\"     # none, client_secret_basic, client_secret_post"),
];

/// A provider that is made from the metadata of an MCP server.
pub const DISCOVERY: &[Field] = &[
    SLUG.sample("\"my-mcp\"            # its unique slug; can never be changed"),
    NAME.sample("\"My MCP server\""),
    field("mcp_server_url", Text)
        .needed()
        .option("mcp-server-url", "URL", "URL of the MCP server")
        .sample("\"https://mcp.example/sse\""),
];

/// The request for a token of a third party.
pub const AUTHENTICATION: &[Field] = &[
    field("provider", Text)
        .needed()
        .option("provider", "P", "The provider, by its slug"),
    field("scopes", Texts)
        .needed()
        .option("scope", "S", "A scope to request (repeatable)"),
    field("user_id", Text)
        .option("user-id", "ID", "The user's id in your system")
        .sample("\"…\"          # the user's id in your system"),
    field("ls_user_id", Text)
        .option("ls-user-id", "ID", "The user's id in LangSmith")
        .sample("\"…\"       # the user's id in LangSmith"),
    field("agent_id", Text)
        .option("agent-id", "ID", "The agent that the token is for")
        .sample("\"…\"         # the agent that the token is for"),
    field("force_new", Bool)
        .option("force-new", "BOOL", "Request a new token even if one exists")
        .sample("true         # request a new token even if one exists"),
    field("token_id", Uuid)
        .option("token-id", "ID", "Which of several tokens to use (a UUID)")
        .sample("\"…\"         # one token among several (a UUID)"),
    field("redirect_uri", Text)
        .option(
            "redirect-uri",
            "URL",
            "Redirect the browser to this URL afterwards",
        )
        .sample("\"…\"     # where the browser goes afterwards"),
    field("is_default", Bool)
        .option(
            "is-default",
            "BOOL",
            "Whether the token becomes the default one",
        )
        .sample("false       # whether the token becomes the default one"),
    field("use_agent_builder_public_oauth", Bool)
        .option(
            "use-agent-builder-public-oauth",
            "BOOL",
            "Use the public OAuth client of the agent builder (not in the published schema)",
        )
        .sample("true    # (not in the published schema)"),
    field("check_only", Bool)
        .option(
            "check-only",
            "BOOL",
            "Only check, without starting anything (not in the published schema)",
        )
        .sample("true        # only check for a token; don't start authentication (not in the published schema)"),
];

const JSON: &str = "JSON|@FILE|-";

/// Servers accept unknown fields without an error, and ignore them.
pub const CRON: &[Field] = &[
    field("schedule", Text).needed().option(
        "schedule",
        "SCHEDULE",
        "The schedule: minute, hour, day of month, month, day of week",
    ),
    // Part of the path.
    field("thread_id", Text)
        .only(Create)
        .option(
            "thread",
            "T",
            "The thread on which its runs start (default: a new thread for each run)",
        ),
    field("timezone", Text).option(
        "timezone",
        "ZONE",
        "IANA time zone of the schedule, such as Europe/Berlin (default: UTC)",
    ),
    field("input", Open).option(
        "input",
        JSON,
        "The input of its runs; @FILE reads a file, - reads stdin",
    ),
    field("config", Open).option("run-config", JSON, "The configuration of its runs"),
    field("context", Open).option("context", JSON, "The context of its runs"),
    field("metadata", Open).option("metadata", JSON, "The cron's metadata"),
    field("end_time", Time).option(
        "end-time",
        "TIME",
        "When it stops starting runs (RFC 3339)",
    ),
    field("on_run_completed", Word(&["delete", "keep"])).option(
        "on-run-completed",
        "WHAT",
        "What happens to the thread that a run was started on, if the cron has no thread of its own",
    )
    .meanings(&["It is deleted", "It is kept"]),
    field("webhook", Text).option("webhook", "URL", "URL that is called after each run"),
    field("interrupt_before", Open),
    field("interrupt_after", Open),
    field("enabled", Bool),
    field("stream_mode", Open),
    field("stream_subgraphs", Bool),
    field("stream_resumable", Bool),
    field("durability", Text),
    field("assistant_id", Text).only(Create),
    field("multitask_strategy", Text).only(Create),
];
