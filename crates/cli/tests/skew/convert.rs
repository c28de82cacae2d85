//! `skew convert`.

use crate::{Folder, LOST_UPDATE, SERIAL};

#[test]
fn to_standard_output_or_to_a_file() {
    let folder = Folder::new("convert");
    folder.write("a.txt", LOST_UPDATE);
    assert_eq!(folder.skew(&["convert", "a.txt", "--to", "notation"]).expect(0).out, LOST_UPDATE);
    assert_eq!(folder.skew(&["convert", "a.txt", "-", "--to", "notation"]).expect(0).out, LOST_UPDATE);
    let ran = folder.skew(&["convert", "a.txt", "b.txt", "--to", "notation"]).expect(0);
    assert_eq!((ran.out.as_str(), folder.read("b.txt").as_str()), ("", LOST_UPDATE));
    folder.skew(&["convert", "a.txt", "c.jsonl", "--to", "native"]).expect(0);
    assert_eq!(folder.skew(&["convert", "c.jsonl", "--to", "notation"]).expect(0).out, LOST_UPDATE);
}

#[test]
fn a_graph_of_the_whole_history() {
    let folder = Folder::new("convert_dot");
    let ran = folder.skew_on(SERIAL, &["convert", "-", "--to", "dot"]).expect(0);
    assert!(ran.out.starts_with("digraph history {") && ran.out.contains("label=\"wr x\""), "{}", ran.out);
}

#[test]
fn bad_input_and_bad_places_are_two_and_leave_no_file() {
    let folder = Folder::new("convert_bad");
    folder.write("bad.txt", "a: q(x,1)\n");
    folder.skew(&["convert", "bad.txt", "out.txt", "--from", "notation", "--to", "native"]).expect(2);
    assert!(!folder.path().join("out.txt").exists());
    folder.write("a.txt", SERIAL);
    let ran = folder.skew(&["convert", "a.txt", "no/such/folder/out.txt", "--to", "native"]).expect(2);
    assert!(ran.err.contains("cannot write it"), "{}", ran.err);
    folder.write("two/a.txt", SERIAL);
    folder.write("two/b.txt", SERIAL);
    let ran = folder.skew(&["convert", "two", "--to", "native"]).expect(2);
    assert!(ran.err.contains("several histories"), "{}", ran.err);
}
