//! Bad input, format by format: a place and advice, never a panic or a guess; and what only looks bad is read.

use skew_history::format::{Format, ReadError, Source, detect, read};
use skew_history::{Place, Problem, notation};

/// A small history in each text format.
const GOOD: [(Format, &str); 10] = [
    (
        Format::Native,
        "{\"session\":1,\"ops\":[{\"w\":\"x\",\"v\":1}]}\n{\"session\":2,\"ops\":[{\"r\":\"x\",\"v\":1}]}\n",
    ),
    (Format::Notation, "1: w(x,1)\n2: r(x,1)\n"),
    (
        Format::DbcopJson,
        "{\"data\":[[{\"events\":[{\"Write\":{\"variable\":1,\"version\":1}}],\n\"committed\":true}]]}\n",
    ),
    (Format::Plume, "w(1,1,1,1)\nr(1,1,2,2)\n"),
    (Format::Awdit, "w 1 1\n=====\nr 1 1\n"),
    (Format::IsoPredict, "WRITE KEY[x] Txn(1, 0)\nREAD KEY[x] Txn(2, 0) From(1, 0)\n"),
    (Format::ElleEdn, "{:type :ok :value [[:w 1 1]]}\n{:type :ok :value [[:r 1 1]]}\n"),
    (Format::ElleJson, "[{\"type\":\"ok\",\"value\":[[\"w\",1,1]]},\n{\"type\":\"ok\",\"value\":[[\"r\",1,1]]}]\n"),
    (
        Format::TimeKiller,
        "[{\"tid\":1,\"sid\":1,\"sts\":{\"p\":1},\"cts\":{\"p\":2},\n\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":1}]}]\n",
    ),
    (Format::Viper, "{\"value\":[[\"w\",1,1,true]]}\n{\"value\":[[\"r\",1,1,false]]}\n"),
];

fn read_text(format: Format, text: impl AsRef<[u8]>) -> Result<String, ReadError> {
    read(&[Source { name: "input", bytes: text.as_ref() }], format).map(|history| notation::write(&history))
}

#[test]
fn there_is_a_small_history_in_each_text_format() {
    let text: Vec<Format> = Format::ALL.into_iter().filter(|format| format.is_text()).collect();
    assert_eq!(GOOD.map(|good| good.0).to_vec(), text);
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_nothing() {
    for (format, text) in GOOD {
        let expected = read_text(format, text).unwrap();
        assert_eq!(read_text(format, format!("\u{feff}{text}")).unwrap(), expected, "{format}");
        assert_eq!(read_text(format, text.replace('\n', "\r\n")).unwrap(), expected, "{format}");
        assert_eq!(read_text(format, text.trim_end()).unwrap(), expected, "{format}");
        assert_eq!(detect(&[Source { name: "input", bytes: text.as_bytes() }]), Ok(format));
    }
}

#[test]
fn invalid_utf_8_is_refused_with_its_line() {
    for (format, text) in GOOD {
        let second_line = text.find('\n').unwrap() + 1;
        let mut bytes = text.as_bytes().to_vec();
        bytes.insert(second_line, 0xff);
        let error = read_text(format, bytes).unwrap_err();
        assert_eq!(error.to_string(), "input:line 2: the byte 0xff is not UTF-8 text", "{format}");
    }
}

#[test]
fn an_empty_input_is_refused_as_such() {
    for format in Format::ALL {
        for text in ["", "\n"] {
            let Err(error) = read_text(format, text) else { panic!("{format} reads nothing") };
            assert!(error.problem == Problem::Empty || !format.is_text() && text == "\n", "{format}: {error}");
        }
    }
}

#[test]
fn nul_bytes_and_garbage_are_refused_with_a_place() {
    for (format, text) in GOOD {
        for garbage in ["\0", "\0\0\0\0", "]", "\u{1}{"] {
            let second_line = text.find('\n').unwrap() + 1;
            let bad = format!("{}{garbage}\n{}", &text[..second_line], &text[second_line..]);
            let Err(error) = read_text(format, &bad) else { panic!("{format} reads {bad:?}") };
            assert_eq!(error.place, Place::Line(2), "{format} {bad:?}: {error}");
            assert!(!error.advice().is_empty());
        }
    }
}

#[test]
fn a_long_line_without_an_end_is_refused() {
    for format in Format::ALL {
        for letter in ["x", "[", "{", "\"", "9", "#_", "("] {
            let Err(error) = read_text(format, letter.repeat(1 << 20)) else { panic!("{format} reads {letter}") };
            assert!(error.to_string().len() < 300, "{format}: a message is a line");
            assert_ne!(error.place, Place::Whole, "{format}: {error}");
        }
    }
}

#[test]
fn numbers_beyond_64_bits_are_refused_where_numbers_are_meant() {
    for (format, text) in GOOD {
        if matches!(format, Format::Notation | Format::IsoPredict) {
            continue;
        }
        let huge = "1".repeat(30);
        // The last digit 1 that is a value: in all samples a value is the last number but a flag or an id.
        let bad = match format {
            Format::Plume => text.replace("w(1,1,", &format!("w(1,{huge},")),
            Format::Awdit => text.replace("w 1 1", &format!("w 1 {huge}")),
            Format::ElleEdn => text.replace("[:w 1 1]", &format!("[:w 1 {huge}]")),
            Format::ElleJson | Format::Viper => text.replace("[\"w\",1,1", &format!("[\"w\",1,{huge}")),
            Format::DbcopJson => text.replace("\"version\":1", &format!("\"version\":{huge}")),
            _ => text.replace("\"v\":1", &format!("\"v\":{huge}")),
        };
        let error = read_text(format, bad).unwrap_err().to_string();
        assert!(error.contains("has more than 64 bits"), "{format}: {error}");
    }
}

#[test]
fn a_read_of_a_value_nobody_wrote_is_a_history() {
    for (format, text) in [
        (Format::Native, "{\"session\":1,\"ops\":[{\"r\":\"x\",\"v\":9}]}"),
        (Format::Plume, "r(1,9,1,1)"),
        (Format::Awdit, "r 1 9"),
        (Format::IsoPredict, "READ KEY[x] Txn(1, 0) From(9, 9)"),
        (Format::ElleEdn, "{:type :ok :value [[:r 1 [9]]]}"),
        (Format::Viper, "{\"value\":[[\"r\",1,9,false]]}"),
    ] {
        assert!(read_text(format, text).is_ok(), "{format}");
    }
}
