//! The crates of the workspace, as cargo knows them, and their source.

use crate::source::code;
use crate::{files_below, read, root};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What `cargo metadata` says.
pub(crate) fn metadata(arguments: &[&str]) -> Option<Value> {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    if !output.status.success() {
        return None;
    }
    Some(serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON"))
}

/// A crate of the workspace.
pub(crate) struct Crate {
    /// The name without `skew-`.
    pub(crate) name: String,
    /// Those of the workspace that it depends on, tests aside.
    pub(crate) knows: Vec<String>,
    /// `lib.rs`, `main.rs` or both.
    roots: Vec<PathBuf>,
}

/// All crates of the workspace.
pub(crate) fn crates() -> Vec<Crate> {
    let metadata = metadata(&["--no-deps", "--offline"]).expect("cargo metadata without dependencies needs no network");
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().map(Crate::new).collect()
}

/// The programs of the workspace.
pub(crate) fn binaries() -> Vec<String> {
    let metadata = metadata(&["--no-deps", "--offline"]).expect("cargo metadata without dependencies needs no network");
    let targets =
        metadata["packages"].as_array().into_iter().flatten().flat_map(|package| package["targets"].as_array());
    let programs = targets.flatten().filter(|target| target["kind"][0] == "bin");
    programs.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
}

fn short(name: &Value) -> Option<String> {
    name.as_str().and_then(|name| name.strip_prefix("skew-")).map(str::to_owned)
}

impl Crate {
    fn new(package: &Value) -> Crate {
        let list = |name: &str| package[name].as_array().cloned().unwrap_or_default();
        let dependencies =
            list("dependencies").into_iter().filter(|dependency| dependency["kind"].as_str() != Some("dev"));
        let is_inside = |target: &Value| target["src_path"].as_str().is_some_and(|path| path.ends_with("/src/main.rs"));
        let is_own = |target: &Value| target["kind"][0] == "lib" || is_inside(target);
        let roots = list("targets").into_iter().filter(is_own);
        Crate {
            name: short(&package["name"]).expect("every package is called skew-something"),
            knows: dependencies.filter_map(|dependency| short(&dependency["name"])).collect(),
            roots: roots.filter_map(|target| target["src_path"].as_str().map(PathBuf::from)).collect(),
        }
    }

    /// The modules that stand in `lib.rs` and `main.rs`, those for tests left out.
    pub(crate) fn modules(&self) -> Vec<String> {
        let module = |line: &str| {
            let (before, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
            (before.is_empty() || before.starts_with("pub")).then(|| name.to_owned())
        };
        let of_root = |path: &PathBuf| code(&read(path)).lines().filter_map(module).collect::<Vec<_>>();
        self.roots.iter().flat_map(of_root).collect()
    }

    /// The code of `lib.rs` and `main.rs`.
    pub(crate) fn root_code(&self) -> String {
        self.roots.iter().map(|path| code(&read(path))).collect()
    }

    /// All files, each with its code.
    pub(crate) fn files(&self) -> Vec<SourceFile> {
        let folder = root().join("crates").join(&self.name).join("src");
        let file = |path: PathBuf| SourceFile { module: module_of(&path, &folder), code: code(&read(&path)), path };
        // A file beside its tests: `a/tests.rs` is a module that only tests see.
        let is_for_tests = |path: &PathBuf| path.ends_with("tests.rs");
        files_below(&folder, ".rs").into_iter().filter(|path| !is_for_tests(path)).map(file).collect()
    }
}

/// A file of a crate.
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    /// The path of its module from the crate's root on; nothing for the root itself.
    pub(crate) module: Vec<String>,
    pub(crate) code: String,
}

fn module_of(path: &Path, folder: &Path) -> Vec<String> {
    let inside = path.strip_prefix(folder).unwrap_or(path).with_extension("");
    let mut names: Vec<String> = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|last| last == "mod") || names.len() == 1 && ["lib", "main"].contains(&&*names[0]) {
        names.pop();
    }
    names
}

#[test]
fn a_file_is_the_module_of_its_name() {
    let module = |path: &str| module_of(Path::new(path), Path::new("src")).join("::");
    assert_eq!([module("src/lib.rs"), module("src/a.rs"), module("src/a/mod.rs")], ["", "a", "a"]);
    assert_eq!(module("src/a/b/main.rs"), "a::b::main");
}
