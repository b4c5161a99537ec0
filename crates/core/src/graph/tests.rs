use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Builds a description from lines: `a b c` has edges from a to b and c; `a ~b` a conditional one.
fn description(lines: &str) -> Value {
    let (mut nodes, mut edges): (Vec<String>, Vec<Value>) = (Vec::new(), Vec::new());
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut names = line
            .split_whitespace()
            .map(|name| match name.trim_start_matches('~') {
                "START" => (START.to_string(), false),
                "END" => (END.to_string(), name.starts_with('~')),
                plain => (plain.to_string(), name.starts_with('~')),
            });
        let Some((from, _)) = names.next() else {
            continue;
        };
        if !nodes.contains(&from) {
            nodes.push(from.clone());
        }
        for (to, is_conditional) in names {
            edges.push(json!({"source": from, "target": to, "conditional": is_conditional}));
        }
    }
    json!({"nodes": nodes.iter().map(|id| json!({"id": id})).collect::<Vec<_>>(), "edges": edges})
}

fn graph(lines: &str) -> Graph {
    Graph::read(&description(lines))
}

fn drawn(graph: &Graph) -> String {
    text(graph, &layout(graph, Limits::NONE), Glyphs::Unicode)
}

#[track_caller]
fn assert_drawn(graph: &Graph, expected: &str) {
    // Without the blanks before all lines.
    let plain = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let margin = lines.clone().map(blanks).min().unwrap_or(0);
        lines.map(|line| format!("{}\n", &line[margin..])).collect()
    };
    let (actual, expected) = (plain(&drawn(graph)), plain(expected));
    assert_eq!(actual, expected, "\n{actual}\n{expected}");
}

const DEEP: &str = "
    START clarify
    clarify brief END
    brief supervisor:plan
    supervisor:plan supervisor:tools outline
    supervisor:tools supervisor:plan researcher:start
    researcher:start researcher:model
    researcher:model researcher:search researcher:fetch researcher:think researcher:compress
    researcher:search researcher:rank
    researcher:fetch researcher:rank
    researcher:rank researcher:model
    researcher:think researcher:model
    researcher:compress supervisor:collect
    supervisor:collect supervisor:plan
    outline write_intro write_body write_tables write_refs
    write_intro merge
    write_body merge
    write_tables merge
    write_refs merge
    merge check:facts check:style check:links
    check:facts judge
    check:style judge
    check:links judge
    judge supervisor:plan outline approve
    approve outline publish
    publish notify archive
    notify cleanup
    archive cleanup
    cleanup END
    END";

#[test]
fn the_small_examples_are_drawn() {
    assert_drawn(
        &graph("START chat\nchat tools END\ntools chat\nEND"),
        "
  ╭─ START
╭─●► chat    ◄╮
│ ╰► tools   ─╯
╰──► END",
    );
    let supervisor =
        "START supervisor\nsupervisor researcher coder writer critic END\nresearcher supervisor
        coder supervisor\nwriter supervisor\ncritic supervisor\nEND";
    assert_drawn(
        &graph(supervisor),
        "
        ╭─ START
╭─┬─┬─┬─●► supervisor   ◄╮
│ │ │ │ ╰► researcher   ─┤
│ │ │ ╰──► coder        ─┤
│ │ ╰────► writer       ─┤
│ ╰──────► critic       ─╯
╰────────► END",
    );
    let rag = "START route\nroute web_search retrieve\nweb_search generate\ngenerate generate transform_query END
        transform_query retrieve\nretrieve grade\ngrade generate transform_query\nEND";
    assert_drawn(
        &graph(rag),
        "
    ╭─ START
  ╭─●► route
  │ ●► web_search
╭─│─●► generate ↺        ◄──╮
│ ├─┴► transform_query   ◄╮ │
│ ╰─┬► retrieve           │ │
│   ╰► grade             ─┴─╯
╰────► END",
    );
    let fanout =
        "START left middle right sub:sub_a\nleft join\nmiddle join\nright join\njoin END\nEND
        sub:sub_a sub:sub_b\nsub:sub_b join";
    assert_drawn(
        &graph(fanout),
        "
  ╭─┬─┬─┬─ START
╭─│─│─│─┴► left
├─│─│─┴──► middle
├─│─┴────► right
│ ╰─────┬► sub:sub_a
├───────┴► sub:sub_b
╰───────┬► join
        ╰► END",
    );
}

