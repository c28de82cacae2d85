//! The book is whole, and its small histories have the verdicts that it claims.
//!
//! A fenced block of the kind `history` is a history in the notation, then what holds and what fails:
//!
//! ```text
//!   a: r(x,init) w(x,1)
//!   b: r(x,init) w(x,2)
//!   holds: rc ra cc pc
//!   fails: psi si ser
//! ```

use crate::{assert_none, files_below, read, root, shown};
use skew_check::{Budget, Verdict, check};
use skew_history::format::Format;
use skew_history::{History, IsolationLevel, notation};
use skew_testing::skipped;
use std::path::{Path, PathBuf};

fn pages() -> Vec<PathBuf> {
    files_below(&root().join("docs").join("src"), ".md")
}

/// The targets of the links of a page, without those into the web.
fn links(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        if !fenced {
            // Code between backticks is not a link.
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    local.map(|target| target.split('#').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_page_is_in_the_summary() {
    let source = root().join("docs").join("src");
    let summary = links(&read(&source.join("SUMMARY.md")));
    let missing: Vec<String> = pages()
        .iter()
        .map(|page| page.strip_prefix(&source).unwrap_or(page).to_string_lossy().replace('\\', "/"))
        .filter(|page| page != "SUMMARY.md" && !summary.contains(page))
        .collect();
    assert_none(&missing, "pages that docs/src/SUMMARY.md does not list:");
    assert!(summary.len() > 10, "where is the book?");
}

#[test]
fn every_link_leads_somewhere() {
    let mut documents = pages();
    documents.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root().join(name)));
    documents.extend(files_below(&root().join("benchmarks"), ".md"));
    let mut complaints = Vec::new();
    for document in documents {
        let folder = document.parent().unwrap_or(Path::new("")).to_owned();
        let dead = links(&read(&document)).into_iter().filter(|link| !folder.join(link).exists());
        complaints.extend(dead.map(|link| format!("{}: {link}", shown(&document))));
    }
    assert_none(&complaints, "dead links:");
}

#[test]
fn links_inside_code_are_none() {
    assert_eq!(links("a [b](c.md#d) `[x](y)` [w](https://e.org)\n```\n[f](g.md)\n```\n"), ["c.md"]);
}

/// The rows of the table of formats: names, and whether the last cell says that they are written.
fn formats_of_the_book() -> Vec<(String, bool)> {
    let page = read(&root().join("docs").join("src").join("other-formats.md"));
    let rows = page.lines().filter(|line| line.starts_with("| `") && !line.contains("`--from`"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let is_written = cells.last() == Some(&"yes");
        let names = cells[0].split(',').map(|name| name.trim().trim_matches('`').to_owned());
        names.map(|name| (name, is_written)).collect::<Vec<_>>()
    };
    rows.flat_map(row).collect()
}

#[test]
fn the_book_lists_every_format_and_whether_it_is_written() {
    let written = Format::written();
    let formats = Format::ALL.map(|format| (format.name().to_owned(), written.contains(&format)));
    assert_eq!(formats_of_the_book(), formats, "docs/src/other-formats.md has a row for every format, in this order");
}

/// A history of the book and what the book says of it.
struct Claim {
    place: String,
    text: String,
    holds: Vec<IsolationLevel>,
    fails: Vec<IsolationLevel>,
    unknown: Vec<IsolationLevel>,
}

fn claims() -> Vec<Claim> {
    let mut claims = Vec::new();
    for page in pages() {
        let text = read(&page);
        for block in text.split("```history\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            let levels = |word: &str| -> Vec<IsolationLevel> {
                let line = block.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default();
                line.split_whitespace().map(|level| level.parse().expect("a level")).collect()
            };
            let is_claim = |line: &&str| ["holds:", "fails:", "unknown:"].iter().any(|word| line.starts_with(word));
            let history: Vec<&str> = block.lines().filter(|line| !is_claim(line)).collect();
            claims.push(Claim {
                place: shown(&page),
                text: history.join("\n"),
                holds: levels("holds:"),
                fails: levels("fails:"),
                unknown: levels("unknown:"),
            });
        }
    }
    claims
}

fn parse(text: &str) -> History {
    notation::parse(text).unwrap_or_else(|refusal| panic!("{text}\n{refusal}"))
}

#[test]
fn the_small_histories_of_the_book_have_the_verdicts_that_it_claims() {
    let claims = claims();
    assert!(claims.len() >= 10, "where are the histories?");
    let (mut complaints, mut unknown) = (Vec::new(), 0);
    for claim in &claims {
        let history = parse(&claim.text);
        assert!(!claim.holds.is_empty() || !claim.fails.is_empty(), "{} claims nothing", claim.text);
        for (levels, expected) in [(&claim.holds, "holds"), (&claim.fails, "fails"), (&claim.unknown, "unknown")] {
            for &level in levels {
                let verdict = check(&history, level, Budget::UNLIMITED);
                if verdict.word() == expected {
                    continue;
                }
                if matches!(verdict, Verdict::Unknown(_)) {
                    unknown += 1;
                } else {
                    complaints.push(format!("{}: {level} {}:\n{}", claim.place, verdict.word(), claim.text));
                }
            }
        }
    }
    if unknown > 0 {
        skipped(&format!("{unknown} claims of the book: the checker does not know"));
    }
    assert_none(&complaints, "the book is wrong, or the checker:");
}
