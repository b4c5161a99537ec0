//! The columns of the deployments list: their layout, and the order of the rows.

use super::list::Row;
use crate::widgets::table::GUTTER;
use runtail_core::model::Phase;
use std::cmp::{Ordering, Reverse};

/// The fields that a filter may name before a colon.
pub const FIELDS: [&str; 11] = [
    "name", "profile", "region", "state", "newest", "live", "source", "type", "url", "ref", "id",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The deployment's name.
    Name,
    /// The tag of its profile.
    Region,
    /// The status of the newest revision, or an unusual status of the deployment.
    Newest,
    /// The age of the newest revision.
    Age,
    /// Whether the newest revision serves, an older one, or none.
    Serving,
    /// The last 24 hours.
    Past,
    /// The threads with an active run.
    Busy,
    /// The threads that wait for a person.
    Waiting,
    /// The threads that failed.
    Failed,
    /// The subject of the commit that the newest revision was built from.
    Message,
    /// What the newest revision was made from.
    Commit,
    /// The address of the agent server.
    Url,
}

impl Column {
    /// Returns the header of the column.
    pub fn title(self, width: u16) -> &'static str {
        match self {
            Column::Name => "NAME",
            Column::Region if width < 6 => "RG",
            Column::Region => "REGION",
            Column::Newest => "NEWEST REVISION",
            Column::Age => "AGE",
            Column::Serving => "SERVING",
            Column::Past => "LAST 24 H",
            Column::Busy => "BUSY",
            Column::Waiting => "WAIT",
            Column::Failed => "FAIL",
            Column::Message => "MESSAGE",
            Column::Commit => "COMMIT",
            Column::Url => "AGENT SERVER",
        }
    }

    /// Returns whether its values are aligned right.
    pub fn is_right(self) -> bool {
        matches!(
            self,
            Column::Age | Column::Busy | Column::Waiting | Column::Failed
        )
    }

    /// Returns the order that a click on its header chooses.
    pub fn order(self) -> Option<Order> {
        match self {
            Column::Name => Some(Order::Name),
            Column::Region => Some(Order::Region),
            Column::Newest => Some(Order::Problems),
            Column::Age => Some(Order::Age),
            Column::Busy => Some(Order::Busy),
            _ => None,
        }
    }
}

/// An order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Failed, then waiting for a person, then stuck, then in progress, then the rest; the newest revision first.
    #[default]
    Problems,
    Name,
    /// The youngest newest revision first.
    Age,
    Region,
    /// The most active runs first.
    Busy,
}

impl Order {
    /// Returns the order that follows.
    pub fn next(self) -> Order {
        match self {
            Order::Problems => Order::Name,
            Order::Name => Order::Age,
            Order::Age => Order::Region,
            Order::Region => Order::Busy,
            Order::Busy => Order::Problems,
        }
    }

    /// Returns its name for the title.
    pub fn word(self) -> &'static str {
        match self {
            Order::Problems => "problems first",
            Order::Name => "by name",
            Order::Age => "by age",
            Order::Region => "by region",
            Order::Busy => "by busy threads",
        }
    }

    /// Returns the column whose header is marked.
    pub fn column(self) -> Column {
        match self {
            Order::Problems => Column::Newest,
            Order::Name => Column::Name,
            Order::Age => Column::Age,
            Order::Region => Column::Region,
            Order::Busy => Column::Busy,
        }
    }

    /// Compares two rows.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let created =
            |row: &Row| Reverse(row.newest.as_ref().and_then(|revision| revision.created_at));
        match self {
            Order::Problems => (urgency(a), created(a)).cmp(&(urgency(b), created(b))),
            Order::Name => a.name.cmp(&b.name),
            Order::Age => created(a).cmp(&created(b)),
            Order::Region => a.tag.cmp(&b.tag),
            Order::Busy => b.counts.busy.cmp(&a.counts.busy),
        }
    }

    /// Returns whether the value that rows are ordered by is unknown.
    pub fn is_unknown(self, row: &Row) -> bool {
        match self {
            Order::Age => row
                .newest
                .as_ref()
                .is_none_or(|revision| revision.created_at.is_none()),
            Order::Problems | Order::Name | Order::Region | Order::Busy => false,
        }
    }
}