#[test]
fn a_deep_graph_is_drawn() {
    assert_drawn(
        &graph(DEEP),
        "
           ╭─ START
 ╭─────────●► clarify
 │         ●► brief
 │ ╭───────●► supervisor:plan       ◄──╮
 │ │       ●► supervisor:tools      ───┤
 │ │       ●► researcher:start         │
 │ │ ╭─┬─┬─●► researcher:model      ◄╮ │
 │ │ │ │ │ ●► researcher:search      │ │
 │ │ │ │ ╰─┼► researcher:fetch       │ │
 │ │ │ │   ╰► researcher:rank       ─┤ │
 │ │ │ ╰────► researcher:think      ─╯ │
 │ │ ╰─────┬► researcher:compress      │
 │ │       ╰► supervisor:collect    ───┤
 │ ╰─┬─┬─┬─┬► outline               ◄╮ │
 │   │ │ │ ●► write_intro            │ │
 │   │ │ ╰─┼► write_body             │ │
 │   │ ╰───┼► write_tables           │ │
 │   ╰─────┼► write_refs             │ │
 │     ╭─┬─●► merge                  │ │
 │     │ │ ●► check:facts            │ │
 │     │ ╰─┼► check:style            │ │
 │     ╰───┼► check:links            │ │
 │         ●► judge                 ─┼─╯
 │         ●► approve               ─╯
 │       ╭─●► publish
 │       │ ●► notify
 │       ╰─┼► archive
 ├─────────┴► cleanup
 ╰──────────► END",
    );
}

#[test]
fn folded_groups_are_drawn() {
    let folds = BTreeSet::from(["researcher".to_string(), "check".to_string()]);
    let folded = graph(DEEP).fold(&folds);
    assert_drawn(
        &folded.graph,
        "
         ╭─ START
 ╭───────●► clarify
 │       ●► brief
 │     ╭─●► supervisor:plan      ◄──╮
 │     │ ●► supervisor:tools     ───┤
 │     │ ●► ▸ researcher (7)        │
 │     │ ╰► supervisor:collect   ───┤
 │ ╭─┬─●─┬► outline              ◄╮ │
 │ │ │ │ ●► write_intro           │ │
 │ │ │ ╰─┼► write_body            │ │
 │ │ ╰───┼► write_tables          │ │
 │ ╰─────┼► write_refs            │ │
 │       ●► merge                 │ │
 │       ●► ▸ check (3)           │ │
 │       ●► judge                ─┼─╯
 │       ●► approve              ─╯
 │     ╭─●► publish
 │     │ ●► notify
 │     ╰─┼► archive
 ├───────┴► cleanup
 ╰────────► END",
    );
    assert_eq!(folded.node_of.len(), graph(DEEP).nodes().len());
}

#[test]
fn conditional_edges_are_dashed() {
    assert_drawn(
        &graph("START chat\nchat ~tools ~END\ntools ~chat\nEND"),
        "
  ╭─ START
╭╌●► chat    ◄╮
│ ╰► tools   ╌╯
╰──► END",
    );
}

#[test]
fn many_equal_siblings_are_one_row() {
    let siblings: Vec<String> = (0..12).map(|n| format!("write_{n}")).collect();
    let lines = siblings.iter().map(|name| format!("{name} merge\n"));
    let whole = graph(&format!(
        "START plan\nplan {}\n{}merge END\nEND",
        siblings.join(" "),
        lines.collect::<String>()
    ));
    let merged = whole.merge_siblings(&BTreeSet::new());
    assert_drawn(
        &merged.graph,
        "
╭─ START
●► plan
●► ▸ write_* (12)
●► merge
╰► END",
    );
    assert_eq!(
        whole
            .merge_siblings(&BTreeSet::from(["write_0".to_string()]))
            .graph,
        whole
    );
}

