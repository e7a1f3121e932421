//! The bytes that a call site adds to a program.

#[path = "../../weight/measure.rs"]
mod measure;

use self::measure::{OURS, weights};
use crate::names::{BACKON, BY_HAND_MUTE, SEATBELT, TOKIO_RETRY2};
use crate::report::{Report, Section};
use crate::scratch::target_folder;
use crate::table::Table;

const RIVALS: [(&str, &str); 4] = [
    (BY_HAND_MUTE, "by_hand"),
    (BACKON, "backon"),
    (TOKIO_RETRY2, "tokio_retry2"),
    (SEATBELT, "seatbelt"),
];

/// Adds the section to the report.
pub fn run(report: &mut Report) {
    let rows: Vec<_> = OURS.into_iter().chain(RIVALS).collect();
    let programs: Vec<_> = rows.iter().map(|(_, program)| *program).collect();
    let target = target_folder().join("retry-benches-weight");
    let of = |profile| weights(&programs, profile, "peers", &target);
    let (release, debug) = (of("release"), of("dev"));
    let header = ["a program with", "release: once", "each", "debug: once", "each"];
    let mut table = Table::new(1, header);
    for ((name, _), (release, debug)) in rows.iter().zip(release.iter().zip(&debug)) {
        let figures = [release.once, release.each, debug.once, debug.each];
        let figures = figures.map(|bytes| format!("{:.1} kB", bytes / 1e3));
        table.row([(*name).to_owned()].into_iter().chain(figures));
    }
    let mut section = Section::new("What does a call site weigh?");
    section.table(table);
    section.note(
        "Stripped programs, each compared with one that makes the same `TcpStream::connect` without \
         retries; `each` is the average of 19 further sites. A program whose matchers may have to read the \
         text of a failure contains the vocabulary for that, once.",
    );
    report.add(section);
}
