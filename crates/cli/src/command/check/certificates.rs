//! `--certificate FILE`: a line per history and level, written as the verdicts come.

use super::Subject;
use crate::input::Complaint;
use crate::output::{OutputFile, note_input, unwritable};
use skew_check::LevelReport;
use skew_history::History;
use skew_view::certificate;
use std::path::{Path, PathBuf};

const ADVICE: &str = "choose another file with --certificate";

/// The file that certificates go to.
pub(super) struct CertificateFile {
    path: PathBuf,
    out: OutputFile,
}

impl CertificateFile {
    /// Begins the file, which may not be one of the inputs.
    pub(super) fn create(path: &Path, inputs: &[PathBuf]) -> Result<CertificateFile, Complaint> {
        let refuse = |what: &str| Err(Complaint::new(&path.to_string_lossy(), what.to_owned(), ADVICE));
        // Before they are read: a check may take hours.
        inputs.iter().for_each(|input| note_input(input));
        if path == Path::new("-") {
            return refuse("standard output has the results already");
        }
        let out = OutputFile::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(CertificateFile { path: path.to_owned(), out })
    }

    pub(super) fn write(
        &mut self,
        subject: &Subject,
        report: &LevelReport,
        history: &History,
    ) -> Result<(), Complaint> {
        let about = certificate::Subject {
            file: subject.name.clone(),
            history_sha256: subject.sha256.clone(),
            format: subject.format,
            level: report.level,
        };
        certificate::write(&about, &report.verdict, history, &mut self.out)
            .map_err(|error| unwritable(&self.path, &error))
    }

    /// Writes what is still to be written; what goes wrong comes back.
    pub(super) fn finish(self) -> Option<Complaint> {
        let CertificateFile { path, out } = self;
        out.keep().err().map(|error| unwritable(&path, &error))
    }
}