/// Returns the rank of a row; lower ranks need attention first.
fn urgency(row: &Row) -> u8 {
    match row.newest.as_ref().map(|revision| revision.phase()) {
        Some(Phase::Failed) => 0,
        _ if row.counts.failed > 0 => 1,
        _ if row.counts.waiting > 0 => 2,
        _ if row.counts.stuck > 0 => 3,
        Some(Phase::Moving | Phase::Waiting | Phase::Unknown) => 4,
        Some(Phase::Interrupted | Phase::Skipped) => 5,
        Some(Phase::Deployed) => 6,
        None => 7,
    }
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sort {
    pub order: Order,
    pub reversed: bool,
}

impl Sort {
    /// Compares two rows. Unknown values are last in both directions.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let Sort {
            order: by,
            reversed,
        } = self;
        let order = by.compare(a, b);
        let order = if reversed { order.reverse() } else { order };
        let rest = || {
            Order::Name
                .compare(a, b)
                .then(a.profile.cmp(&b.profile))
                .then_with(|| a.id.cmp(&b.id))
        };
        by.is_unknown(a)
            .cmp(&by.is_unknown(b))
            .then(order)
            .then_with(rest)
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

/// The widths of the longest contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Widths {
    pub name: u16,
    pub tag: u16,
    pub commit: u16,
    /// 0 without a known subject.
    pub message: u16,
    /// 0 without agent servers that are not deployed.
    pub url: u16,
    /// Whether all rows are agent servers without a control plane, which have no revisions.
    pub only_servers: bool,
}

