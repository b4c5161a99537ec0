//! `docs/reliability.md` names a test for each of its claims. The tests exist.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn tests_named_in_the_reliability_page_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/reliability.md")).expect("the page");
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.matches('|').count() == 4);
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(3)?.contains('`').then_some(row))
        .flat_map(|row| {
            row.split('|')
                .nth(3)
                .unwrap_or_default()
                .split('`')
                .skip(1)
                .step_by(2)
        })
        .collect();
    assert!(named.len() > 25, "{named:?}");
    let mut known = String::new();
    let mut folders = vec![root.join("tests")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)
            .expect("a folder of tests")
            .flatten()
        {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "rs")
            {
                known += &std::fs::read_to_string(entry.path()).expect("a test file");
            }
        }
    }
    let missing: Vec<_> = named
        .iter()
        .filter(|name| !known.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
