//! What every generated history has in common, and the files it is written to.

use skew_chance::Preset;
use skew_generate::{
    Content, GenerateError, GeneratedEvent, InjectedAnomaly, OutputFormat, ParameterError, Parameters, generate,
    to_history, write,
};
use skew_history::{Action, IsolationLevel, Outcome, notation};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

fn bytes(parameters: &Parameters, format: OutputFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(parameters, format, &mut bytes).unwrap();
    bytes
}

fn rich(level: IsolationLevel) -> Parameters {
    Parameters {
        sessions: 6,
        transactions: 300,
        keys: 40,
        lists: 0.3,
        list_length: 5,
        read_modify_write: 0.2,
        duplicates: 0.1,
        aborted: 0.1,
        unknown: 0.1,
        times: true,
        declare_level: true,
        level,
        seed: 11,
        ..Parameters::default()
    }
}

/// FNV-1a, to pin bytes without keeping them.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for level in IsolationLevel::of_papers() {
        let parameters = rich(level);
        let first = bytes(&parameters, OutputFormat::Native);
        assert_eq!(first, bytes(&parameters, OutputFormat::Native));
        assert_ne!(first, bytes(&Parameters { seed: 12, ..parameters }, OutputFormat::Native));
    }
}

#[test]
fn the_bytes_of_a_seed_are_those_of_every_other_machine() {
    let pinned = [PINNED_UNIFORM, PINNED_ZIPFIAN];
    let uniform = Parameters::speed(IsolationLevel::Snapshot, 500);
    let now = [uniform, Parameters::preset(Preset::GeneralRw)]
        .map(|parameters| fingerprint(&bytes(&parameters, OutputFormat::Native)));
    assert_eq!(now, pinned);
}

const PINNED_UNIFORM: u64 = 15891658464655705947;
const PINNED_ZIPFIAN: u64 = 3305312362858149036;

#[test]
fn counts_are_those_that_were_asked_for() {
    for level in IsolationLevel::of_papers() {
        for sessions in [1, 7, 500] {
            let parameters = Parameters { sessions, transactions: 200, keys: 50, level, ..Parameters::default() };
            let (mut transactions, mut reads) = (0, 0);
            generate(&parameters, &mut |transaction| {
                transactions += 1;
                assert_eq!(transaction.id, transactions);
                assert_eq!(transaction.events.len(), 8);
                assert!((1..=sessions).contains(&transaction.session));
                assert_eq!(transaction.outcome, Outcome::Committed);
                reads += transaction.events.iter().filter(|event| event.action == Action::Read).count();
                Ok(())
            })
            .unwrap();
            assert_eq!(transactions, 200);
            assert!((650..950).contains(&reads), "{reads} reads of 1600 events");
        }
    }
}

/// Everything that a read of `key` may return: what somebody wrote, who was not aborted.
fn written(parameters: &Parameters) -> BTreeMap<u64, BTreeSet<i64>> {
    let mut written: BTreeMap<u64, BTreeSet<i64>> = BTreeMap::new();
    generate(parameters, &mut |transaction| {
        let aborted = matches!(transaction.outcome, Outcome::AbortedByDatabase | Outcome::AbortedByProgram);
        for event in transaction.events.iter().filter(|event| !aborted && event.action != Action::Read) {
            let Content::Integer(value) = event.content else { panic!("a list was written") };
            written.entry(event.key).or_default().insert(value);
        }
        Ok(())
    })
    .unwrap();
    written
}

fn explained(event: &GeneratedEvent, own: &[GeneratedEvent], written: &BTreeMap<u64, BTreeSet<i64>>) -> bool {
    let known = |value: &i64| {
        let mine = own.iter().any(|other| {
            other.key == event.key && other.action != Action::Read && other.content == Content::Integer(*value)
        });
        mine || written.get(&event.key).is_some_and(|values| values.contains(value))
    };
    match &event.content {
        Content::Absent => true,
        Content::Integer(value) => known(value),
        Content::List(elements) => elements.iter().all(known),
    }
}

