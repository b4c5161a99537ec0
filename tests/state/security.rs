//! `docs/security.md` names tests for each of its promises. The tests exist.

use std::path::Path;

/// Returns the rows of its tables of promises: each promise, and the file and name of its tests.
fn rows() -> Vec<(String, Vec<(String, String)>)> {
    let text = include_str!("../../docs/security.md");
    let mut is_promise = false;
    let rows = text.lines().filter(|line| {
        let is_header = line.starts_with("| Promise");
        is_promise = line.starts_with('|') && (is_promise || is_header);
        is_promise && line.starts_with("| ") && !is_header
    });
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let shown = cells.last().unwrap_or(&"").split(", ").map(|test| {
            let (file, name) = test
                .trim_matches('`')
                .split_once("::")
                .unwrap_or((test, ""));
            (file.to_string(), name.to_string())
        });
        (cells[0].to_string(), shown.collect())
    })
    .collect()
}

#[test]
fn tests_named_in_the_security_page_exist() {
    let rows = rows();
    assert!(rows.len() >= 25, "{} rows", rows.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (promise, tests) in rows {
        for (file, name) in tests {
            let text = std::fs::read_to_string(root.join(&file))
                .unwrap_or_else(|e| panic!("{promise}: {file}: {e}"));
            let (before, _) = text
                .split_once(&format!("fn {name}("))
                .unwrap_or_else(|| panic!("{promise}: no {name} in {file}"));
            // The attribute is a few lines above; in a property test it is inside the macro.
            let close: Vec<&str> = before.lines().rev().take(8).collect();
            assert!(
                close
                    .iter()
                    .any(|line| line.contains("test]") || line.contains("::test(")),
                "{promise}: {name} in {file} is not a test"
            );
            assert!(
                !close.iter().any(|line| line.contains("#[ignore")),
                "{promise}: {name} is not run"
            );
        }
    }
}
