//! Crons: runs that a schedule starts (acting reference §9).

use super::life::start;
use crate::agent::prelude::*;
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

/// How often schedules are checked.
const TICK: Duration = Duration::from_secs(1);
/// How far ahead a schedule is searched for its next time, in days.
const DAYS: i64 = 366 * 5;
/// The fields that a cron's record has besides its payload.
const FIELDS: [&str; 5] = [
    "end_time",
    "schedule",
    "timezone",
    "on_run_completed",
    "enabled",
];

/// A schedule: the allowed minutes, hours, days, months and weekdays (Sunday is 0), and whether both the day of the month and the
/// weekday are restricted: then one of them is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Schedule([Vec<i8>; 5], bool);

impl Schedule {
    fn parse(text: &str) -> Option<Schedule> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return None;
        };
        let mut all = [
            values(minute, 0, 59)?,
            values(hour, 0, 23)?,
            values(day, 1, 31)?,
            values(month, 1, 12)?,
            values(weekday, 0, 7)?,
        ];
        all[4].iter_mut().for_each(|day| *day %= 7);
        Some(Schedule(all, day != "*" && weekday != "*"))
    }

    fn has_day(&self, day: &Zoned) -> bool {
        let Schedule([_, _, days, months, weekdays], is_either) = self;
        let of_month = days.contains(&day.day());
        let of_week = weekdays.contains(&day.weekday().to_sunday_zero_offset());
        let fits = if *is_either {
            of_month || of_week
        } else {
            of_month && of_week
        };
        fits && months.contains(&day.month())
    }

    /// Returns the first time after `now`.
    fn next(&self, now: Timestamp, zone: TimeZone) -> Option<Timestamp> {
        let begin = now.to_zoned(zone);
        let today = begin.start_of_day().ok()?;
        let Schedule([minutes, hours, ..], _) = self;
        let days = (0..DAYS).filter_map(|n| today.checked_add(n.days()).ok());
        let days = days.filter(|day| self.has_day(day));
        let mut times = days.flat_map(|day| {
            let all = hours
                .iter()
                .flat_map(|hour| minutes.iter().map(move |minute| (*hour, *minute)));
            let times = all.filter_map(move |(hour, minute)| {
                day.with().hour(hour).minute(minute).build().ok()
            });
            times.collect::<Vec<_>>()
        });
        Some(times.find(|at| *at > begin)?.timestamp())
    }
}

/// The values of a field of a schedule: `*`, `*/2`, `1-5`, `1,3`, or one.
fn values(field: &str, least: i8, greatest: i8) -> Option<Vec<i8>> {
    let mut all = Vec::new();
    for part in field.split(',') {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, greatest),
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None => {
                let one = range.parse().ok()?;
                (one, if part.contains('/') { greatest } else { one })
            }
        };
        let step = step.parse().ok().filter(|step| *step > 0)?;
        if from < least || to > greatest || from > to {
            return None;
        }
        all.extend((from..=to).step_by(step));
    }
    all.sort_unstable();
    Some(all)
}

impl Cron {
    fn row(&self) -> Value {
        let mut row = json!({
            "cron_id": self.id, "assistant_id": self.assistant, "thread_id": self.thread, "user_id": "",
            "payload": self.payload, "next_run_date": self.next.map(iso),
            "metadata": object_of(&self.payload["metadata"]), "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
        });
        for field in FIELDS {
            row[field] = self.payload[field].clone();
        }
        row["enabled"] = json!(self.is_enabled());
        if row["on_run_completed"].is_null() && self.thread.is_none() {
            row["on_run_completed"] = json!("delete");
        }
        row
    }

    fn is_enabled(&self) -> bool {
        self.payload["enabled"] != false
    }

    /// Computes the next run, unless the schedule or its time zone is invalid.
    pub fn plan(&mut self, now: Timestamp) -> Result<(), Refusal> {
        let text = text_of(&self.payload["schedule"]);
        let schedule = Schedule::parse(text).ok_or_else(|| {
            invalid(&format!(
                "Invalid cron schedule: '{text}'. Reason: Invalid cron schedule. Ensure the schedule uses the standard cron \
                 format (minute hour day_of_month month day_of_week). Example: '*/5 * * * *' for every 5 minutes."
            ))
        })?;
        let name = self.payload["timezone"].as_str().unwrap_or("UTC");
        let zone = TimeZone::get(name).map_err(|_| {
            invalid(&format!(
                "Invalid timezone: '{name}'. Use IANA timezone format (e.g. 'America/New_York')."
            ))
        })?;
        self.next = schedule.next(now, zone);
        Ok(())
    }
}

