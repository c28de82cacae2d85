//! What holds for the house as a whole: which crate may know which, what code looks like, whose code we use, and that the
//! documentation tells the truth.
//!
//! | module | holds that |
//! |---|---|
//! | `arrows` | crates know only the crates that ARCHITECTURE.md allows, all of lower tiers, and touch of the world only what it allows |
//! | `modules` | ARCHITECTURE.md has every module of every crate, and modules form no large cycle |
//! | `names` | no type name is used for many things |
//! | `fields` | the mock's store and its parts keep their fields to their own files |
//! | `style` | files and functions stay short, teach, and leave no loose ends |
//! | `dependencies` | licences, sources and duplicates of what we use are in order |
//! | `book` | every page is in the summary, every link leads somewhere, every small history has the verdicts it claims |
//! | `console` | every console block of the README and the book prints what it says |
//!
//! They read ARCHITECTURE.md (`architecture`), what cargo knows of the crates (`workspace`) and code without its comments (`source`). A test that
//! cannot run here says so, in a line that only one function writes.

mod architecture;
mod arrows;
mod book;
mod console;
mod dependencies;
mod fields;
mod modules;
mod names;
mod source;
mod style;
mod workspace;

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn root() -> PathBuf {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    cli.parent().and_then(Path::parent).expect("crates/cli lies two folders below the root").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path as seen from the root, with slashes.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// All files below a folder whose names end so, sorted; folders of build results and hidden ones are left out.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let built = name == "target" || name == "book" && path.join("index.html").exists();
            if path.is_dir() && !built && !name.starts_with('.') {
                folders.push(path);
            } else if path.is_file() && name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Fails with all complaints at once.
fn assert_none(complaints: &[String], rule: &str) {
    assert!(complaints.is_empty(), "{rule}\n  {}", complaints.join("\n  "));
}
