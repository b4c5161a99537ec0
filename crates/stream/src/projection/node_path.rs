//! The names of nodes inside of subgraphs, the same for every source.

use runtail_core::graph::SEPARATOR;

/// Returns a node with the subgraphs that contain it, outermost first: `critic:read`, as in a graph of the server. Each segment of
/// a namespace is `node:task id`; a node that calls a graph several times also numbers the calls.
pub fn node_path<'a, S: AsRef<str> + ?Sized + 'a>(
    segments: impl Iterator<Item = &'a S>,
    node: Option<&'a str>,
) -> String {
    let mut path = String::new();
    let names = segments
        .map(AsRef::as_ref)
        .filter(|segment| !is_number(segment));
    for name in names.map(name_of).chain(node) {
        if !path.is_empty() {
            path.push(SEPARATOR);
        }
        path.push_str(name);
    }
    path
}

/// Returns the node's name in a segment of a namespace.
pub(super) fn name_of(segment: &str) -> &str {
    segment.split(':').next().unwrap_or(segment)
}

/// Returns whether a segment is the number of a graph that its node calls several times.
fn is_number(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_graph_have_no_part_of_their_own() {
        let path =
            |ns: &str, node| node_path(ns.split('|').filter(|segment| !segment.is_empty()), node);
        assert_eq!(path("critic:1f|1|read:2e", None), "critic:read");
        assert_eq!(path("critic:1f", Some("read")), "critic:read");
        assert_eq!(path("", Some("chat")), "chat");
    }
}
