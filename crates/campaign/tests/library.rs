//! Campaigns without the command: settings in, a tally and its report out, nothing printed and no file written.

use skew_campaign::driven::{DriveCampaign, DriveReport, DriveSettings, MockSettings, RegistersChoice, WorkloadChoice};
use skew_campaign::played::{PlayCampaign, PlayReport, PlayRules, PlaySettings, Weakness};
use skew_campaign::recording::NoArchive;
use skew_campaign::served::database::DatabaseSettings;
use skew_campaign::served::{ServeReport, ServeSettings, serve};
use skew_campaign::{Conclusion, Moment, ProgramFile, RunProgress, StopFlags};
use skew_history::IsolationLevel;
use skew_mockdb::wire::{Schedule, WireSettings};
use skew_mockdb::{ChooserKind, Granularity, Updates};
use skew_view::Palette;
use skew_workload::Turns;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

static NEVER: AtomicBool = AtomicBool::new(false);
const STOP: StopFlags<'static> = StopFlags { stop: &NEVER, interrupted: &NEVER };

const LOST_UPDATE: &str = "
CREATE TABLE counter (id INT PRIMARY KEY, count INT NOT NULL);
INSERT INTO counter VALUES (1, 0);
CREATE PROCEDURE increment()
BEGIN
    DECLARE seen INT;
    SELECT count INTO seen FROM counter WHERE id = 1;
    UPDATE counter SET count = seen + 1 WHERE id = 1;
END;
SESSION alice: CALL increment();
SESSION bob: CALL increment();
ASSERT 'both count': (SELECT count FROM counter WHERE id = 1) = 2;
";

#[test]
fn a_program_is_played() {
    let file = ProgramFile::parse("counter.sql".to_owned(), LOST_UPDATE.to_owned(), Moment::USUAL, &[]).unwrap();
    let weakness = Weakness {
        level: IsolationLevel::ReadCommitted,
        updates: Updates::Atomic,
        granularity: Granularity::Row,
        chooser: ChooserKind::Random,
        turns: true,
    };
    let rules = PlayRules { weakness, retries: 10, most_steps: 10_000 };
    let settings = PlaySettings { rules, seed: 1, runs: 30, stop_at_first: false, against: None, budget: 1_000_000 };
    let replay = |seed: u64| format!("again {seed}");
    let mut histories = Vec::new();
    let mut keep = |seed: u64, history: &str| {
        histories.push((seed, history.to_owned()));
        Ok(())
    };
    let (tally, played) = PlayCampaign::new(&file, settings, STOP, &replay).play(&mut keep);
    played.unwrap();
    assert_eq!(histories.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(), (1..=30).collect::<Vec<_>>());
    assert_eq!(tally.conclusion(false, false), Conclusion::Found);
    let report = PlayReport { file: &file, settings: &settings, tally: &tally, exhibits: &[], replay: &replay };
    let text = report.human(Palette::PLAIN);
    assert!(text.contains("fails  both count") && text.contains("stale update") && text.contains("\nagain "), "{text}");
    assert!(report.json().contains("\"replay\":\"again "));
    assert!(report.findings().iter().any(|(kind, _)| kind.name() == "stale-update"));
}

#[test]
#[cfg(unix)]
fn a_command_is_run_on_fresh_databases() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let command = |line: &str| ["sh", "-c", line].map(str::to_owned).to_vec();
    let mut settings = ServeSettings {
        database: DatabaseSettings {
            level: Some(IsolationLevel::Causal),
            updates: Updates::Atomic,
            horizon: None,
            bare: false,
            abort_rate: 0.0,
            clock: Moment::USUAL,
            chooser: ChooserKind::Random,
            log: None,
            initial: None,
        },
        wire: WireSettings { address, password: None, schedule: Schedule::Interleaved, delay: None },
        command: command("test -n \"$DATABASE_URL\""),
        has_terminal: false,
        seed: 7,
        runs: 3,
        jobs: 2,
        stop_at_first: false,
        timeout: Some(Duration::from_secs(60)),
        against: IsolationLevel::Serializable,
        budget: 1_000_000,
    };
    let mut last = None;
    let (tally, served) = serve(&settings, &NoArchive, STOP, &mut |progress| last = Some(progress));
    served.unwrap();
    assert_eq!(last, Some(RunProgress { done: 3, runs: 3, failed: 0 }));
    assert_eq!(tally.conclusion(false), Conclusion::Holds);
    settings.command = command("echo no; exit 4");
    let (tally, served) = serve(&settings, &NoArchive, STOP, &mut |_| {});
    served.unwrap();
    let replay = |seed: u64, _: bool| format!("again {seed}");
    let report = ServeReport { settings: &settings, tally: &tally, replay: &replay, is_replay: false };
    let text = report.human(Palette::PLAIN);
    assert!(text.contains("seed 9: exit code 4") && text.ends_with("\nagain 7\n"), "{text}");
    assert!(text.contains("output of seed 7\n  no\n"), "{text}");
}

/// Two sessions of five transactions on the mock database.
fn driven(order: Turns, runs: u64) -> DriveCampaign<'static> {
    let level = IsolationLevel::Serializable;
    let choice = WorkloadChoice {
        name: "registers",
        sessions: Some(2),
        transactions: Some(5),
        registers: RegistersChoice::default(),
        level,
        mock: Some(Updates::Atomic),
        scan: false,
        limit: None,
    };
    let mock = MockSettings {
        updates: Updates::Atomic,
        granularity: Granularity::Row,
        chooser: ChooserKind::Random,
        bare: false,
        clock: Moment::USUAL,
    };
    let settings = DriveSettings {
        seed: 1,
        runs,
        jobs: 1,
        level,
        against: Some(level),
        budget: u64::MAX,
        retries: 10,
        patience: Duration::from_secs(20),
        prefix: "skew_".to_owned(),
        drop: false,
        mock,
        own: None,
        order,
        scan: false,
    };
    DriveCampaign::new(choice.workload().unwrap(), settings, Vec::new(), &NoArchive, STOP)
}

/// Whose transactions come after whose, in a history.
fn sessions(history: &str) -> Vec<usize> {
    let number = |line: &str| line.split_once(r#"{"session":"s"#)?.1.split('"').next()?.parse::<usize>().ok();
    history.lines().filter_map(number).map(|number| number - 1).collect()
}

#[test]
fn transactions_come_in_the_order_that_is_prescribed() {
    for order in [[1, 1, 0, 1, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]] {
        let ran = driven(Turns::Prescribed(order.to_vec()), 1).drive_once(true, None).unwrap();
        assert_eq!(sessions(&ran.history), order);
    }
    // Who has nothing left is passed over; what is left over comes, too.
    let ran = driven(Turns::Prescribed(vec![1, 1, 1, 1, 1, 1, 1, 7, 0]), 1).drive_once(true, None).unwrap();
    assert_eq!(sessions(&ran.history), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]);
}

#[test]
fn a_workload_is_driven_on_the_mock_database() {
    let campaign = driven(Turns::AsTheyCome, 2);
    let (tally, driven) = campaign.drive(&mut |_| {});
    driven.unwrap();
    assert_eq!(tally.conclusion(true), Conclusion::Holds);
    let report = DriveReport { campaign: &campaign, tally: &tally, replay: &|seed| format!("again {seed}") };
    let text = report.human(Palette::PLAIN);
    assert!(text.starts_with("registers: 2 runs from seed 1, 2 sessions of 5 transactions at serializable"), "{text}");
}
