//! The fields of a deployment document: those of the wire (`DeploymentCreateRequest`, `DeploymentPatchRequest` and what they
//! hold in the control plane's OpenAPI document; the newer ones of control-plane reference §6), and two of our own.

use crate::config::{Field, Form};

/// A count: replicas, megabytes.
const COUNT: Form = Form::Integer(0, i64::MAX);
/// Cores that are asked for, and their limit.
const CPU: Form = Form::Number(0.1, 8.0);
const CPU_LIMIT: Form = Form::Number(0.1, 16.0);
/// Cores of the database, which have no documented bounds.
const DB_CPU: Form = Form::Number(0.0, f64::MAX);

/// The document.
pub(super) const DEPLOYMENT: &[Field] = &[
    Field::new("name", Form::Text),
    // The contract gives no values for `source` and calls `integration_id` a string: `check` warns about unknown ones.
    Field::new("source", Form::Text),
    Field::new("display_name", Form::Text),
    Field::new(
        "revision_source",
        Form::Word(&["github", "internal_docker", "internal_source"]),
    ),
    Field::new("route_through_gateway", Form::Bool),
    Field::new("tracked_packages", Form::Texts),
    // How an update treats existing secrets: our own fields, not the service's.
    Field::new(REPLACE_SECRETS, Form::Bool),
    Field::new(REMOVE_SECRETS, Form::Texts),
    Field::new("source_config", Form::Table(SOURCE_CONFIG)),
    Field::new(
        "source_revision_config",
        Form::Table(SOURCE_REVISION_CONFIG),
    ),
    Field::new("secrets", Form::Secrets),
    Field::new("secret_references", Form::Tables(SECRET_REFERENCE)),
];

/// Removes all secrets that are not given.
pub(super) const REPLACE_SECRETS: &str = "replace_secrets";
/// Names the secrets to remove.
pub(super) const REMOVE_SECRETS: &str = "remove_secrets";

const SECRET_REFERENCE: &[Field] = &[
    Field::new("name", Form::Text).needed(),
    Field::new("secret_name", Form::Text).needed(),
    Field::new("secret_key", Form::Text).needed(),
];

pub(super) const SOURCE_CONFIG: &[Field] = &[
    Field::new("integration_id", Form::Text),
    Field::new("repo_url", Form::Text),
    Field::new("deployment_type", Form::Text),
    Field::new("build_on_push", Form::Bool),
    Field::new("custom_url", Form::Text),
    Field::new("listener_id", Form::Uuid),
    Field::new(
        "listener_config",
        Form::Table(&[Field::new("k8s_namespace", Form::Text)]),
    ),
    Field::new("install_command", Form::Text),
    Field::new("build_command", Form::Text),
    Field::new("resource_spec", Form::Table(RESOURCE_SPEC)),
];

pub(super) const SOURCE_REVISION_CONFIG: &[Field] = &[
    Field::new("repo_ref", Form::Text),
    Field::new("langgraph_config_path", Form::Text).or("graph_config_path"),
    Field::new("image_uri", Form::Text),
    Field::new("source_tarball_path", Form::Text),
];

/// All but those of which the document says `do not use`.
pub(super) const RESOURCE_SPEC: &[Field] = &[
    Field::new("min_scale", COUNT),
    Field::new("max_scale", COUNT),
    Field::new("cpu", CPU),
    Field::new("cpu_limit", CPU_LIMIT),
    Field::new("memory_mb", COUNT),
    Field::new("memory_limit_mb", COUNT),
    Field::new("queue_min_scale", COUNT),
    Field::new("queue_max_scale", COUNT),
    Field::new("queue_cpu", CPU),
    Field::new("queue_cpu_limit", CPU_LIMIT),
    Field::new("queue_memory_mb", COUNT),
    Field::new("queue_memory_limit_mb", COUNT),
    Field::new("redis_cpu", CPU),
    Field::new("redis_cpu_limit", CPU_LIMIT),
    Field::new("redis_memory_mb", COUNT),
    Field::new("redis_memory_limit_mb", COUNT),
    Field::new("db_cpu", DB_CPU),
    Field::new("db_cpu_limit", DB_CPU),
    Field::new("db_memory_mb", COUNT),
    Field::new("db_memory_limit_mb", COUNT),
    Field::new("db_storage_gi", COUNT),
    Field::new("db_max_connections", COUNT),
    Field::new("labels", Form::TextMap),
    Field::new("annotations", Form::TextMap),
    Field::new("service_account_name", Form::Text),
    Field::new(
        "image_pull_secrets",
        Form::Tables(&[Field::new("name", Form::Text).needed()]),
    ),
    Field::new("volumes", Form::Tables(VOLUME)),
    Field::new("volume_mounts", Form::Tables(VOLUME_MOUNT)),
    Field::new("init_containers", Form::Tables(CONTAINER)),
    Field::new("sidecars", Form::Tables(CONTAINER)),
];

const VOLUME: &[Field] = &[
    Field::new("name", Form::Text).needed(),
    Field::new("configMap", Form::Open),
    Field::new("secret", Form::Open),
    Field::new("emptyDir", Form::Open),
    Field::new("persistentVolumeClaim", Form::Open),
    Field::new("nfs", Form::Open),
    Field::new("projected", Form::Open),
    Field::new("downwardAPI", Form::Open),
    Field::new("csi", Form::Open),
];

const VOLUME_MOUNT: &[Field] = &[
    Field::new("name", Form::Text).needed(),
    Field::new("mountPath", Form::Text).needed(),
    Field::new("subPath", Form::Text),
    Field::new("mountPropagation", Form::Text),
    Field::new("readOnly", Form::Bool),
    Field::new("subPathExpr", Form::Text),
];

const CONTAINER: &[Field] = &[
    Field::new("name", Form::Text).needed(),
    Field::new("image", Form::Text).needed(),
    Field::new("imagePullPolicy", Form::Text),
    Field::new("command", Form::Texts),
    Field::new("args", Form::Texts),
    Field::new("workingDir", Form::Text),
    Field::new("env", Form::Tables(ENV)),
    Field::new("envFrom", Form::Open),
    Field::new("resources", Form::Table(REQUIREMENTS)),
    Field::new("volumeMounts", Form::Tables(VOLUME_MOUNT)),
    Field::new("securityContext", Form::Open),
    Field::new("restartPolicy", Form::Text),
];

const ENV: &[Field] = &[
    Field::new("name", Form::Text).needed(),
    Field::new("value", Form::Private),
    Field::new("valueFrom", Form::Open),
];

const REQUIREMENTS: &[Field] = &[
    Field::new("limits", Form::TextMap),
    Field::new("requests", Form::TextMap),
];
