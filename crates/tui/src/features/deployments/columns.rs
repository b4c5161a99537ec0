//! The columns of the deployments list: their layout, and the order of the rows.

use super::list::Row;
use crate::widgets::table::{GUTTER, TableColumn, TableColumns};
use runtail_core::model::Phase;
use std::cmp::{Ordering, Reverse};

/// The fields that a filter may name before a colon.
pub const FIELDS: [&str; 11] = [
    "name", "profile", "region", "state", "newest", "live", "source", "type", "url", "ref", "id",
];

/// The column of the deployment's name.
pub const NAME: usize = 0;
/// The column of the tag of its profile.
const REGION: usize = 1;
/// The column of the status of the newest revision, or of an unusual status of the deployment.
const NEWEST: usize = 2;
/// The column of the age of the newest revision.
const AGE: usize = 3;
/// The column of the threads with an active run.
const BUSY: usize = 6;
/// The column of the subject of the commit that the newest revision was built from.
const MESSAGE: usize = 9;
/// The column of what the newest revision was made from.
pub const COMMIT: usize = 10;

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
    /// All of them, with the name for the title and the column whose header is marked.
    const ALL: [(Order, &'static str, usize); 5] = [
        (Order::Problems, "problems first", NEWEST),
        (Order::Name, "by name", NAME),
        (Order::Age, "by age", AGE),
        (Order::Region, "by region", REGION),
        (Order::Busy, "by busy threads", BUSY),
    ];

    /// Returns the order that a click on the header of a column chooses.
    pub fn of_column(column: usize) -> Option<Order> {
        let mut all = Order::ALL.into_iter();
        all.find(|(.., at)| *at == column).map(|(order, ..)| order)
    }

    /// Returns the order that follows.
    pub fn next(self) -> Order {
        Order::ALL[(self as usize + 1) % Order::ALL.len()].0
    }

    /// Returns its name for the title.
    pub fn word(self) -> &'static str {
        Order::ALL[self as usize].1
    }

    /// Returns the column whose header is marked.
    pub fn column(self) -> usize {
        Order::ALL[self as usize].2
    }

    /// Compares two rows.
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        let created = |row: &Row| Reverse(created_at(row));
        match self {
            Order::Problems => (urgency(a), created(a)).cmp(&(urgency(b), created(b))),
            Order::Name => a.name.cmp(&b.name),
            Order::Age => created(a).cmp(&created(b)),
            Order::Region => a.tag.cmp(&b.tag),
            Order::Busy => b.counts.busy.cmp(&a.counts.busy),
        }
    }
}

fn created_at(row: &Row) -> Option<jiff::Timestamp> {
    row.newest.as_ref()?.created_at
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
    /// Compares two rows. Unknown ages are last in both directions.
    pub fn compare(self, a: &Row, b: &Row) -> Ordering {
        let is_unknown = |row| self.order == Order::Age && created_at(row).is_none();
        let order = self.order.compare(a, b);
        let order = if self.reversed {
            order.reverse()
        } else {
            order
        };
        is_unknown(a)
            .cmp(&is_unknown(b))
            .then(order)
            .then_with(|| (&a.name, &a.profile, &a.id).cmp(&(&b.name, &b.profile, &b.id)))
    }
}

/// The widths of the longest contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Widths {
    pub name: usize,
    pub tag: usize,
    pub commit: usize,
    /// 0 without a known subject.
    pub message: usize,
    /// 0 without agent servers that are not deployed.
    pub url: usize,
    /// Whether all rows are agent servers without a control plane, which have no revisions.
    pub only_servers: bool,
}

/// Returns the columns that fit into a pane. The message and the commit get the rest, as far as they are longer.
pub fn layout(width: usize, longest: Widths) -> TableColumns {
    let name = longest.name.clamp(12, if width < 100 { 20 } else { 26 });
    let least_name = name.min(if width < 72 { 14 } else { 18 });
    let region = match longest.tag {
        tag @ ..=3 if width < 100 => tag.max(2),
        tag => tag.clamp(6, 14),
    };
    let region_title = if region < 6 { "RG" } else { "REGION" };
    let newest = match longest.only_servers {
        true => "STATE",
        false => "NEWEST REVISION",
    };
    let newest_width = if width < 72 { 15 } else { 17 };
    let unless_empty = |longest: usize, min, max| match longest {
        0 => 0,
        longest => longest.clamp(min, max),
    };
    let commit = longest.commit.clamp(6, 16);
    let (message, url) = (
        unless_empty(longest.message, 7, 14),
        unless_empty(longest.url, 12, 40),
    );
    // The width, the space before it, and its rank.
    let column = |title, (width, gap, rank)| TableColumn {
        title,
        width,
        gap,
        rank,
        is_right: false,
    };
    let number = |title, rank| TableColumn {
        is_right: true,
        ..column(title, (4, 1, rank))
    };
    let of_revisions = |column| match longest.only_servers {
        true => TableColumn::default(),
        false => column,
    };
    let columns = vec![
        column("NAME", (least_name, 0, 0)),
        column(region_title, (region, 1, 4)),
        column(newest, (newest_width, 1, 1)),
        of_revisions(number("AGE", 6)),
        of_revisions(column("SERVING", (9, 2, 5))),
        of_revisions(column("LAST 24 H", (24, 2, 8))),
        number("BUSY", 7),
        number("WAIT", 2),
        number("FAIL", 3),
        of_revisions(column("MESSAGE", (message, 2, 10))),
        of_revisions(column("COMMIT", (commit, 2, 9))),
        column("AGENT SERVER", (url, 2, 11)),
    ];
    // Most messages first, which say more than a long name of an image or a branch; then long ones.
    let growth = [
        (NAME, name),
        (MESSAGE, longest.message.min(28)),
        (COMMIT, longest.commit.min(40)),
        (MESSAGE, longest.message.min(72)),
    ];
    let room = width.saturating_sub(usize::from(GUTTER) + 1);
    TableColumns::ranked(room, columns, &growth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::line::Line;

    fn titles(width: usize, longest: Widths) -> Vec<&'static str> {
        layout(width, longest).titles()
    }

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
            let cells = (0..12).map(|_| Line::plain(&"x".repeat(100)));
            let line = layout(width, longest).line(cells);
            assert!(
                usize::from(GUTTER) + line.width() < width.max(24),
                "{width}: {line:?}"
            );
        }
        assert_eq!(
            titles(60, longest),
            ["NAME", "RG", "NEWEST REVISION", "SERVING", "WAIT", "FAIL"]
        );
        assert_eq!(
            titles(80, longest),
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
        assert_eq!(titles(138, longest), wide);
        assert_eq!(titles(220, longest).len(), 12);
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
        assert_eq!(
            titles(138, longest),
            [
                "NAME",
                "REGION",
                "STATE",
                "BUSY",
                "WAIT",
                "FAIL",
                "AGENT SERVER"
            ]
        );
    }

    #[test]
    fn commits_and_messages_get_the_free_columns() {
        let width = |longest, width, column| layout(width, longest).width(column);
        let longest = Widths {
            name: 18,
            tag: 2,
            commit: 31,
            message: 40,
            url: 0,
            only_servers: false,
        };
        assert_eq!(width(longest, 198, COMMIT), 31);
        assert_eq!(width(longest, 198, MESSAGE), 40);
        // Without any message there is no column, and the commit gets its room.
        let none = Widths {
            message: 0,
            ..longest
        };
        assert_eq!(width(none, 140, MESSAGE), 0);
        assert!(width(none, 138, COMMIT) > width(longest, 138, COMMIT));
    }
}
