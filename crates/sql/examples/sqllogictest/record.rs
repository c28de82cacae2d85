//! The format of the corpus: records between blank lines.
//!
//! ```text
//!   skipif mysql                     onlyif postgresql
//!   statement ok                     query ITR rowsort label-7
//!   CREATE TABLE t (a INTEGER)       SELECT a, b, c FROM t
//!                                    ----
//!                                    1
//! ```

/// What a record wants.
pub(crate) enum Wanted<'a> {
    /// The statement succeeds, or fails.
    Statement { succeeds: bool },
    /// The query answers these values, one to a line, or as many as hash to this.
    Query { types: &'a str, sort: Sort, lines: Vec<&'a str> },
}

/// How values are sorted before they are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    None,
    Rows,
    Values,
}

/// A record.
pub(crate) struct Record<'a> {
    pub(crate) line: usize,
    pub(crate) skip: Vec<&'a str>,
    pub(crate) only: Vec<&'a str>,
    pub(crate) sql: String,
    pub(crate) wanted: Wanted<'a>,
}

/// The records of a file, up to a `halt`.
pub(crate) fn parse(text: &str) -> Vec<Record<'_>> {
    let mut lines = text.lines().enumerate().peekable();
    let mut records = Vec::new();
    while lines.peek().is_some() {
        let block = lines.by_ref().skip_while(|(_, line)| line.trim().is_empty());
        let block: Vec<(usize, &str)> = block.take_while(|(_, line)| !line.trim().is_empty()).collect();
        let halts = block.iter().any(|(_, line)| line.trim() == "halt");
        if halts && !block.iter().any(|(_, line)| line.starts_with("onlyif") || line.starts_with("skipif")) {
            break;
        }
        records.extend(record(&block));
    }
    records
}

fn record<'a>(block: &[(usize, &'a str)]) -> Option<Record<'a>> {
    let (mut skip, mut only) = (Vec::new(), Vec::new());
    let mut rest = block;
    while let [(number, line), after @ ..] = rest {
        rest = after;
        let mut words = line.split_whitespace();
        match words.next() {
            Some("skipif") => skip.extend(words.next()),
            Some("onlyif") => only.extend(words.next()),
            Some("statement") => {
                let succeeds = words.next() == Some("ok");
                let sql = join(rest.iter().map(|(_, line)| *line));
                return Some(Record { line: number + 1, skip, only, sql, wanted: Wanted::Statement { succeeds } });
            }
            Some("query") => {
                let types = words.next().unwrap_or_default();
                let sort = match words.next() {
                    Some("rowsort") => Sort::Rows,
                    Some("valuesort") => Sort::Values,
                    _ => Sort::None,
                };
                let mut parts = rest.iter().map(|(_, line)| *line);
                let sql = join(parts.by_ref().take_while(|line| *line != "----"));
                let wanted = Wanted::Query { types, sort, lines: parts.collect() };
                return Some(Record { line: number + 1, skip, only, sql, wanted });
            }
            _ => {}
        }
    }
    None
}

fn join<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}
