//! Console blocks of the README and the book are run, and print what they say.
//!
//! ```text
//!   $ skew check lost-update.jsonl        run by the shell, with this build of skew, in a copy of examples/
//!   lost-update.jsonl: 2 sessions, …      compared exactly with what is printed, on both streams
//!   ...                                   stands for any number of lines
//! ```
//!
//! A block of the kind `console clients` needs the clients that `./test` installs, and is left alone where they are not.
//!
//! All blocks of one document share one copy of the folder, so that a later block may use what an earlier one wrote. With
//! `SKEW_UPDATE_CONSOLE=1` in the environment blocks that differ are rewritten instead of refused.

use crate::{assert_none, files_below, read, root, shown};
use skew_testing::skipped;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLIENTS_FENCE: &str = "```console clients";

/// The folder of the installed clients, when there is one.
fn clients() -> Option<PathBuf> {
    let named = std::env::var("SKEW_CLIENTS").ok().filter(|name| !name.is_empty() && name != "no");
    named.map(|name| root().join(name))
}

/// A command of a block and the lines that should follow it.
#[derive(Debug, PartialEq, Eq)]
struct Exchange {
    command: String,
    expected: Vec<String>,
}

/// A document, cut into what is prose and what is run.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// A line that stays as it is.
    Line(String),
    Exchange(Exchange),
}

fn parse(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let fence = line.starts_with("```");
        if fence {
            inside = !inside && (line == "```console" || line == CLIENTS_FENCE && clients().is_some());
        }
        match parts.last_mut() {
            _ if inside && line.starts_with("$ ") => {
                parts.push(Part::Exchange(Exchange { command: line[2..].to_owned(), expected: Vec::new() }));
            }
            Some(Part::Exchange(exchange)) if inside && !fence => exchange.expected.push(line.to_owned()),
            _ => parts.push(Part::Line(line.to_owned())),
        }
    }
    parts
}

fn unparse(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Line(line) => text.push_str(line),
            Part::Exchange(exchange) => {
                text.push_str("$ ");
                text.push_str(&exchange.command);
                exchange.expected.iter().for_each(|line| {
                    text.push('\n');
                    text.push_str(line);
                });
            }
        }
        text.push('\n');
    }
    text
}

/// Whether the lines are the expected ones, where `...` stands for any number of them.
fn matches(expected: &[String], actual: &[String]) -> bool {
    // The usual walk with one place to come back to: a later `...` makes an earlier one final.
    let (mut at, mut line) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while line < actual.len() {
        if expected.get(at).is_some_and(|text| text == "...") {
            back = Some((at + 1, line));
            at += 1;
        } else if expected.get(at) == Some(&actual[line]) {
            (at, line) = (at + 1, line + 1);
        } else if let Some((after, from)) = back {
            back = Some((after, from + 1));
            (at, line) = (after, from + 1);
        } else {
            return false;
        }
    }
    expected[at..].iter().all(|text| text == "...")
}

fn run(command: &str, folder: &Path, skew: &Path) -> Vec<String> {
    let own = skew.parent().expect("a binary lies in a folder").to_string_lossy().into_owned();
    let python = clients().map_or_else(String::new, |clients| format!("{}:", clients.join("python/bin").display()));
    let path = format!("{own}:{python}{}", std::env::var("PATH").unwrap_or_default());
    let node = clients().map_or_else(PathBuf::new, |clients| clients.join("node/node_modules"));
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env("NODE_PATH", node)
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Some tools print more where it is set, and whoever follows the book has not set it.
        .env_remove("CI")
        .output()
        .expect("sh runs");
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_end().to_owned()).collect()
}

/// A copy of examples/ for one document.
fn copy_of_examples(document: &Path) -> PathBuf {
    let name = shown(document).replace(['/', '.'], "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("console-{name}"));
    // What an earlier run left there is not part of this one.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder to work in");
    let examples = root().join("examples");
    for file in files_below(&examples, "") {
        let target = folder.join(file.strip_prefix(&examples).expect("a file of examples/"));
        fs::create_dir_all(target.parent().expect("a file lies in a folder")).expect("a folder of the copy");
        fs::copy(&file, target).expect("a copy");
    }
    folder
}

/// Runs the blocks of a document, and says what differs.
fn check_document(document: &Path, skew: &Path, update: bool) -> Vec<String> {
    let mut parts = parse(&read(document));
    let folder = copy_of_examples(document);
    let mut complaints = Vec::new();
    for part in &mut parts {
        let Part::Exchange(exchange) = part else { continue };
        let actual = run(&exchange.command, &folder, skew);
        let expected: Vec<String> = exchange.expected.iter().map(|line| line.trim_end().to_owned()).collect();
        if !matches(&expected, &actual) {
            complaints.push(format!("{}: $ {}\n{}", shown(document), exchange.command, actual.join("\n")));
            exchange.expected = actual;
        }
    }
    if update && !complaints.is_empty() {
        fs::write(document, unparse(&parts)).expect("the document can be written");
        return Vec::new();
    }
    complaints
}

#[test]
fn console_blocks_print_what_they_say() {
    let Some(skew) = option_env!("CARGO_BIN_EXE_skew") else {
        skipped("console blocks: this build has no binary called skew");
        return;
    };
    let update = std::env::var_os("SKEW_UPDATE_CONSOLE").is_some();
    let mut documents = vec![root().join("README.md")];
    documents.extend(files_below(&root().join("docs").join("src"), ".md"));
    let complaints: Vec<String> =
        documents.iter().flat_map(|document| check_document(document, Path::new(skew), update)).collect();
    assert_none(&complaints, "a block says something else (SKEW_UPDATE_CONSOLE=1 rewrites it); it prints:");
}

#[test]
fn blocks_are_cut_into_commands_and_lines_and_put_together_again() {
    let text = "# A\n```console\n$ a b\nc\n\nd\n$ e\n```\n```sh\n$ not this\n```\nend\n";
    let parts = parse(text);
    let exchanges: Vec<&Exchange> =
        parts.iter().filter_map(|part| if let Part::Exchange(it) = part { Some(it) } else { None }).collect();
    assert_eq!(exchanges.len(), 2);
    assert_eq!((exchanges[0].command.as_str(), exchanges[0].expected.as_slice()), ("a b", lines("c\n\nd").as_slice()));
    assert!(exchanges[1].expected.is_empty());
    assert_eq!(unparse(&parts), text);
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn three_dots_stand_for_any_number_of_lines() {
    assert!(matches(&lines("..."), &[]) && matches(&[], &[]) && matches(&lines("a\n...\nc"), &lines("a\nb\nb\nc")));
    assert!(matches(&lines("...\nb\n...\nd"), &lines("a\nb\nc\nb\nd")));
    assert!(!matches(&lines("a\n...\nc"), &lines("a\nb")) && !matches(&[], &lines("a")));
    assert!(!matches(&lines("a"), &[]) && !matches(&lines("...\nb"), &lines("b\na")));
}

#[test]
fn a_block_runs_with_the_binary_of_this_build_in_a_copy_of_the_examples() {
    let document = root().join("README.md");
    let folder = copy_of_examples(&document.with_file_name("try.md"));
    let somewhere = folder.join("skew");
    assert_eq!(run("ls | head -1; echo oops >&2; exit 3", &folder, &somewhere).len(), 2);
    assert_eq!(run("echo \"${PATH%%:*}\"", &folder, &somewhere), [folder.to_string_lossy()]);
}