/// Creates a cron on a thread, or on new threads. Returns its row.
pub fn create(
    agent: &Arc<Agent>,
    thread: Option<String>,
    body: &Value,
    now: Timestamp,
) -> Result<Value, Refusal> {
    let asked = text_of(&body["assistant_id"]);
    let assistant = agent
        .assistant(asked)
        .ok_or_else(|| missing(&format!("Assistant '{asked}' not found")))?;
    if !body["config"].is_null() && !body["config"].is_object() {
        return Err(bad_json());
    }
    let id = uuid7(now);
    let mut payload = body.clone();
    payload["assistant_id"] = json!(assistant.id);
    payload["config"]["configurable"]["cron_id"] = json!(id);
    let mut cron = Cron {
        id,
        assistant: assistant.id,
        thread,
        payload,
        created_at: now,
        updated_at: now,
        next: None,
    };
    cron.plan(now)?;
    let row = cron.row();
    let crons = &mut agent.memory().crons;
    crons.push(cron);
    if crons.len() == 1 {
        tokio::spawn(run_due(agent.clone()));
    }
    Ok(row)
}

/// Starts the runs of crons that are due, until the last cron is deleted or the simulator stops.
async fn run_due(agent: Arc<Agent>) {
    loop {
        tokio::select! {
            () = agent.stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        if !start_due(&agent, now()) {
            return;
        }
    }
}

/// Starts the runs of crons that are due. Returns whether there are crons.
fn start_due(agent: &Arc<Agent>, now: Timestamp) -> bool {
    let mut due = Vec::new();
    let mut memory = agent.memory();
    let is_due = |cron: &&mut Cron| cron.next.is_some_and(|next| next <= now);
    for cron in memory.crons.iter_mut().filter(is_due) {
        due.extend(cron.is_enabled().then(|| cron.clone()));
        // The schedule was valid before.
        let _ = cron.plan(now);
    }
    let are_any = !memory.crons.is_empty();
    drop(memory);
    due.iter().for_each(|cron| run(agent, cron, now));
    are_any
}

fn run(agent: &Arc<Agent>, cron: &Cron, now: Timestamp) {
    let stateless = cron.thread.is_none() && cron.payload["on_run_completed"] != "keep";
    let thread = cron.thread.clone().unwrap_or_else(|| {
        let thread = Thread::new(uuid7(now), now, Object::new());
        let id = thread.id.clone();
        agent.memory().threads.insert(id.clone(), thread);
        id
    });
    // A run that is refused, because its assistant or its thread was deleted, leaves no trace on the real server either.
    let _ = start(agent, &thread, &cron.payload, stateless);
}

/// `POST /runs/crons`.
pub async fn post(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    Ok(ok(&create(&agent, None, &body(&bytes)?, now())?))
}

/// `POST /threads/{thread}/runs/crons`.
pub async fn post_on_thread(
    State(agent): ThisAgent,
    Path(thread): Path<String>,
    bytes: Bytes,
) -> Handled {
    agent.check_thread(&thread)?;
    Ok(ok(&create(&agent, Some(thread), &body(&bytes)?, now())?))
}

/// `POST /runs/crons/search`.
pub async fn search(State(agent): ThisAgent, bytes: Bytes) -> Handled {
    let body = optional_body(&bytes)?;
    let mut rows: Vec<Value> = agent.memory().crons.iter().map(Cron::row).collect();
    for field in ["assistant_id", "thread_id", "enabled"] {
        rows.retain(|row| body[field].is_null() || row[field] == body[field]);
    }
    rows.retain(|row| body["metadata"].is_null() || contains(&row["metadata"], &body["metadata"]));
    let key = body["sort_by"].as_str().unwrap_or("created_at");
    rows.sort_by_key(|row| text_of(&row[key]).to_owned());
    if body["sort_order"] != "asc" {
        rows.reverse();
    }
    let page = rows.into_iter().skip(number(&body, "offset", 0));
    Ok(ok(&page.take(number(&body, "limit", 10)).collect()))
}

/// `GET /runs/crons/{cron}`.
pub async fn get(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_id("cron", &id)?;
    let memory = agent.memory();
    let found = memory.crons.iter().find(|cron| cron.id == id);
    Ok(ok(&found.ok_or_else(|| missing("Not Found"))?.row()))
}

/// `PATCH /runs/crons/{cron}`. Unknown fields, and another assistant, are accepted and ignored.
pub async fn patch(State(agent): ThisAgent, Path(id): Path<String>, bytes: Bytes) -> Handled {
    check_id("cron", &id)?;
    let body = body(&bytes)?;
    if fields_of(&body).next().is_none() {
        return Err(bad("Request body cannot be empty"));
    }
    let mut memory = agent.memory();
    let found = memory.crons.iter_mut().find(|cron| cron.id == id);
    let cron = found.ok_or_else(|| missing(&format!("Cron '{id}' not found")))?;
    let mut changed = cron.clone();
    for (name, value) in fields_of(&body).filter(|(name, _)| *name != "assistant_id") {
        changed.payload[name] = value.clone();
    }
    changed.updated_at = now();
    changed.plan(changed.updated_at)?;
    *cron = changed;
    Ok(ok(&cron.row()))
}

/// `DELETE /runs/crons/{cron}`.
pub async fn delete(State(agent): ThisAgent, Path(id): Path<String>) -> Handled {
    check_id("cron", &id)?;
    let crons = &mut agent.memory().crons;
    let count = crons.len();
    crons.retain(|cron| cron.id != id);
    match crons.len() == count {
        true => Err(missing("Not Found")),
        false => Ok(done()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, zone: &str) -> String {
        let now: Timestamp = "2026-11-22T02:58:57Z".parse().unwrap();
        let zone = TimeZone::get(zone).unwrap();
        Schedule::parse(schedule)
            .and_then(|schedule| schedule.next(now, zone))
            .unwrap()
            .to_string()
    }

    #[test]
    fn next_times_match_the_captures() {
        assert_eq!(next("*/5 * * * *", "UTC"), "2026-11-22T03:00:00Z");
        assert_eq!(next("0 9 * * 1", "Europe/Warsaw"), "2026-11-23T08:00:00Z");
        assert_eq!(next("0 9 1 1 *", "UTC"), "2027-01-01T09:00:00Z");
        assert_eq!(
            next("30 2-4,6 13 * 5", "UTC"),
            "2026-11-27T02:30:00Z",
            "the 13th or a Friday"
        );
    }

    #[tokio::test]
    async fn a_due_cron_starts_a_run_and_is_planned_again() {
        let agent = Agent::new(
            "a",
            "http://127.0.0.1:1",
            &crate::Options::default(),
            agent_stop(),
        );
        let now = Timestamp::now();
        let body = json!({"assistant_id": "slow", "schedule": "*/5 * * * *", "on_run_completed": "keep", "input": {}});
        let row = create(&agent, None, &body, now).unwrap();
        assert!(
            start_due(&agent, now) && agent.memory().threads.is_empty(),
            "not due yet"
        );
        let due = agent.memory().crons[0].next.unwrap();
        assert!(start_due(&agent, due));
        let threads: Vec<String> = agent.memory().threads.keys().cloned().collect();
        assert_eq!(threads.len(), 1);
        let memory = agent.memory();
        let run = &memory.threads[&threads[0]].runs[0];
        assert_eq!(
            run.kwargs["config"]["configurable"]["cron_id"],
            row["cron_id"]
        );
        assert!(
            !memory.threads[&threads[0]].metadata.contains_key("cron_id"),
            "as on the real server"
        );
        assert!(memory.crons[0].next.unwrap() > due);
    }

    fn agent_stop() -> tokio_util::sync::CancellationToken {
        tokio_util::sync::CancellationToken::new()
    }

    #[test]
    fn invalid_schedules_are_rejected() {
        for bad in [
            "bad",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "5-2 * * * *",
            "* * * * 8",
        ] {
            assert_eq!(Schedule::parse(bad), None, "{bad}");
        }
    }
}
