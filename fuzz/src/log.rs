//! Logs of servers: whatever the text, events and bad lines that lie in the text, and a program that can be read or a refusal.

use skew_analyze::log::{LogFormat, LogProgram, read_log};
use skew_program::Program;

const SCHEMA: &str = "CREATE TABLE product (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL);";

/// Reads a text as each kind of log.
pub fn fuzz_log(text: &str) {
    let _ = LogFormat::detect(text);
    let lines = text.lines().count().max(1);
    for format in [LogFormat::PostgresCsv, LogFormat::PostgresJson, LogFormat::MysqlGeneral] {
        let reading = read_log(text, format);
        for bad in &reading.bad {
            assert!(bad.line >= 1 && bad.line as usize <= lines && !bad.problem.is_empty());
        }
        let program = LogProgram::of(&reading, SCHEMA).expect("the schema is one");
        let parsed = Program::parse_in(&program.text, 0, format.dialect()).expect("what was written can be read");
        assert_eq!(parsed.procedures().len(), program.templates.len());
        for template in &program.templates {
            assert!(template.count > 0 && template.lines.iter().all(|line| *line as usize <= lines));
        }
    }
}
