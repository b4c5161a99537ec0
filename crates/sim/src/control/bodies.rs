//! Request bodies for creating and changing deployments and revisions.

use super::shape::{Field, Shape, may, must, null};

use Shape::{Any, Filled, Flag, List, Map, Number, Object, Text, Uuid, Whole, Word};

/// Where code or image of a deployment may come from.
pub const SOURCES: &[&str] = &[
    "github",
    "external_docker",
    "internal_docker",
    "internal_source",
    "internal_template",
];
/// The kinds of deployments: the published three, what official clients send, and what the documentation writes.
pub const TYPES: &[&str] = &[
    "dev_free",
    "dev",
    "prod",
    "dev_zero",
    "dev_free_zero",
    "serverless",
    "dedicated",
];
const CPU: Shape = Number(0.1, 8.0);
const CPU_LIMIT: Shape = Number(0.1, 16.0);
const ANY_NUMBER: Shape = Number(f64::MIN, f64::MAX);
const ANY_MAP: Shape = Map(&Any);
const TEXTS: Shape = List(&Text);

const VOLUME: Shape = Object(&[
    may("name", Text),
    null("configMap", ANY_MAP),
    null("secret", ANY_MAP),
    null("emptyDir", ANY_MAP),
    null("persistentVolumeClaim", ANY_MAP),
    null("nfs", ANY_MAP),
    null("projected", ANY_MAP),
    null("downwardAPI", ANY_MAP),
    null("csi", ANY_MAP),
]);
const MOUNT: Shape = Object(&[
    may("name", Text),
    may("mountPath", Text),
    null("subPath", Text),
    null("mountPropagation", Text),
    null("readOnly", Flag),
    null("subPathExpr", Text),
]);
const CONTAINER: Shape = Object(&[
    must("name", Text),
    must("image", Text),
    null("imagePullPolicy", Text),
    null("command", TEXTS),
    null("args", TEXTS),
    null("workingDir", Text),
    null(
        "env",
        List(&Object(&[
            must("name", Text),
            null("value", Text),
            null("valueFrom", ANY_MAP),
        ])),
    ),
    null("envFrom", List(&ANY_MAP)),
    null(
        "resources",
        Object(&[null("limits", Map(&Text)), null("requests", Map(&Text))]),
    ),
    null("volumeMounts", List(&MOUNT)),
    null("securityContext", ANY_MAP),
    null("restartPolicy", Text),
]);
const RESOURCES: Shape = Object(&[
    null("min_scale", Whole),
    null("max_scale", Whole),
    null("cpu", CPU),
    null("cpu_limit", CPU_LIMIT),
    null("memory_mb", Whole),
    null("memory_limit_mb", Whole),
    null("queue_min_scale", Whole),
    null("queue_max_scale", Whole),
    null("queue_cpu", CPU),
    null("queue_cpu_limit", CPU_LIMIT),
    null("queue_memory_mb", Whole),
    null("queue_memory_limit_mb", Whole),
    null("orchestrator_cpu", ANY_NUMBER),
    null("orchestrator_cpu_limit", ANY_NUMBER),
    null("orchestrator_memory_mb", Whole),
    null("orchestrator_memory_limit_mb", Whole),
    null("orchestrator_min_scale", Whole),
    null("orchestrator_max_scale", Whole),
    null("executor_cpu", ANY_NUMBER),
    null("executor_cpu_limit", ANY_NUMBER),
    null("executor_memory_mb", Whole),
    null("executor_memory_limit_mb", Whole),
    null("redis_cpu", CPU),
    null("redis_cpu_limit", CPU_LIMIT),
    null("redis_memory_mb", Whole),
    null("redis_memory_limit_mb", Whole),
    null("labels", Map(&Text)),
    null("annotations", Map(&Text)),
    null("service_account_name", Text),
    null("image_pull_secrets", List(&Object(&[must("name", Text)]))),
    null("volumes", List(&VOLUME)),
    null("volume_mounts", List(&MOUNT)),
    null("init_containers", List(&CONTAINER)),
    null("sidecars", List(&CONTAINER)),
    null("db_cpu", ANY_NUMBER),
    null("db_cpu_limit", ANY_NUMBER),
    null("db_memory_mb", Whole),
    null("db_memory_limit_mb", Whole),
    null("db_storage_gi", Whole),
    null("db_max_connections", Whole),
]);

const SOURCE_CONFIG: Shape = Object(&[
    null("integration_id", Uuid),
    null("repo_url", Text),
    null("deployment_type", Word(TYPES)),
    null("build_on_push", Flag),
    null("custom_url", Text),
    null("resource_spec", RESOURCES),
    null("listener_id", Uuid),
    null("listener_config", Object(&[null("k8s_namespace", Text)])),
    null("install_command", Text),
    null("build_command", Text),
]);
const REVISION_CONFIG: Shape = Object(&[
    null("repo_ref", Text),
    null("langgraph_config_path", Text),
    null("image_uri", Text),
    null("source_tarball_path", Text),
]);
const SECRETS: Shape = List(&Object(&[must("name", Text), must("value", Text)]));
const REFERENCES: Shape = List(&Object(&[
    must("name", Text),
    must("secret_name", Text),
    must("secret_key", Text),
]));
const AGENT: Shape = Object(&[must("agent_id", Text), must("environment", Text)]);

/// `POST /v2/deployments`.
pub const CREATE: &[Field] = &[
    must("name", Text),
    must("source", Word(SOURCES)),
    must("source_config", SOURCE_CONFIG),
    must("source_revision_config", REVISION_CONFIG),
    must("secrets", SECRETS),
    null("secret_references", REFERENCES),
    null("agent", AGENT),
];
/// `POST /v2/deployments` of a newer client, that names an agent instead of the deployment.
pub const CREATE_FOR_AGENT: &[Field] = &[
    must("agent", AGENT),
    null("name", Text),
    must("source", Word(SOURCES)),
    must("source_config", SOURCE_CONFIG),
    must("source_revision_config", REVISION_CONFIG),
    must("secrets", SECRETS),
    null("secret_references", REFERENCES),
];
/// `POST /v2/deployments` as far as the written contract goes.
pub const CREATE_BY_CONTRACT: &[Field] = &[
    must("name", Text),
    must("source", Text),
    must("source_config", Object(&[])),
    must("source_revision_config", Object(&[])),
    must("secrets", SECRETS),
];
/// `PATCH /v2/deployments/{id}`, and `POST …/revisions`.
pub const PATCH: &[Field] = &[
    null(
        "revision_source",
        Word(&["github", "internal_docker", "internal_source"]),
    ),
    null("source_config", SOURCE_CONFIG),
    null("source_revision_config", REVISION_CONFIG),
    null("secrets", SECRETS),
    null("secret_references", REFERENCES),
    null("display_name", Filled),
    null("tracked_packages", TEXTS),
];
/// `PATCH /v2/deployments/{id}` as far as the written contract goes.
pub const PATCH_BY_CONTRACT: &[Field] = &[
    may("source_config", Object(&[])),
    may("source_revision_config", Object(&[])),
    may("secrets", SECRETS),
];
