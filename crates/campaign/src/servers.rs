//! Servers that a command starts for itself, and why they do not start.

use crate::Complaint;
use skew_workload::Fault;
use skew_workload::servers::{Fleet, Kind, ServerError};

/// Starts servers for a command, to which these faults can be done.
pub fn start(kind: Kind, nodes: u64, faults: &[Fault], command: &str) -> Result<Fleet, Complaint> {
    Fleet::start(kind, nodes as usize, faults).map_err(|error| complaint(error, command))
}

/// Why a server does not run, and what to do.
fn complaint(error: ServerError, command: &str) -> Complaint {
    match error {
        ServerError::Missing { program, package } => {
            let advice = format!("on Debian and Ubuntu: apt-get install {package}");
            Complaint::new(command, format!("{program} is not installed"), &advice)
        }
        ServerError::System { what, error } => {
            let advice = "check the folder for temporary files, or set TMPDIR to another one";
            Complaint::new(command, format!("{what}: {error}"), advice)
        }
        ServerError::Silent { name, what, log } => {
            let mut complaint =
                Complaint::new(command, format!("{name} {what}"), "the end of its log is above; try again");
            complaint.excerpt = Some(log.replace('\n', "\n  "));
            complaint
        }
    }
}
