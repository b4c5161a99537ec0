//! The building blocks of screens: lists, trees, text, colors. No widget depends on a feature.

pub mod area;
pub mod canvas;
pub(crate) mod cells;
pub(crate) mod diff_lines;
pub mod diff_view;
pub mod filter;
pub mod form;
pub mod form_lines;
pub mod histogram;
pub mod jobs;
pub mod json_tree;
pub mod line;
pub mod markdown;
pub mod pattern;
pub mod scroll;
pub mod selection;
pub mod status;
pub mod strip;
pub mod table;
pub(crate) mod text_area_view;
pub mod text_input;
pub mod theme;
pub mod twin;
