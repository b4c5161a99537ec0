//! The dashboard: the application state and its transitions ([`app`]), the [`features`], the modules they share ([`widgets`],
//! [`input`], [`session`]), and the event loop with its background tasks ([`runtime`]).

pub mod app;
pub mod features;
pub mod input;
pub mod runtime;
pub mod session;
pub mod widgets;

/// Boxes a public call, so that its code is made once, in this crate, and not again in each crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => sources(&path, out),
                false if path.extension().is_some_and(|ending| ending == "rs") => out.push(path),
                false => {}
            }
        }
    }

    /// Returns the `crate::` paths that the files of a folder use, each with its file.
    fn used_paths(folder: &str) -> Vec<(String, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files);
        let mut used_paths = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for part in text.split("crate::").skip(1) {
                let path = part
                    .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                    .next()
                    .unwrap();
                used_paths.push((path.to_string(), file.display().to_string()));
            }
            assert!(
                !text.contains("use crate::{"),
                "{}: import from the module; this test can't read grouped imports",
                file.display()
            );
        }
        assert!(!used_paths.is_empty(), "{folder} uses no module");
        used_paths
    }

    #[test]
    fn features_use_neither_each_other_nor_the_application() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/features");
        for entry in fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir())
        {
            let feature = entry.file_name().into_string().unwrap();
            for (path, file) in used_paths(&format!("features/{feature}")) {
                let is_own = path
                    .strip_prefix("features::")
                    .is_none_or(|rest| rest.split("::").next() == Some(&feature));
                let is_below = !path.starts_with("app") && !path.starts_with("runtime");
                assert!(is_own && is_below, "{file} uses {path}");
            }
        }
    }

    #[test]
    fn widgets_input_and_session_use_no_feature() {
        for folder in ["widgets", "input", "session"] {
            for (path, file) in used_paths(folder) {
                let is_below =
                    !["features", "app", "runtime"].contains(&path.split("::").next().unwrap());
                assert!(is_below, "{file} uses {path}");
            }
        }
    }
}