#[test]
fn rails_beyond_the_limit_are_named() {
    let graph = graph(DEEP);
    let rails = layout(&graph, Limits { left: 3, right: 1 });
    assert_eq!((rails.lanes, rails.wanted), ((3, 1), (6, 2)));
    let drawing = text(&graph, &rails, Glyphs::Unicode);
    assert!(drawing.contains("clarify ⇢ END"), "{drawing}");
    assert!(drawing.contains("supervisor:plan ⇠ 3"), "{drawing}");
    assert_eq!(
        edges_of(&graph),
        read_back(&graph, &rails, Glyphs::Unicode),
        "{drawing}"
    );
}

#[test]
fn odd_graphs_are_drawn() {
    let odd = |value: Value| drawn(&Graph::read(&value));
    assert_eq!(odd(json!({})), "");
    assert_eq!(odd(json!({"nodes": "none", "edges": 3})), "");
    assert_eq!(
        odd(json!({"nodes": [{"id": 1}, {"id": null}, {"name": "x"}]})),
        "  1\n"
    );
    // An edge to a node that isn't listed, no START, two ENDs.
    assert_eq!(
        odd(
            json!({"nodes": [{"id": "a"}, {"id": "__end__"}, {"id": "__end__"}], "edges": [
            {"source": "a", "target": "b"}, {"source": "b", "target": "__end__"}, {"source": "a"}]})
        ),
        "╭─ a\n●► b\n╰► END\n"
    );
    // Names with wide characters and control characters.
    let wide = drawn(&graph("START 研究\n研究 write\nwrite 研究"));
    assert_eq!(wide, "╭─ START\n●► 研究    ◄╮\n╰► write   ─╯\n");
    let odd = Graph::read(&json!({"nodes": [{"id": "a\u{1b}[31m"}, {"id": "b\u{202e}c\nd"}]}));
    let is_printable = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    assert!(drawn(&odd).chars().all(is_printable), "{:?}", drawn(&odd));
    let long = graph(&format!("START {}", "x".repeat(300)));
    assert!(drawn(&long).lines().all(|line| line.chars().count() < 80));
}

#[test]
fn ids_can_be_numbers() {
    let graph = Graph::read(
        &json!({"nodes": [{"id": 0}, {"id": 7}], "edges": [{"source": 0, "target": 7, "data": "yes"}]}),
    );
    assert_eq!(graph.edges()[0].label.as_deref(), Some("yes"));
    assert_eq!(
        mermaid(&graph),
        "flowchart TD\n  n0[\"0\"]\n  n1[\"7\"]\n  n0 -->|\"yes\"| n1\n"
    );
}

#[test]
fn svg_escapes_names() {
    let graph = graph("START a<b&c\na<b&c END");
    let image = svg(&graph, &layout(&graph, Limits::NONE));
    assert!(
        image.contains("a&lt;b&amp;c") && !image.contains("a<b"),
        "{image}"
    );
    assert!(image.starts_with("<svg ") && image.ends_with("</svg>\n"));
}

type Edges = BTreeSet<(String, String)>;

fn edges_of(graph: &Graph) -> Edges {
    let name = |at: usize| graph.nodes()[at].id.clone();
    graph
        .edges()
        .iter()
        .map(|edge| (name(edge.from), name(edge.to)))
        .collect()
}