#[test]
fn every_read_returns_what_somebody_wrote_and_did_not_abort() {
    for level in IsolationLevel::of_papers() {
        let parameters = rich(level);
        let written = written(&parameters);
        let mut unseen = 0;
        generate(&parameters, &mut |transaction| {
            for (place, event) in
                transaction.events.iter().enumerate().filter(|(_, event)| event.action == Action::Read)
            {
                assert!(explained(event, &transaction.events[..place], &written), "{level}: {event:?}");
                unseen += usize::from(event.content == Content::Absent);
            }
            Ok(())
        })
        .unwrap();
        assert!(unseen > 0);
    }
}

#[test]
fn lists_of_one_key_are_prefixes_of_one_another() {
    for level in IsolationLevel::of_papers() {
        let mut longest: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        generate(&Parameters { lists: 1.0, ..rich(level) }, &mut |transaction| {
            let own: BTreeSet<u64> = transaction
                .events
                .iter()
                .filter(|event| event.action == Action::Append)
                .map(|event| event.key)
                .collect();
            for event in transaction.events.iter().filter(|event| !own.contains(&event.key)) {
                let Content::List(elements) = &event.content else { continue };
                let longest = longest.entry(event.key).or_default();
                let shorter = longest.len().min(elements.len());
                assert_eq!(longest[..shorter], elements[..shorter], "{level}");
                if elements.len() > longest.len() {
                    *longest = elements.to_vec();
                }
            }
            Ok(())
        })
        .unwrap();
        assert!(longest.values().any(|elements| elements.len() > 2));
    }
}

#[test]
fn times_follow_the_sessions_and_snapshots_overlap() {
    let parameters = Parameters { times: true, level: IsolationLevel::Snapshot, ..Parameters::default() };
    let mut ends: BTreeMap<u32, i64> = BTreeMap::new();
    let (mut last_end, mut overlaps) = (-1, 0);
    generate(&parameters, &mut |transaction| {
        let (begin, end) = (transaction.times.begin.unwrap(), transaction.times.end.unwrap());
        assert!(begin < end && ends.insert(transaction.session, end).is_none_or(|before| before < begin));
        overlaps += usize::from(begin < last_end);
        last_end = end;
        Ok(())
    })
    .unwrap();
    assert!(overlaps > 500, "{overlaps}");
}

#[test]
fn refused_attempts_are_recorded_only_when_asked_for() {
    let contended =
        Parameters { keys: 16, transactions: 200, level: IsolationLevel::Snapshot, ..Parameters::default() };
    let outcomes = |refused| {
        let (mut committed, mut aborted, mut values) = (0, 0, BTreeSet::new());
        generate(&Parameters { refused, ..contended.clone() }, &mut |transaction| {
            *(if transaction.outcome == Outcome::Committed { &mut committed } else { &mut aborted }) += 1;
            for event in transaction.events.iter().filter(|event| event.action == Action::Write) {
                assert!(values.insert(format!("{:?}", event.content)), "a value was written twice");
            }
            Ok(())
        })
        .unwrap();
        (committed, aborted)
    };
    assert_eq!(outcomes(false), (200, 0));
    let (committed, aborted) = outcomes(true);
    assert!(committed == 200 && aborted > 0);
}