/// Returns the columns that fit. By priority: name, newest revision, the threads that wait and that failed, region, serving, age,
/// busy threads, the last 24 hours, the commit, its message. The message and the commit get the rest, as far as they are longer.
pub fn layout(width: u16, longest: Widths) -> Vec<Place> {
    let region = if width < 100 && longest.tag <= 3 {
        2.max(longest.tag)
    } else {
        longest.tag.clamp(6, 14)
    };
    // Each with the gap before it.
    let unless_empty = |longest: u16, (min, max): (u16, u16)| {
        if longest == 0 {
            u16::MAX
        } else {
            longest.clamp(min, max)
        }
    };
    let wanted: [(Column, u16, u16); 11] = [
        (Column::Newest, if width < 72 { 15 } else { 17 }, 1),
        (Column::Waiting, 4, 1),
        (Column::Failed, 4, 1),
        (Column::Region, region, 1),
        (Column::Serving, 9, 2),
        (Column::Age, 4, 1),
        (Column::Busy, 4, 1),
        (Column::Past, 24, 2),
        (Column::Commit, longest.commit.clamp(6, 16), 2),
        (Column::Message, unless_empty(longest.message, (7, 14)), 2),
        (Column::Url, unless_empty(longest.url, (12, 40)), 2),
    ];
    let name = longest.name.clamp(12, if width < 100 { 20 } else { 26 });
    let least_name = name.min(if width < 72 { 14 } else { 18 });
    let mut room = width.saturating_sub(GUTTER + 1 + least_name);
    let mut chosen = Vec::new();
    let of_revisions = [
        Column::Age,
        Column::Serving,
        Column::Past,
        Column::Commit,
        Column::Message,
    ];
    for (column, width, gap) in wanted {
        if longest.only_servers && of_revisions.contains(&column) {
            continue;
        }
        if width.saturating_add(gap) <= room {
            room -= width + gap;
            chosen.push((column, width, gap));
        }
    }
    let order = [
        Column::Region,
        Column::Newest,
        Column::Age,
        Column::Serving,
        Column::Past,
    ];
    let order = order
        .into_iter()
        .chain([Column::Busy, Column::Waiting, Column::Failed]);
    let order = order.chain([Column::Message, Column::Commit, Column::Url]);
    let mut grow = |width: &mut u16, to: u16| {
        let more = to.saturating_sub(*width).min(room);
        (*width, room) = (*width + more, room - more);
    };
    let mut name_width = least_name;
    grow(&mut name_width, name);
    // Most messages first, which say more than a long name of an image or a branch; then long ones.
    let wanted = [
        (Column::Message, longest.message.min(28)),
        (Column::Commit, longest.commit.min(40)),
        (Column::Message, longest.message.min(72)),
    ];
    for (column, to) in wanted {
        chosen
            .iter_mut()
            .filter(|(c, ..)| *c == column)
            .for_each(|(_, width, _)| grow(width, to));
    }
    let mut places = vec![(Column::Name, name_width, 0)];
    places.extend(order.filter_map(|column| chosen.iter().find(|(c, ..)| *c == column).copied()));
    let mut x = GUTTER;
    let place = |(column, width, gap): (Column, u16, u16)| {
        let place = Place {
            column,
            x: x + gap,
            width,
        };
        x += width + gap;
        place
    };
    places.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_and_a_wide_table_has_all_of_them() {
        let longest = Widths {
            name: 18,
            tag: 2,
            commit: 14,
            message: 40,
            url: 30,
            only_servers: false,
        };
        for width in 30..=300 {
            let places = layout(width, longest);
            let last = places.last().expect("there is always a name column");
            assert!(last.x + last.width < width.max(24), "{width}: {places:?}");
            assert!(
                places.windows(2).all(|p| p[0].x + p[0].width < p[1].x),
                "{width}: {places:?}"
            );
        }
        let titles = |width| {
            layout(width, longest)
                .iter()
                .map(|p| p.column.title(p.width))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            titles(60),
            ["NAME", "RG", "NEWEST REVISION", "SERVING", "WAIT", "FAIL"]
        );
        assert_eq!(
            titles(80),
            [
                "NAME",
                "RG",
                "NEWEST REVISION",
                "AGE",
                "SERVING",
                "BUSY",
                "WAIT",
                "FAIL"
            ]
        );
        let wide = [
            "NAME",
            "REGION",
            "NEWEST REVISION",
            "AGE",
            "SERVING",
            "LAST 24 H",
            "BUSY",
            "WAIT",
            "FAIL",
            "MESSAGE",
            "COMMIT",
        ];
        assert_eq!(titles(138), wide);
        assert_eq!(titles(220).len(), 12, "{:?}", titles(220));
    }

    #[test]
    fn agent_servers_without_a_control_plane_have_no_columns_about_revisions() {
        let longest = Widths {
            name: 18,
            tag: 2,
            commit: 0,
            message: 0,
            url: 30,
            only_servers: true,
        };
        let titles = layout(138, longest)
            .iter()
            .map(|p| p.column.title(p.width))
            .collect::<Vec<_>>();
        assert_eq!(
            titles,
            [
                "NAME",
                "REGION",
                "NEWEST REVISION",
                "BUSY",
                "WAIT",
                "FAIL",
                "AGENT SERVER"
            ]
        );
    }

    #[test]
    fn commits_and_messages_get_the_free_columns() {
        let width = |longest, width, column| {
            let places = layout(width, longest);
            places
                .iter()
                .find(|place| place.column == column)
                .map(|place| place.width)
        };
        let longest = Widths {
            name: 18,
            tag: 2,
            commit: 31,
            message: 40,
            url: 0,
            only_servers: false,
        };
        assert_eq!(width(longest, 198, Column::Commit), Some(31));
        assert_eq!(width(longest, 198, Column::Message), Some(40));
        // Without any message there is no column, and the commit gets its room.
        let none = Widths {
            message: 0,
            ..longest
        };
        assert_eq!(width(none, 140, Column::Message), None);
        assert!(width(none, 138, Column::Commit) > width(longest, 138, Column::Commit));
    }
}
