//! Files, folders, standard input, packed files and archives; and what is said when they cannot be read.

use crate::{Folder, LOST_UPDATE, SERIAL};
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut out = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// One transaction of a Cobra log that writes a key, or reads it from transaction 1.
fn cobra_log(transaction: i64, writes: bool) -> Vec<u8> {
    let (write_id, key, value) = (77_i64, 5_i64, 9_i64);
    let record = |tag: u8, numbers: &[i64]| {
        let mut bytes = vec![tag];
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        bytes
    };
    let event = match writes {
        true => record(b'W', &[write_id, key, value]),
        false => record(b'R', &[1, write_id, key, value]),
    };
    [record(b'S', &[transaction]), event, record(b'C', &[transaction])].concat()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[test]
fn standard_input_is_a_dash() {
    let folder = Folder::new("standard_input");
    let ran = folder.skew_on(LOST_UPDATE, &["check", "-", "--format", "json"]).accepted();
    assert_eq!(ran.files(), ["-"]);
    assert_eq!(ran.json()["histories"][0]["transactions"], 2);
}

#[test]
fn several_inputs_are_all_processed_and_bad_input_wins() {
    let folder = Folder::new("several_inputs");
    folder.write("a.txt", SERIAL);
    folder.write("b.txt", "");
    folder.write("c.txt", SERIAL);
    let ran = folder.skew(&["check", "a.txt", "b.txt", "missing.txt", "c.txt", "--format", "json"]).expect(2);
    assert_eq!(ran.files(), ["a.txt", "b.txt", "missing.txt", "c.txt"]);
    let json = ran.json();
    assert!(
        json["histories"][1]["error"]["message"].is_string() && json["histories"][1]["error"]["advice"].is_string()
    );
    assert!(json["histories"][3]["verdicts"].is_array());
    assert!(ran.err.contains("missing.txt: cannot read it"), "{}", ran.err);
}

#[test]
fn packed_files_are_read_as_they_are() {
    let folder = Folder::new("packed");
    let twice = |pack: fn(&[u8]) -> Vec<u8>| [pack(b"a: w(x,1)\n"), pack(b"b: r(x,1)\n")].concat();
    for (name, bytes) in [
        ("one.txt.gz", gzip(SERIAL.as_bytes())),
        ("one.txt.xz", xz(SERIAL.as_bytes())),
        ("one.txt.zst", zstd(SERIAL.as_bytes())),
        // Known by what is in it, not by its name.
        ("gzip-without-ending", gzip(SERIAL.as_bytes())),
        ("two.txt.gz", twice(gzip)),
        ("two.txt.xz", twice(xz)),
        ("two.txt.zst", twice(zstd)),
    ] {
        folder.write(name, bytes);
        let ran = folder.skew(&["check", name, "--from", "notation", "--format", "json"]).accepted();
        assert_eq!(ran.json()["histories"][0]["sessions"], 2, "{name}");
        assert_eq!(ran.files(), [name]);
    }
}

#[test]
fn a_damaged_packed_file_is_bad_input_with_a_place() {
    let folder = Folder::new("damaged");
    let text = "a: w(x,1) | w(x,2) | w(x,3) | w(x,4)\n".repeat(100);
    for (name, bytes) in
        [("cut.gz", gzip(text.as_bytes())), ("cut.xz", xz(text.as_bytes())), ("cut.zst", zstd(text.as_bytes()))]
    {
        for end in [bytes.len() - 1, bytes.len() / 2, 7] {
            folder.write(name, &bytes[..end]);
            let ran = folder.skew(&["check", name, "--from", "notation"]).expect(2);
            assert!(
                ran.err.contains(&format!("{name}: byte ")) && ran.err.contains("cut off or damaged"),
                "{}",
                ran.err
            );
        }
    }
}

#[test]
fn more_than_the_limit_is_refused_and_the_option_is_named() {
    let folder = Folder::new("limit");
    folder.write("bomb.gz", gzip(&vec![b' '; 1_000_000]));
    let ran = folder.skew(&["check", "bomb.gz", "--max-size", "10kB"]).expect(2);
    assert!(ran.err.contains("more than 10000 bytes") && ran.err.contains("--max-size"), "{}", ran.err);
    folder.write("small.txt", SERIAL);
    let size = SERIAL.len().to_string();
    folder.skew(&["check", "small.txt", "--max-size", &size]).accepted();
}

/// 64 MiB of blanks in one packed piece; pieces one after the other are one file.
fn blanks(pack: fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    pack(&vec![b' '; 64 << 20])
}

fn gzip_well(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// A frame of blocks that each say in four bytes: 128 KiB of blanks.
fn zstd_of_repetition(blocks: usize) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    for number in 1..=blocks {
        let header = (128u32 << 10) << 3 | 1 << 1 | u32::from(number == blocks);
        bytes.extend_from_slice(&header.to_le_bytes()[..3]);
        bytes.push(b' ');
    }
    bytes
}

/// The header of an archive's only file, and the end of the archive, without what is between.
fn archive_around(name: &str, size: u64) -> (Vec<u8>, Vec<u8>) {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    (header.as_bytes().to_vec(), vec![0; 1024])
}

#[test]
#[cfg(target_os = "linux")]
fn a_small_file_does_not_fill_the_memory() {
    const PIECES: usize = 40;
    let folder = Folder::new("bombs");
    let (gzip_pieces, xz_pieces) = (blanks(gzip_well).repeat(PIECES), blanks(xz).repeat(PIECES));
    let (start, end) = archive_around("a.txt", (PIECES as u64) << 26);
    folder.write("bomb.gz", &gzip_pieces);
    folder.write("bomb.xz", &xz_pieces);
    folder.write("bomb.zst", zstd_of_repetition(23_500));
    folder.write("bomb.tar.xz", [xz(&start), xz_pieces.clone(), xz(&end)].concat());
    folder.write("bomb.tar.gz", [gzip_well(&start), gzip_pieces.clone(), gzip_well(&end)].concat());
    folder.write("within.tar", tar(&[("a.gz", &gzip_pieces)]));
    // Two layers, each of which alone would be within bounds of its own.
    let inner = tar(&[("a.zst", &zstd_of_repetition(400)), ("b.zst", &zstd_of_repetition(23_500))]);
    folder.write("within.tar.gz", gzip_well(&inner));
    for name in ["bomb.gz", "bomb.xz", "bomb.zst", "bomb.tar.xz", "bomb.tar.gz", "within.tar", "within.tar.gz"] {
        for arguments in ["check", "convert --to native"] {
            // Half a gigabyte of addresses for everything, where each of these unpacks to more than two.
            let ran = folder.shell(&format!("ulimit -v 524288; exec skew {arguments} {name}")).expect(2);
            let told = ran.err.contains(&format!("{name}: it unpacks to more than 200 times its size"));
            assert!(told && ran.err.contains("--max-ratio"), "{arguments} {name}: {}", ran.err);
        }
    }
}

#[test]
fn what_is_packed_well_is_read_all_the_same() {
    let folder = Folder::new("well_packed");
    let text = format!("{SERIAL}{}", "\n".repeat(6 << 20));
    folder.write("a.txt.xz", xz(text.as_bytes()));
    folder.skew(&["check", "a.txt.xz", "--from", "notation"]).accepted();
    let text = format!("{SERIAL}{}", "\n".repeat(80 << 20));
    folder.write("b.txt.xz", xz(text.as_bytes()));
    folder.skew(&["check", "b.txt.xz", "--from", "notation"]).expect(2);
    folder.skew(&["check", "b.txt.xz", "--from", "notation", "--max-ratio", "1000000"]).accepted();
}

#[test]
fn a_small_file_does_not_become_millions_of_transactions() {
    let folder = Folder::new("bars");
    folder.write("bars.gz", gzip_well(format!("a: w(x,1){}", "|".repeat(20 << 20)).as_bytes()));
    folder.skew(&["check", "bars.gz"]).expect(2);
}

#[test]
fn a_folder_of_logs_is_one_history_and_any_other_folder_is_its_files() {
    let folder = Folder::new("folders");
    folder.write("all/logs/T0.log", cobra_log(1, true));
    folder.write("all/logs/T10.log", cobra_log(2, false));
    folder.write("all/logs/T0.log.error", "not ours");
    folder.write("all/z.txt", SERIAL);
    folder.write("all/deep/er/a.txt", SERIAL);
    folder.write("all/.hidden", "not ours");
    let ran = folder.skew(&["check", "all", "--format", "json"]).accepted();
    assert_eq!(ran.files(), ["all/deep/er/a.txt", "all/logs", "all/z.txt"]);
    let ran = folder.skew(&["check", "all/logs", "--format", "json"]).accepted();
    assert_eq!(ran.files(), ["all/logs"]);
}

#[test]
fn a_folder_without_files_is_bad_input() {
    let folder = Folder::new("empty_folder");
    std::fs::create_dir_all(folder.path().join("empty/inner")).unwrap();
    let ran = folder.skew(&["check", "empty"]).expect(2);
    assert!(ran.err.contains("empty: the folder holds no files") && ran.err.contains("T<n>.log"), "{}", ran.err);
}

#[test]
fn an_archive_is_a_history_per_cobra_folder_and_per_file() {
    let folder = Folder::new("archive");
    let (writer, reader) = (cobra_log(1, true), cobra_log(2, false));
    let packed = gzip(SERIAL.as_bytes());
    let bytes = tar(&[
        ("./runs/one/T1.log", &reader),
        ("./runs/one/T0.log", &writer),
        ("runs/two/T0.log", &writer),
        ("runs/plain.txt", SERIAL.as_bytes()),
        ("runs/packed.txt.gz", &packed),
    ]);
    for (name, bytes) in
        [("a.tar", bytes.clone()), ("a.tar.xz", xz(&bytes)), ("a.tgz", gzip(&bytes)), ("a", zstd(&bytes))]
    {
        folder.write(name, bytes);
        let ran = folder.skew(&["check", name, "--format", "json"]).accepted();
        let inside = ["runs/packed.txt.gz", "runs/plain.txt", "runs/one", "runs/two"];
        assert_eq!(ran.files(), inside.map(|file| format!("{name}/{file}")), "{name}");
    }
    let ran = folder.skew(&["check", "a.tar", "--max-size", "100"]).expect(2);
    assert!(ran.err.contains("more than 100 bytes"), "{}", ran.err);
}

#[test]
fn archives_in_archives_are_taken_apart_but_not_without_end() {
    let folder = Folder::new("nested_archives");
    let mut bytes = xz(&tar(&[("run/T0.log", &cobra_log(1, true))]));
    for (depth, code) in [(1, 0), (2, 0), (3, 0), (4, 2)] {
        bytes = tar(&[("inner.tar.xz", &bytes)]);
        folder.write("outer.tar", &bytes);
        let ran = folder.skew(&["check", "outer.tar", "--format", "json"]);
        match code {
            2 => assert!(ran.expect(2).err.contains("too deep"), "{depth}"),
            _ => {
                let path = "/inner.tar.xz".repeat(depth);
                assert_eq!(ran.accepted().files(), [format!("outer.tar{path}/run")]);
            }
        }
    }
}

#[test]
fn a_mistake_is_shown_with_file_line_text_and_advice() {
    let folder = Folder::new("mistake");
    folder.write("h.txt", "a: w(x,1)\nb: q(x,1)\n");
    let ran = folder.skew(&["check", "h.txt", "--from", "notation"]).expect(2);
    assert!(ran.err.contains("h.txt: line 2: expected an event"), "{}", ran.err);
    assert!(ran.err.contains("2 | b: q(x,1)") && ran.err.contains("write a session per line"), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn names_with_escape_sequences_do_not_reach_the_terminal() {
    let folder = Folder::new("escapes");
    let ran = folder.skew_on("a\u{1b}[31m: r(x,1)\n", &["check", "-", "--from", "notation"]);
    assert!(!ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'));
}

#[test]
fn usage_errors_are_two() {
    let folder = Folder::new("usage");
    for arguments in [
        &["check"][..],
        &[],
        &["chekc", "a"],
        &["check", "a", "--level", "repeatable-read"],
        &["check", "a", "--from", "word"],
        &["check", "a", "--timeout", "soon"],
        &["check", "a", "--budget", "-1"],
        &["convert", "a"],
        &["view"],
    ] {
        let ran = folder.skew(arguments).expect(2);
        assert!(!ran.err.is_empty() && ran.out.is_empty(), "{arguments:?}");
    }
}
