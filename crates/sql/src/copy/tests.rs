//! What goes in comes out: rows of both line formats and the binary one; and what they become in a table.

use super::*;
use skew_value::SqlType;

fn copy(options: &[CopyOption], width: usize) -> Copy {
    let names: Vec<String> = (0..width).map(|place| format!("c{place}")).collect();
    let columns = names.iter().map(|name| ResultColumn { name: name.clone(), sql_type: SqlType::TEXT }).collect();
    let format = CopyFormat::of(options, &names, CopyDirection::Out).unwrap();
    Copy { direction: CopyDirection::Out, format, columns }
}

fn csv() -> CopyOption {
    CopyOption::Format(sqlparser::ast::Ident::new("csv"))
}

fn binary() -> CopyOption {
    CopyOption::Format(sqlparser::ast::Ident::new("binary"))
}

fn read(copy: &Copy, bytes: &[u8]) -> Result<Vec<Fields>, SqlError> {
    let mut reader = copy.reader();
    let mut rows = reader.feed(bytes)?;
    rows.extend(reader.finish()?);
    Ok(rows)
}

fn fields(texts: &[Option<&str>]) -> Fields {
    texts.iter().map(|text| text.map(|text| text.as_bytes().to_vec())).collect()
}

#[test]
fn rows_that_are_written_are_read_again_whatever_they_hold_and_wherever_the_bytes_are_cut() {
    let rows = [
        fields(&[Some("a"), None]),
        fields(&[Some("tab\there"), Some("line\nfeed\r")]),
        fields(&[Some("\\N"), Some("")]),
        fields(&[Some("quo\"te, comma"), Some("back\\slash\\.")]),
        fields(&[Some("\\."), Some("é")]),
    ];
    for options in
        [vec![], vec![csv()], vec![binary()], vec![csv(), CopyOption::Escape('\\'), CopyOption::Header(true)]]
    {
        let copy = copy(&options, 2);
        let writer = copy.writer();
        let mut bytes = writer.header().unwrap_or_default();
        for row in &rows {
            let borrowed: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
            bytes.extend(writer.row(&borrowed));
        }
        bytes.extend(writer.trailer().unwrap_or_default());
        assert_eq!(read(&copy, &bytes).unwrap(), rows, "{options:?}");
        let mut reader = copy.reader();
        let mut single: Vec<Fields> = bytes.iter().flat_map(|byte| reader.feed(&[*byte]).unwrap()).collect();
        single.extend(reader.finish().unwrap());
        assert_eq!(single, rows, "{options:?}");
    }
}

#[test]
fn text_is_written_as_postgres_writes_it() {
    let text = copy(&[], 3).writer().row(&[Some(b"a\tb\\"), None, Some(b"\n")]);
    assert_eq!(text, b"a\\tb\\\\\t\\N\t\\n\n");
    let text = copy(&[csv()], 3).writer().row(&[Some(b"a,\"b"), None, Some(b"")]);
    assert_eq!(text, b"\"a,\"\"b\",,\"\"\n");
}

#[test]
fn the_end_may_be_marked_and_the_last_line_may_lack_its_end() {
    assert_eq!(read(&copy(&[], 1), b"a\nb").unwrap(), [fields(&[Some("a")]), fields(&[Some("b")])]);
    assert_eq!(read(&copy(&[], 1), b"a\r\n\\.\nb\n").unwrap(), [fields(&[Some("a")])]);
    assert_eq!(read(&copy(&[], 1), b"\\x41\\101\\q\n").unwrap(), [fields(&[Some("AAq")])]);
}

#[test]
fn lines_with_too_few_or_too_many_fields_are_refused_with_their_number() {
    assert_eq!(read(&copy(&[], 2), b"a\tb\nc\n").unwrap_err().message, "missing data for column, in line 2");
    let error = read(&copy(&[csv()], 1), b"a,b\n").unwrap_err();
    assert_eq!(error.message, "extra data after last expected column, in line 1");
    assert_eq!(read(&copy(&[csv()], 1), b"\"a\n").unwrap_err().message, "unterminated CSV quoted field");
    assert_eq!(read(&copy(&[binary()], 1), b"PGCOPX").unwrap_err().message, "COPY file signature not recognized");
    assert!(read(&copy(&[binary()], 1), b"PGCOPY").is_err());
}

/// Runs a statement in a session.
fn run(session: &mut crate::Session, storage: &mut crate::MemoryStorage, text: &str) -> crate::Answer {
    let statement = session.parse(text).unwrap().remove(0);
    let prepared = session.prepare(&statement, &[]).unwrap();
    session.execute(&prepared, &[], storage).unwrap()
}

#[test]
fn rows_of_a_client_become_rows_of_the_table_or_none_of_them() {
    let mut session = crate::Session::new(skew_value::Dialect::Postgres, std::sync::Arc::default());
    let mut storage = crate::MemoryStorage::new();
    let table = "CREATE TABLE item (id INT PRIMARY KEY, price NUMERIC(5,2), name VARCHAR(3) DEFAULT 'new', twice INT \
        GENERATED ALWAYS AS (id * 2) STORED)";
    run(&mut session, &mut storage, table);
    let statement = session.parse("COPY item (id, price) FROM STDIN WITH (FORMAT csv, FREEZE on)").unwrap().remove(0);
    let prepared = session.prepare(&statement, &[]).unwrap();
    assert!(prepared.columns().is_none());
    let copy = prepared.copy().unwrap();
    assert_eq!(copy.direction, CopyDirection::In);
    let rows = read(copy, b"1,2.5\n2,\n").unwrap();
    let answer = session.execute(&prepared.with_text_rows(rows).unwrap(), &[], &mut storage).unwrap();
    assert!(matches!(answer, crate::Answer::Changed(changed) if changed.command == "COPY" && changed.count == 2));
    let values = vec![vec![skew_value::Datum::Integer(3), skew_value::Datum::Null]];
    session.execute(&prepared.with_rows(values), &[], &mut storage).unwrap();
    for wrong in [&b"4,1000\n"[..], b"five,1\n", b"1,1\n", b"\xff,1\n"] {
        let rows = read(prepared.copy().unwrap(), wrong).unwrap();
        let result = prepared.with_text_rows(rows).map_err(crate::Stop::from);
        assert!(result.and_then(|prepared| session.execute(&prepared, &[], &mut storage)).is_err());
    }
    let crate::Answer::Rows(rows) = run(&mut session, &mut storage, "SELECT * FROM item ORDER BY id") else { panic!() };
    let told: Vec<String> = rows
        .rows
        .iter()
        .map(|row| row.iter().zip(rows.columns.iter()).map(|(value, column)| session.text_of(value, &column.sql_type)))
        .map(|cells| cells.collect::<Vec<String>>().join(" "))
        .collect();
    assert_eq!(told, ["1 2.50 new 2", "2  new 4", "3  new 6"]);
}