/// Recovers the edges from the characters of a drawing.
fn read_back(graph: &Graph, rails: &Rails, glyphs: Glyphs) -> Edges {
    let drawing = text(graph, rails, glyphs);
    let mut left: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut right: BTreeMap<usize, String> = BTreeMap::new();
    let mut edges = Edges::new();
    for (line, row) in drawing.lines().zip(&rails.rows) {
        let id = graph.nodes()[row.node].id.clone();
        let chars: Vec<char> = line.chars().collect();
        let gutter = if rails.lanes.0 > 0 {
            2 * rails.lanes.0
        } else {
            1
        };
        let (before, after) = chars.split_at(gutter.min(chars.len()));
        for (lane, glyph) in touched(before.iter().rev().copied().collect(), rails.lanes.0) {
            match glyph {
                '╭' | '┬' | '.' => drop(left.insert(lane, vec![id.clone()])),
                '├' | '┼' | '+' => left.get_mut(&lane).expect("a rail").push(id.clone()),
                '╰' | '┴' | '`' | '●' | 'O' => {
                    let ended = left.remove(&lane).expect("a rail");
                    edges.extend(ended.into_iter().map(|from| (from, id.clone())));
                    if matches!(glyph, '●' | 'O') {
                        left.insert(lane, vec![id.clone()]);
                    }
                }
                other => panic!("{other} in\n{drawing}"),
            }
        }
        // The label: marks after the name. The names of the random graphs have no blanks.
        let after: String = after.iter().collect();
        let label = glyphs.label(graph, row);
        let rest = after
            .trim_start_matches(' ')
            .strip_prefix(&label)
            .expect("the label");
        if label.split(' ').any(|word| matches!(word, "↺" | "@")) {
            edges.insert((id.clone(), id.clone()));
        }
        let mark = match glyphs {
            Glyphs::Unicode => " ⇢ ",
            Glyphs::Ascii => " > ",
        };
        let named = label.split(mark).nth(1);
        for name in named.into_iter().flat_map(|names| names.split(", ")) {
            let target = graph.nodes().iter().find(|node| node.name == name);
            let target = target.expect("the named node");
            edges.insert((id.clone(), target.id.clone()));
        }
        let rest = rest.trim_start_matches(' ');
        let has_stub = rest.starts_with(['◄', '─', '╌', '<', '-', '~']);
        let lanes = if has_stub { rails.lanes.1 } else { 0 };
        for (lane, glyph) in touched(rest.chars().collect(), lanes) {
            match glyph {
                '╮' | '┬' | '.' => drop(right.insert(lane, id.clone())),
                '┤' | '┼' | '+' | '╯' | '┴' | '\'' => {
                    edges.insert((id.clone(), right[&lane].clone()));
                }
                other => panic!("{other} in\n{drawing}"),
            }
        }
    }
    edges
}

/// Returns the rails that a row touches: its characters begin at the name, and the stub ends at the first blank.
fn touched(side: Vec<char>, lanes: usize) -> Vec<(usize, char)> {
    let is_stub = |c: char| matches!(c, '─' | '╌' | '-' | '~');
    let mut found = Vec::new();
    let entry = side.first().copied().unwrap_or(' ');
    if !is_stub(entry) && !matches!(entry, '►' | '◄' | '>' | '<') {
        return found;
    }
    for lane in 0..lanes {
        let Some(&glyph) = side.get(1 + 2 * lane) else {
            break;
        };
        if lane > 0 && !side.get(2 * lane).copied().is_some_and(is_stub) {
            break;
        }
        if !matches!(glyph, '│' | '|' | ' ') && !is_stub(glyph) {
            found.push((lane, glyph));
        }
    }
    found
}

