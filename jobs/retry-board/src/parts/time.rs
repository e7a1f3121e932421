//! Points in time: as text in UTC, which the script converts to the visitor's time zone.

use std::time::Duration;

use maud::{Markup, html};
use retry_workflow::Timestamp;
use retry_workflow::words::{age, duration, moment};

/// A time, to the second.
pub(crate) fn at(time: Timestamp) -> Markup {
    html! { time datetime=(time) title=(utc(time)) data-local { (moment(time)) } }
}

/// Returns how long ago it was, with the time on hover.
pub(crate) fn ago(now: Timestamp, time: Timestamp) -> Markup {
    html! { time datetime=(time) title=(utc(time)) data-hint { (age(now, time)) " ago" } }
}

/// Returns how long until it, or how long ago it was.
pub(crate) fn relative(now: Timestamp, time: Timestamp) -> Markup {
    if time <= now {
        return ago(now, time);
    }
    html! { time datetime=(time) title=(utc(time)) data-hint { "in " (age(time, now)) } }
}

/// A time without its day.
pub(crate) fn clock(time: Timestamp) -> Markup {
    html! {
        time datetime=(time) title=(utc(time)) data-clock {
            (moment(time).get(11..16).unwrap_or_default()) " UTC"
        }
    }
}

fn utc(time: Timestamp) -> String {
    format!("{} UTC", moment(time).trim_end_matches('Z'))
}

/// A duration in a few characters.
pub(crate) fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    let rounded = match seconds {
        0 => time,
        1..60 => Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(0) / 100 * 100),
        60..3_600 => Duration::from_secs(seconds),
        3_600..86_400 => Duration::from_secs(seconds / 60 * 60),
        _ => Duration::from_secs(seconds / 3_600 * 3_600),
    };
    duration(rounded)
}
