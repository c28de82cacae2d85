//! Why something cannot begin or go on: what it is about, the problem, what stands there, and what to do.
//!
//! ```text
//!   error: a.jsonl: line 3: expected an event at `q(x,1)`
//!     3 | b: q(x,1)
//!     write a session per line, like `a: r(x,init) w(x,1) | r(x,1)`
//! ```
//!
//! This is the error of every campaign. What a run has found is none: findings are values.

use serde_json::json;
use skew_history::Place;
use skew_history::format::ReadError;
use std::{error, fmt};

/// Bad news about an input, a server or a command.
#[derive(Debug)]
pub struct Complaint {
    /// A file or whatever else it is about, as the user calls it.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub advice: String,
    /// What stands at the place.
    pub excerpt: Option<String>,
}

impl Complaint {
    /// About a file as a whole.
    pub fn new(file: &str, message: String, advice: &str) -> Complaint {
        let advice = advice.to_owned();
        Complaint { file: file.to_owned(), place: Place::Whole, message, advice, excerpt: None }
    }

    /// An error of a file that was read whole.
    pub fn of_file(error: &ReadError) -> Complaint {
        Complaint {
            file: error.file.clone(),
            place: error.place,
            message: error.problem.to_string(),
            advice: error.problem.advice().to_owned(),
            excerpt: None,
        }
    }

    /// As JSON, for a list of results in which it takes the place of one.
    pub fn json(&self) -> String {
        let place = (self.place != Place::Whole).then(|| self.place.to_string());
        let error = json!({ "place": place, "message": self.message, "advice": self.advice });
        format!("{{\"file\":{},\"error\":{error}}}", json!(self.file))
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => write!(out, "{}: {}", self.file, self.message),
            place => write!(out, "{}: {place}: {}", self.file, self.message),
        }
    }
}

impl error::Error for Complaint {}
