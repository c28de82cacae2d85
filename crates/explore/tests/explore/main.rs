//! The explorer against the definitions, against known numbers, and against programs that are none.

mod applications;
mod bad_programs;
mod counts;
mod final_states;
mod last_versions;
mod paper;
mod random;
mod random_programs;
mod recorded;
mod remote;
mod script;
mod subtrees;
