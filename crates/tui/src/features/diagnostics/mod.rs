//! Explanations: the checks of the doctor, why a revision failed, and how two revisions differ.

pub mod doctor;
pub mod explain;
