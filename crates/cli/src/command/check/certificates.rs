//! `--certificate FILE`: a line per history and level, written as the verdicts come.

use super::Subject;
use crate::input::{Complaint, cannot};
use skew_check::LevelReport;
use skew_history::History;
use skew_view::certificate;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file that certificates go to.
pub(super) struct CertificateFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl CertificateFile {
    pub(super) fn create(path: &Path) -> Result<CertificateFile, Complaint> {
        let file = File::create(path).map_err(|error| complain(path, &error))?;
        Ok(CertificateFile { path: path.to_owned(), out: BufWriter::new(file) })
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
            .map_err(|error| complain(&self.path, &error))
    }

    /// Writes what is still to be written; what goes wrong comes back.
    pub(super) fn finish(mut self) -> Option<Complaint> {
        self.out.flush().err().map(|error| complain(&self.path, &error))
    }
}

fn complain(path: &Path, error: &io::Error) -> Complaint {
    Complaint::new(&path.to_string_lossy(), cannot("write", error), "choose another file with --certificate")
}
