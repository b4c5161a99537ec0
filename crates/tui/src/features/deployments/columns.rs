//! The columns of the list of deployments: what stands in them, which of them there is room for, and how rows compare.

use super::list::Row;
use runtail_core::model::Phase;
use std::cmp::{Ordering, Reverse};

/// What a filter may name before a colon.
pub const FIELDS: [&str; 11] =
    ["name", "profile", "region", "state", "newest", "live", "source", "type", "url", "ref", "id"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The deployment's name.
    Name,
    /// The profile's region.
    Region,
    /// The deployment's own status.
    State,
    /// The newest revision: its status and its age.
    Newest,
    /// What is live against what is newest.
    Live,
    /// How old the deployment is.
    Age,
    /// `dev`, `prod`, …
    Type,
    /// `github`, `external_docker`, …
    Source,
    Profile,
    /// Address of the agent server.
    Url,
}

impl Column {
    /// Its head.
    pub fn title(self) -> &'static str {
        match self {
            Column::Name => "NAME",
            Column::Region => "REGION",
            Column::State => "STATE",
            Column::Newest => "NEWEST REVISION",
            Column::Live => "LIVE",
            Column::Age => "AGE",
            Column::Type => "TYPE",
            Column::Source => "SOURCE",
            Column::Profile => "PROFILE",
            Column::Url => "AGENT SERVER",
        }
    }
}

/// A column on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which one.
    pub column: Column,
    /// Columns of the terminal from the pane's left edge.
    pub x: u16,
    /// Columns of the terminal that it has.
    pub width: u16,
}

/// Columns of the terminal before the first column of the table, for the mark of the selection.
const GUTTER: u16 = 3;

/// The columns that there is room for, from the left. `tag` and `profile` are the widths of the longest ones.
pub fn layout(width: u16, tag: u16, profile: u16) -> Vec<Place> {
    let newest = match width {
        ..60 => 15,
        60..100 => 19,
        100..150 => 22,
        _ => 28,
    };
    // The least that the names are given.
    let least = match width {
        ..60 => 12,
        60..72 => 16,
        _ => 22,
    };
    // In the order in which they are given room.
    let wanted = [
        (Column::Newest, newest),
        (Column::State, if width < 60 { 9 } else { 10 }),
        (Column::Region, tag.clamp(6, 14)),
        (Column::Live, 6),
        (Column::Age, 4),
        (Column::Type, 8),
        (Column::Source, 15),
        (Column::Profile, profile.clamp(7, 16)),
    ];
    let mut room = width.saturating_sub(GUTTER + 1 + least);
    let mut chosen = Vec::new();
    for (column, width) in wanted {
        if width + 1 > room {
            break;
        }
        room -= width + 1;
        chosen.push((column, width));
    }
    // What is left goes to the names, and from some point on to the address.
    let url = room.saturating_sub(11);
    let (name, url) = if url >= 24 { (least + 10, Some(url)) } else { (least + room.min(10), None) };
    let order = [Column::Profile, Column::Region, Column::State, Column::Newest, Column::Live, Column::Type];
    let order = order.into_iter().chain([Column::Source, Column::Age]);
    let mut columns = vec![(Column::Name, name)];
    columns.extend(order.filter_map(|column| chosen.iter().find(|(c, _)| *c == column).copied()));
    columns.extend(url.map(|width| (Column::Url, width)));
    let mut x = GUTTER;
    let place = |(column, width): (Column, u16)| {
        let place = Place { column, x, width };
        x += width + 1;
        place
    };
    columns.into_iter().map(place).collect()
}

/// How two rows compare in a column: what needs attention first, else by the alphabet, the youngest first.
pub fn compare(column: Column, a: &Row, b: &Row) -> Ordering {
    let text = |name: &'static str| {
        use crate::widgets::filter::Fields;
        let (a, b) = (a.field(name), b.field(name));
        // What is missing comes last.
        (a.is_empty(), a).cmp(&(b.is_empty(), b))
    };
    match column {
        Column::Name => a.name.cmp(&b.name),
        Column::Region => text("region"),
        Column::State => text("state"),
        Column::Newest => {
            let key = |row: &Row| {
                let at = row.newest.as_ref().and_then(|r| r.created_at);
                (row.newest.as_ref().map_or(9, |r| urgency(r.phase())), Reverse(at))
            };
            key(a).cmp(&key(b))
        }
        Column::Live => a.live().cmp(&b.live()),
        Column::Age => {
            let at = |row: &Row| row.deployment.as_ref().and_then(|d| d.created_at);
            at(b).cmp(&at(a))
        }
        Column::Type => text("type"),
        Column::Source => text("source"),
        Column::Profile => text("profile"),
        Column::Url => text("url"),
    }
}

/// Whether nothing is known of what stands in a column.
pub fn is_unknown(column: Column, row: &Row) -> bool {
    match column {
        Column::Newest => row.newest.is_none(),
        Column::Age => row.deployment.as_ref().is_none_or(|d| d.created_at.is_none()),
        _ => false,
    }
}

/// What one wants to see first.
fn urgency(phase: Phase) -> u8 {
    match phase {
        Phase::Failed => 0,
        Phase::Moving => 1,
        Phase::Waiting => 2,
        Phase::Unknown => 3,
        Phase::Interrupted => 4,
        Phase::Skipped => 5,
        Phase::Deployed => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_the_wide_table_has_all_of_them() {
        for width in 30..=300 {
            let places = layout(width, 6, 10);
            let last = places.last().expect("the names are always there");
            assert!(last.x + last.width < width.max(24), "{width}: {places:?}");
            assert!(places.windows(2).all(|p| p[0].x + p[0].width < p[1].x), "{width}: {places:?}");
        }
        let titles = |width| layout(width, 6, 10).iter().map(|p| p.column.title()).collect::<Vec<_>>();
        assert_eq!(titles(60), ["NAME", "REGION", "STATE", "NEWEST REVISION"]);
        assert_eq!(titles(80), ["NAME", "REGION", "STATE", "NEWEST REVISION", "LIVE", "AGE"]);
        assert_eq!(titles(160).len(), 10);
    }
}
