//! The columns of the deployments list: their layout, and the order of rows by a column.

use super::list::Row;
use runtail_core::model::Phase;
use std::cmp::{Ordering, Reverse};

/// The fields that a filter may name before a colon.
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
    /// Whether the newest revision serves traffic.
    Live,
    /// The age of the deployment.
    Age,
    /// `dev`, `prod`, …
    Type,
    /// `github`, `external_docker`, …
    Source,
    Profile,
    /// The URL of the agent server.
    Url,
}

impl Column {
    /// Returns the header of the column.
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
    pub column: Column,
    /// Terminal columns from the left edge of the pane.
    pub x: u16,
    /// Its width in terminal columns.
    pub width: u16,
}

/// Terminal columns before the table, for the selection mark.
const GUTTER: u16 = 3;

/// Returns the columns that fit, from the left. `tag` and `profile` are the widths of the longest ones.
pub fn layout(width: u16, tag: u16, profile: u16) -> Vec<Place> {
    let newest = match width {
        ..60 => 15,
        60..100 => 19,
        100..150 => 22,
        _ => 28,
    };
    // The minimum width of the names.
    let min_name = match width {
        ..60 => 12,
        60..72 => 16,
        _ => 22,
    };
    // By priority.
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
    let mut room = width.saturating_sub(GUTTER + 1 + min_name);
    let mut chosen = Vec::new();
    for (column, width) in wanted {
        if width + 1 > room {
            break;
        }
        room -= width + 1;
        chosen.push((column, width));
    }
    // The remaining width goes to the names, and in a wide pane to the URL.
    let url = room.saturating_sub(11);
    let (name, url) = if url >= 24 { (min_name + 10, Some(url)) } else { (min_name + room.min(10), None) };
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

/// Compares two rows by a column: by urgency, alphabetically, or youngest first.
pub fn compare(column: Column, a: &Row, b: &Row) -> Ordering {
    let text = |name: &'static str| {
        use crate::widgets::filter::Fields;
        let (a, b) = (a.field(name), b.field(name));
        // Missing values come last.
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

/// Returns whether the value of a column is unknown.
pub fn is_unknown(column: Column, row: &Row) -> bool {
    match column {
        Column::Newest => row.newest.is_none(),
        Column::Age => row.deployment.as_ref().is_none_or(|d| d.created_at.is_none()),
        _ => false,
    }
}

/// Returns the rank of a phase; lower ranks need attention first.
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
    fn columns_fit_and_a_wide_table_has_all_of_them() {
        for width in 30..=300 {
            let places = layout(width, 6, 10);
            let last = places.last().expect("there is always a name column");
            assert!(last.x + last.width < width.max(24), "{width}: {places:?}");
            assert!(places.windows(2).all(|p| p[0].x + p[0].width < p[1].x), "{width}: {places:?}");
        }
        let titles = |width| layout(width, 6, 10).iter().map(|p| p.column.title()).collect::<Vec<_>>();
        assert_eq!(titles(60), ["NAME", "REGION", "STATE", "NEWEST REVISION"]);
        assert_eq!(titles(80), ["NAME", "REGION", "STATE", "NEWEST REVISION", "LIVE", "AGE"]);
        // The last column of the enum.
        assert_eq!(titles(220).len(), Column::Url as usize + 1, "{:?}", titles(220));
    }
}