/// Random graphs: names with and without groups, any edges, also to itself, back, and to nodes that aren't listed.
fn any_graph() -> impl Strategy<Value = Graph> {
    let node = (0..4_usize, 0..12_usize);
    let edges = prop::collection::vec((0..42_usize, 0..42_usize, any::<bool>()), 0..90);
    (prop::collection::vec(node, 0..40), edges, any::<bool>()).prop_map(|(nodes, edges, has_start)| {
        let group = ["", "a:", "a:b:", "c:"];
        let mut ids: Vec<String> = nodes.iter().map(|(at, n)| format!("{}n{n}", group[*at])).collect();
        if has_start {
            ids.insert(0, START.into());
            ids.push(END.into());
        }
        let name = |at: usize| ids.get(at).cloned().unwrap_or_else(|| format!("missing{}", at % 3));
        let edges: Vec<Value> = edges
            .iter()
            .map(|(from, to, is)| json!({"source": name(*from), "target": name(*to), "conditional": is}))
            .collect();
        let nodes: Vec<Value> = ids.iter().map(|id| json!({"id": id})).collect();
        Graph::read(&json!({"nodes": nodes, "edges": edges}))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_reader_recovers_every_edge(
        graph in any_graph(), folds in prop::collection::btree_set(prop::sample::select(vec!["a", "a:b", "c"]), 0..3),
        limit in prop::option::of(0..5_usize),
    ) {
        let folded = graph.fold(&folds.into_iter().map(str::to_string).collect()).graph;
        let limits = limit.map_or(Limits::NONE, |limit| Limits { left: limit, right: limit });
        let rails = layout(&folded, limits);
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            prop_assert_eq!(edges_of(&folded), read_back(&folded, &rails, glyphs));
        }
        // One row per node, each below its sources except for returns.
        prop_assert_eq!(rails.rows.len(), folded.nodes().len());
        for (edge, is_return) in folded.edges().iter().zip(&rails.returns).filter(|(edge, _)| edge.from != edge.to) {
            prop_assert_eq!(*is_return, rails.row_of[edge.to] < rails.row_of[edge.from]);
        }
        prop_assert_eq!(&layout(&folded, limits), &rails);
        let [unicode, ascii] = [Glyphs::Unicode, Glyphs::Ascii].map(|glyphs| text(&folded, &rails, glyphs));
        for (one, other) in unicode.lines().zip(ascii.lines()) {
            prop_assert_eq!(one.chars().count(), other.chars().count());
        }
    }

    #[test]
    fn folding_keeps_the_edges_between_groups(graph in any_graph()) {
        let folds = BTreeSet::from(["a".to_string()]);
        let folded = graph.fold(&folds);
        let new = |at: usize| folded.graph.nodes()[folded.node_of[at]].id.clone();
        let is_inner = |at: usize| is_in(&graph.nodes()[at].id, "a");
        let expected: Edges = graph.edges().iter()
            .filter(|edge| !(is_inner(edge.from) && is_inner(edge.to)))
            .map(|edge| (new(edge.from), new(edge.to))).collect();
        prop_assert_eq!(edges_of(&folded.graph), expected);
    }
}

#[test]
fn breakpoints_of_the_graph_are_drawn() {
    let node = |id: &str, stops: &str| json!({"id": id, "metadata": {"__interrupt": stops}});
    let nodes = [
        json!({"id": START}),
        node("plan", "before"),
        node("act", "before,after"),
        node("log", "after"),
    ];
    let pairs = [
        (START, "plan"),
        ("plan", "act"),
        ("act", "log"),
        ("act", "plan"),
    ];
    let edges: Vec<Value> = pairs
        .iter()
        .map(|(from, to)| json!({"source": from, "target": to}))
        .collect();
    let graph = Graph::read(&json!({"nodes": nodes, "edges": edges}));
    let rails = layout(&graph, Limits::NONE);
    let text = text(&graph, &rails, Glyphs::Unicode);
    assert!(
        text.contains("►¦plan ") && text.contains("►¦act¦") && text.contains("► log¦"),
        "{text}"
    );
    // A mark moves no rail.
    let plain = json!({"nodes": nodes.map(|node| json!({"id": node["id"]})), "edges": edges});
    assert_eq!(
        text.replace('¦', " ").replace(" \n", "\n"),
        drawn(&Graph::read(&plain)).replace(" \n", "\n")
    );
    assert!(
        mermaid(&graph).contains("[\"act (stops before and after)\"]"),
        "{}",
        mermaid(&graph)
    );
    assert!(svg(&graph, &rails).contains("log (stops after)"));
    // Other values are not breakpoints.
    let odd = json!({"nodes": [{"id": "a", "metadata": {"__interrupt": true}}, {"id": "b", "metadata": {"__interrupt": "beforehand"}}]});
    assert!(
        Graph::read(&odd)
            .nodes()
            .iter()
            .all(|node| !node.breakpoint.is_set())
    );
}