#[test]
fn an_anomaly_stands_whole_in_the_middle_of_the_stream() {
    for anomaly in InjectedAnomaly::ALL {
        let parameters = Parameters { anomaly: Some(anomaly), times: true, ..Parameters::default() };
        let small = notation::parse(anomaly.notation()).unwrap();
        let mut found = Vec::new();
        generate(&parameters, &mut |transaction| {
            if transaction.events.iter().any(|event| event.key >= parameters.keys) {
                found.push((transaction.id, transaction.events.to_vec(), transaction.outcome));
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(found.len(), small.transaction_count(), "{anomaly}");
        for (place, ((id, events, outcome), transaction)) in found.iter().zip(small.transactions()).enumerate() {
            assert_eq!(*id, 501 + place as u64);
            assert_eq!(*outcome, small.outcome(transaction));
            let expected: Vec<Action> = small.events_of(transaction).iter().map(|event| event.action).collect();
            assert_eq!(events.iter().map(|event| event.action).collect::<Vec<_>>(), expected, "{anomaly}");
        }
    }
}

#[test]
fn an_anomaly_in_memory_is_the_one_of_the_notation() {
    let parameters = Parameters {
        sessions: 2,
        transactions: 2,
        events: 1,
        keys: 1,
        reads: 1.0,
        anomaly: Some(InjectedAnomaly::LostUpdate),
        ..Parameters::default()
    };
    let history = to_history(&parameters).unwrap();
    assert_eq!(history.transaction_count(), 4);
    let text = notation::write(&history);
    let updates: Vec<&str> = text.split(['|', '\n']).filter(|transaction| transaction.contains("w(1,")).collect();
    assert_eq!(updates.len(), 2, "{text}");
    assert!(updates.iter().all(|update| update.contains("r(1,nil) w(1,")), "{text}");
}

#[test]
fn native_lines_and_plume_text_look_as_their_formats_ask() {
    let parameters =
        Parameters { sessions: 2, transactions: 40, events: 2, keys: 3, aborted: 0.4, ..Parameters::default() };
    let native = String::from_utf8(bytes(&parameters, OutputFormat::Native)).unwrap();
    assert_eq!(native.lines().count(), 41);
    assert!(
        native
            .starts_with("{\"skew\":1,\"about\":\"generated at serializable: 2 sessions, 40 transactions of 2 events")
    );
    assert!(native.lines().nth(1).unwrap().contains(",\"id\":1,\"ops\":[{\""));
    assert!(
        native.contains("\"outcome\":\"aborted\",\"by\":\"program\"}\n")
            && native.contains("\"outcome\":\"aborted\"}\n")
    );
    let plume = String::from_utf8(bytes(&parameters, OutputFormat::Plume)).unwrap();
    assert_eq!(plume.lines().count(), 80);
    assert!(plume.lines().all(|line| (line.starts_with("r(") || line.starts_with("w(")) && line.ends_with(')')));
    assert!(plume.lines().any(|line| line.ends_with(",-1)")) && plume.contains(",0,"));
}

#[test]
fn dbcop_bytes_have_the_lengths_that_they_announce() {
    let parameters = Parameters { sessions: 3, transactions: 10, ..Parameters::default() };
    let bytes = bytes(&parameters, OutputFormat::Dbcop);
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let mut at = 40;
    for _ in 0..3 {
        at += 8 + word(at);
    }
    assert_eq!(word(at), 3);
    at += 8;
    let mut transactions = 0;
    for _ in 0..3 {
        let count = word(at);
        at += 8;
        for _ in 0..count {
            assert_eq!(word(at), 8);
            at += 8 + 8 * 18 + 1;
        }
        transactions += count;
    }
    assert_eq!((at, transactions), (bytes.len(), 10));
}

#[test]
fn formats_refuse_what_they_have_no_place_for() {
    let lists = Parameters { lists: 0.1, ..Parameters::default() };
    let refused = write(&lists, OutputFormat::Plume, &mut io::sink()).unwrap_err();
    assert!(matches!(refused, GenerateError::Parameters(ParameterError::FormatCannotHold { what: "lists", .. })));
    let dirty = Parameters { anomaly: Some(InjectedAnomaly::DirtyWrite), ..Parameters::default() };
    assert!(write(&dirty, OutputFormat::Dbcop, &mut io::sink()).is_err());
    assert!(write(&dirty, OutputFormat::Native, &mut io::sink()).is_ok());
}

#[test]
fn a_sink_that_fails_ends_the_stream() {
    let mut taken = 0;
    let result = generate(&Parameters::default(), &mut |_| {
        taken += 1;
        if taken == 3 { Err(io::Error::other("full")) } else { Ok(()) }
    });
    assert!(matches!(result, Err(GenerateError::Write(_))) && taken == 3);
}
