//! What `docs/security.md` promises is shown by tests that are there.

use std::path::Path;

/// Each row of its tables of promises: the promise, and the tests that show it, as `file` `name`.
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
            let (file, name) = test.trim_matches('`').split_once("::").unwrap_or((test, ""));
            (file.to_string(), name.to_string())
        });
        (cells[0].to_string(), shown.collect())
    })
    .collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let rows = rows();
    assert!(rows.len() >= 25, "{} rows", rows.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (promise, tests) in rows {
        for (file, name) in tests {
            let text = std::fs::read_to_string(root.join(&file)).unwrap_or_else(|e| panic!("{promise}: {file}: {e}"));
            let (before, _) =
                text.split_once(&format!("fn {name}(")).unwrap_or_else(|| panic!("{promise}: no {name} in {file}"));
            // The attribute stands close above; in a property it is inside of the macro.
            let close: Vec<&str> = before.lines().rev().take(8).collect();
            assert!(
                close.iter().any(|line| line.contains("test]") || line.contains("::test(")),
                "{promise}: {name} in {file} is no test"
            );
            assert!(!close.iter().any(|line| line.contains("#[ignore")), "{promise}: {name} is not run");
        }
    }
}
