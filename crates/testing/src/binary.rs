//! Which test binaries there are, and which tests are in them.
//!
//! Cargo says so in JSON, an object per line. The few members that are needed are found as text: a runner without dependencies is there in
//! two seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A binary with tests.
pub(crate) struct Binary {
    /// The folder of its package and the name of its target: `check spec`; `check lib` for those inside the library.
    pub(crate) title: String,
    pub(crate) executable: PathBuf,
    /// The folder of its package, in which cargo would run it.
    pub(crate) folder: PathBuf,
}

/// Builds all tests of the workspace. Warnings and errors of the compiler are printed by cargo.
pub(crate) fn build() -> Result<Vec<Binary>, String> {
    let mut command = cargo();
    command.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("cargo does not run: {error}"))?;
    if !output.status.success() {
        return Err("the tests do not build".to_owned());
    }
    let binaries: Vec<Binary> = String::from_utf8_lossy(&output.stdout).lines().filter_map(binary).collect();
    if binaries.is_empty() { Err("there are no tests".to_owned()) } else { Ok(binaries) }
}

/// The cargo that started this program, or else any.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The test binary that a line of cargo's is about.
fn binary(line: &str) -> Option<Binary> {
    let is_test = line.split_once("\"profile\":").is_some_and(|(_, profile)| profile.contains("\"test\":true"));
    if !is_test {
        return None;
    }
    let executable = PathBuf::from(member(line, "executable")?);
    let folder = Path::new(member(line, "manifest_path")?).parent()?.to_owned();
    let (_, target) = line.split_once("\"target\":")?;
    let is_integration = target.starts_with("{\"kind\":[\"test\"]");
    let target = if is_integration { member(target, "name")? } else { "lib" };
    Some(Binary { title: format!("{} {target}", folder.file_name()?.to_string_lossy()), executable, folder })
}

/// The first text under this name.
fn member<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = line.split_once(&format!("\"{name}\":\""))?;
    value.split('"').next()
}

impl Binary {
    /// The names of its tests.
    pub(crate) fn tests(&self) -> Result<Vec<String>, String> {
        let output = Command::new(&self.executable).args(["--list", "--format", "terse"]).output();
        let output = output.map_err(|error| format!("{}: {error}", self.executable.display()))?;
        if !output.status.success() {
            return Err(format!("{} does not list its tests", self.title));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/check/Cargo.toml","target":{"kind":["test"],"name":"spec","test":true},"profile":{"opt_level":"1","test":true},"executable":"/a/target/spec-1"}"#;

    #[test]
    fn a_test_binary_is_found_in_what_cargo_says() {
        let spec = binary(SPEC).unwrap();
        assert_eq!(spec.title, "check spec");
        assert_eq!((spec.executable, spec.folder), ("/a/target/spec-1".into(), "/a/crates/check".into()));
        assert_eq!(binary(&SPEC.replace("[\"test\"]", "[\"lib\"]")).unwrap().title, "check lib");
    }

    #[test]
    fn what_is_built_for_tests_is_no_test() {
        let program = SPEC.replace("\"opt_level\":\"1\",\"test\":true", "\"opt_level\":\"1\",\"test\":false");
        assert!(binary(&program).is_none());
        assert!(binary(&SPEC.replace("\"/a/target/spec-1\"", "null")).is_none());
        assert!(binary("{\"reason\":\"build-finished\",\"success\":true}").is_none());
    }
}
