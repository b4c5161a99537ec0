//! The house's rule: a floor uses only the floors below it (docs/architecture.md).

use std::path::{Path, PathBuf};

/// From top to bottom. What stands on one line may use each other.
const FLOORS: [&[&str]; 8] =
    [&["cli"], &["runtime"], &["ui"], &["app"], &["projection"], &["stream"], &["api"], &["model", "config", "text"]];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_floor_uses_only_floors_below_it() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    assert!(files.len() > 50, "the sources were not found");
    let mut wrong = Vec::new();
    for file in &files {
        let room = file.strip_prefix("src").unwrap().components().next().unwrap().as_os_str().to_string_lossy();
        let room = room.trim_end_matches(".rs").to_string();
        let level = FLOORS.iter().position(|floor| floor.contains(&room.as_str()));
        let text = std::fs::read_to_string(file).unwrap();
        for (number, line) in text.lines().enumerate() {
            for part in line.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let below = match (room.as_str(), used.as_str()) {
                    (room, used) if room == used => true,
                    // The simulator stands beside the house: only the command line lets it in, and it uses nothing.
                    ("sim", _) => false,
                    (room, "sim") => room == "cli",
                    ("lib" | "main", _) => true,
                    _ => match (level, FLOORS.iter().position(|floor| floor.contains(&used.as_str()))) {
                        (Some(own), Some(other)) => other >= own,
                        // Not a room: a macro or an item of the crate's root.
                        _ => true,
                    },
                };
                if !below {
                    wrong.push(format!("{}:{}: {room} uses {used}", file.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
