//! The fields of a deployment document: those of the wire (`DeploymentCreateRequest`, `DeploymentPatchRequest` and what they
//! hold in the control plane's OpenAPI document; the newer ones of control-plane reference §6), and two of our own.

use crate::catalog::Form::*;
use crate::catalog::{Field, Form, field};

/// A count: replicas, megabytes.
const COUNT: Form = Integer(0, i64::MAX);
/// Cores that are asked for, and their limit.
const CPU: Form = Number(0.1, 8.0);
const CPU_LIMIT: Form = Number(0.1, 16.0);
/// Cores of the database, which have no documented bounds.
const DB_CPU: Form = Number(0.0, f64::MAX);

/// The document.
pub(super) const DEPLOYMENT: &[Field] = &[
    field("name", Text),
    // The contract gives no values for `source` and calls `integration_id` a string: `check` warns about unknown ones.
    field("source", Text),
    field("display_name", Text),
    field(
        "revision_source",
        Word(&["github", "internal_docker", "internal_source"]),
    ),
    field("route_through_gateway", Bool),
    field("tracked_packages", Texts),
    // How an update treats existing secrets: our own fields, not the service's.
    field(REPLACE_SECRETS, Bool),
    field(REMOVE_SECRETS, Texts),
    field("source_config", Table(SOURCE_CONFIG)),
    field("source_revision_config", Table(SOURCE_REVISION_CONFIG)),
    field("secrets", Secrets),
    field("secret_references", Tables(SECRET_REFERENCE)),
];

/// Removes all secrets that are not given.
pub(super) const REPLACE_SECRETS: &str = "replace_secrets";
/// Names the secrets to remove.
pub(super) const REMOVE_SECRETS: &str = "remove_secrets";

const SECRET_REFERENCE: &[Field] = &[
    field("name", Text).needed(),
    field("secret_name", Text).needed(),
    field("secret_key", Text).needed(),
];

pub(super) const SOURCE_CONFIG: &[Field] = &[
    field("integration_id", Text),
    field("repo_url", Text),
    field("deployment_type", Text),
    field("build_on_push", Bool),
    field("custom_url", Text),
    field("listener_id", Uuid),
    field("listener_config", Table(&[field("k8s_namespace", Text)])),
    field("install_command", Text),
    field("build_command", Text),
    field("resource_spec", Table(RESOURCE_SPEC)),
];

pub(super) const SOURCE_REVISION_CONFIG: &[Field] = &[
    field("repo_ref", Text),
    field("langgraph_config_path", Text).or("graph_config_path"),
    field("image_uri", Text),
    field("source_tarball_path", Text),
];

/// All but those of which the document says `do not use`.
pub(super) const RESOURCE_SPEC: &[Field] = &[
    field("min_scale", COUNT),
    field("max_scale", COUNT),
    field("cpu", CPU),
    field("cpu_limit", CPU_LIMIT),
    field("memory_mb", COUNT),
    field("memory_limit_mb", COUNT),
    field("queue_min_scale", COUNT),
    field("queue_max_scale", COUNT),
    field("queue_cpu", CPU),
    field("queue_cpu_limit", CPU_LIMIT),
    field("queue_memory_mb", COUNT),
    field("queue_memory_limit_mb", COUNT),
    field("redis_cpu", CPU),
    field("redis_cpu_limit", CPU_LIMIT),
    field("redis_memory_mb", COUNT),
    field("redis_memory_limit_mb", COUNT),
    field("db_cpu", DB_CPU),
    field("db_cpu_limit", DB_CPU),
    field("db_memory_mb", COUNT),
    field("db_memory_limit_mb", COUNT),
    field("db_storage_gi", COUNT),
    field("db_max_connections", COUNT),
    field("labels", TextMap),
    field("annotations", TextMap),
    field("service_account_name", Text),
    field(
        "image_pull_secrets",
        Tables(&[field("name", Text).needed()]),
    ),
    field("volumes", Tables(VOLUME)),
    field("volume_mounts", Tables(VOLUME_MOUNT)),
    field("init_containers", Tables(CONTAINER)),
    field("sidecars", Tables(CONTAINER)),
];

const VOLUME: &[Field] = &[
    field("name", Text).needed(),
    field("configMap", Open),
    field("secret", Open),
    field("emptyDir", Open),
    field("persistentVolumeClaim", Open),
    field("nfs", Open),
    field("projected", Open),
    field("downwardAPI", Open),
    field("csi", Open),
];

const VOLUME_MOUNT: &[Field] = &[
    field("name", Text).needed(),
    field("mountPath", Text).needed(),
    field("subPath", Text),
    field("mountPropagation", Text),
    field("readOnly", Bool),
    field("subPathExpr", Text),
];

const CONTAINER: &[Field] = &[
    field("name", Text).needed(),
    field("image", Text).needed(),
    field("imagePullPolicy", Text),
    field("command", Texts),
    field("args", Texts),
    field("workingDir", Text),
    field("env", Tables(ENV)),
    field("envFrom", Open),
    field("resources", Table(REQUIREMENTS)),
    field("volumeMounts", Tables(VOLUME_MOUNT)),
    field("securityContext", Open),
    field("restartPolicy", Text),
];

const ENV: &[Field] = &[
    field("name", Text).needed(),
    field("value", Private),
    field("valueFrom", Open),
];

const REQUIREMENTS: &[Field] = &[field("limits", TextMap), field("requests", TextMap)];
