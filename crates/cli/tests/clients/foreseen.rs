//! Applications with a race, run once with ordinary reads: `skew serve --predict` finds the run in which they fail, and the line that it
//! prints makes that run again. Their fixes have none.
//!
//! ```text
//!   application at a level ──> by prediction | by at most two stepping stones | none
//!                                   │
//!                                   └── the saved run: skew check confirms it, and again: skew serve … --foretold fails in the same words
//! ```

use crate::clients;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What is to come of an application.
enum Expected {
    /// It fails, by the first that is predicted, with these words.
    ByPrediction(&'static str),
    /// It fails, and it may take stepping stones.
    BySteppingStones(&'static str),
    /// It cannot fail.
    Nothing,
}

use Expected::{ByPrediction, BySteppingStones, Nothing};

/// An application with a race, or with the race repaired.
struct Racer {
    folder: &'static str,
    environment: (&'static str, &'static str),
    words: &'static [&'static str],
}

const CART: Racer = Racer {
    folder: "shopping-cart",
    environment: ("CART_FIXED", "0"),
    words: &["-m", "pytest", "-q", "-p", "no:cacheprovider"],
};
const WITHDRAW: Racer = Racer { folder: "withdraw-app", environment: ("CART_FIXED", "0"), words: &["withdraw.py"] };
const SHOP: Racer =
    Racer { folder: "coupon-shop", environment: ("SHOP_WAY", "buggy"), words: &["manage.py", "test", "-v0"] };

impl Racer {
    fn prepared(&self, command: &mut Command, clients: &Path) {
        let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let (name, value) = self.environment;
        command.current_dir(examples.join(self.folder)).env(name, value).env("PYTHONDONTWRITEBYTECODE", "1");
        let built = Path::new(env!("CARGO_BIN_EXE_skew")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{}:{path}", built.display(), clients.join("python/bin").display()));
    }

    /// What `skew serve --predict` finds at a level, with failing runs in a folder.
    fn foreseen(&self, level: &str, findings: &Path, clients: &Path) -> Output {
        let mut command = Command::new("skew");
        command.args(["serve", "--predict", "--level", level, "--save"]).arg(findings);
        command.args(["--", "python"]).args(self.words);
        self.prepared(&mut command, clients);
        command.output().unwrap()
    }

    fn shell(&self, line: &str, clients: &Path) -> Output {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.prepared(&mut command, clients);
        command.output().unwrap()
    }

    fn expect(&self, level: &str, expected: &Expected) {
        let Some(clients) = clients() else { return };
        let (name, value) = self.environment;
        let title = format!("{}-{level}-{name}-{value}-{}", self.folder, self.words.join("-"));
        let findings = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("foreseen-{}", title.replace(':', "-")));
        let _ = std::fs::remove_dir_all(&findings);
        let ran = self.foreseen(level, &findings, &clients);
        let told = format!("{title}: {}", printed(&ran));
        assert!(told.contains("passes with ordinary reads"), "{told}");
        match expected {
            Nothing => {
                assert_eq!(ran.status.code(), Some(0), "{told}");
                assert!(told.contains("  none: ") && !told.contains("\n  again: "), "{told}");
                assert!(findings.join("recorded.jsonl").exists(), "{told}");
            }
            ByPrediction(message) => {
                assert!(told.contains("  fails  by prediction: "), "{told}");
                self.fails_again(&ran, message, level, &findings, &clients);
            }
            BySteppingStones(message) => {
                let ways = ["by prediction", "by one stepping stone", "by 2 stepping stones"];
                assert!(ways.iter().any(|way| told.contains(&format!("  fails  {way}"))), "{told}");
                self.fails_again(&ran, message, level, &findings, &clients);
            }
        }
    }

    /// The first run that failed fails again by its line, and the checker confirms it.
    fn fails_again(&self, ran: &Output, message: &str, level: &str, findings: &Path, clients: &Path) {
        let told = printed(ran);
        assert_eq!(ran.status.code(), Some(1), "{told}");
        assert!(told.contains(message) && told.contains(&format!("within {level} and not serializable")), "{told}");
        let line = told.lines().find_map(|line| line.strip_prefix("  again: "));
        let line = line.unwrap_or_else(|| panic!("no line that makes it again: {told}"));
        assert!(line.contains(" --foretold ") && !line.contains("--predict"), "{line}");
        let again = self.shell(line, clients);
        let shown = printed(&again);
        assert_eq!(again.status.code(), Some(1), "{line}\n{shown}");
        assert!(shown.contains(message) && shown.contains("the command failed: exit code 1"), "{line}\n{shown}");
        let saved = findings.join("failing-1.jsonl");
        let checked = self.shell(&format!("skew check --level {level},serializable '{}'", saved.display()), clients);
        let shown = printed(&checked);
        let verdict = |level: &str, word: &str| {
            shown.lines().any(|line| line.trim_start().starts_with(level) && line.contains(word))
        };
        assert!(verdict(level, "holds") && verdict("serializable", "fails"), "{shown}");
    }
}

fn printed(ran: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn a_deleted_lamp_comes_back_by_prediction_unless_the_cart_is_locked() {
    CART.expect("causal", &ByPrediction("the deleted lamp is back"));
    Racer { environment: ("CART_FIXED", "1"), ..CART }.expect("causal", &Nothing);
}

#[test]
fn two_people_who_withdraw_are_paid_too_much_by_prediction_unless_they_lock() {
    Racer { words: &["withdraw.py", "40"], ..WITHDRAW }
        .expect("read-committed", &ByPrediction("80 paid out, and 60 of 100 left"));
    Racer { words: &["withdraw.py", "40", "fixed"], ..WITHDRAW }.expect("read-committed", &Nothing);
}

#[test]
fn who_is_refused_when_all_goes_well_is_paid_all_the_same() {
    WITHDRAW.expect("read-committed", &BySteppingStones("120 paid out, and 40 of 100 left"));
    Racer { words: &["withdraw.py", "fixed"], ..WITHDRAW }.expect("read-committed", &Nothing);
}

#[test]
fn a_snapshot_loses_no_withdrawal() {
    WITHDRAW.expect("snapshot", &Nothing);
    Racer { words: &["withdraw.py", "40"], ..WITHDRAW }.expect("snapshot", &Nothing);
}

#[test]
fn a_voucher_is_used_twice_unless_it_is_unique() {
    SHOP.expect("snapshot", &BySteppingStones("the voucher was used twice"));
    let way = |way| Racer { environment: ("SHOP_WAY", way), ..SHOP };
    way("wrong-fix").expect("snapshot", &BySteppingStones("the voucher was used twice"));
    way("right-fix").expect("snapshot", &Nothing);
}

/// Django asks for read committed in every run.
#[test]
fn a_level_that_nobody_gets_is_told_once() {
    let Some(clients) = clients() else { return };
    let findings = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreseen-overruled");
    let told = printed(&SHOP.foreseen("snapshot", &findings, &clients));
    assert_eq!(told.matches("a client asked for ReadCommitted").count(), 1, "{told}");
    assert!(told.contains("made again"), "{told}");
}
