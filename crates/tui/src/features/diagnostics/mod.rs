//! Diagnostics: the doctor, the explanation of a revision, and the comparison of two revisions.

pub mod doctor;
pub mod explain;
