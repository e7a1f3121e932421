//! The cost of a clean build with one of the libraries and tokio.

use crate::contest::{Contest, Unit};
use crate::manifest::{our_features, ours, requirement};
use crate::names::{
    BACKON, BACKON_MACROS, BY_HAND, BY_HAND_MUTE, FAILSAFE, RECLOSER, RETRY_IF, TOKIO_RETRY2,
    TOWER_RESILIENCE,
};
use crate::report::{Measure, Report, Section};
use crate::scratch::{Crate, Fastest, TOKIO, TRACING};
use crate::table::Table;

const OURS: &str = "`retry-runtime`";
const ONLY_MACROS: &str = "`retry-runtime`, only `macros`";
const RIVALS: &[&str] = &[
    BY_HAND,
    BY_HAND_MUTE,
    BACKON,
    BACKON_MACROS,
    TOKIO_RETRY2,
    RETRY_IF,
    FAILSAFE,
    RECLOSER,
    TOWER_RESILIENCE,
];

const CONTESTS: [Contest<'static>; 2] = [
    Contest { ours: OURS, floor: Some(BY_HAND_MUTE), rivals: RIVALS },
    Contest { ours: ONLY_MACROS, floor: Some(BY_HAND_MUTE), rivals: RIVALS },
];

/// Adds the sections to the report, with the fastest of `runs` alternating runs.
pub fn run(report: &mut Report, runs: usize) {
    let features: Vec<String> = our_features()
        .into_iter()
        .filter(|feature| !["default", "macros"].contains(&feature.as_str()))
        .collect();
    let fastest = Fastest::of(&crates(&features), runs, |program| {
        program.clean();
        program.cargo(&["build"])
    });
    let measures = [
        Measure::new("time", Unit::Seconds, fastest.wall),
        Measure::new("processor time", Unit::Seconds, fastest.processor),
    ];

    let mut section = Section::new("What does a clean build cost?");
    for contest in &CONTESTS {
        section.compare(contest, &measures);
    }
    section.note(format!(
        "Debug, tokio with `rt`, `time` and `macros` in each; the fastest of {runs} runs. A loop by hand \
         needs tokio and tracing, one without events tokio; backon-macros needs backon."
    ));
    report.add(section);

    let mut section = Section::new("What does a feature add to a clean build?");
    section.table(each_feature(&features, &measures));
    report.add(section);
}

fn each_feature(features: &[String], measures: &[Measure]) -> Table {
    let over = format!("more than {ONLY_MACROS}");
    let header = measures.iter().flat_map(|measure| [&measure.what, &over]);
    let mut table = Table::new(1, ["a feature more"].into_iter().chain(header.map(String::as_str)));
    for feature in features {
        let with = with_feature(feature);
        let cells = measures.iter().flat_map(|Measure { unit, figures, .. }| {
            let (time, floor) = (figures[&with], figures[ONLY_MACROS]);
            [unit.show(time), unit.show_difference(time - floor)]
        });
        table.row([with.clone()].into_iter().chain(cells));
    }
    table
}

fn with_feature(feature: &str) -> String {
    format!("`macros` and `{feature}`")
}

/// A crate for each library, and for each of our features.
fn crates(features: &[String]) -> Vec<(String, Crate)> {
    let peers = |names: &[&str]| names.iter().map(|name| requirement(name)).collect::<Vec<_>>();
    let mut dependencies = vec![
        (OURS.to_owned(), vec![ours(None)]),
        (ONLY_MACROS.to_owned(), vec![ours(Some(&["macros"]))]),
        (BY_HAND_MUTE.to_owned(), Vec::new()),
        (BY_HAND.to_owned(), vec![TRACING.to_owned()]),
        (BACKON_MACROS.to_owned(), peers(&["backon", "backon-macros"])),
        (
            TOWER_RESILIENCE.to_owned(),
            peers(&["tower-resilience-retry", "tower-resilience-circuitbreaker"]),
        ),
    ];
    for peer in [BACKON, TOKIO_RETRY2, RETRY_IF, FAILSAFE, RECLOSER] {
        dependencies.push((peer.to_owned(), peers(&[peer])));
    }
    for feature in features {
        dependencies.push((with_feature(feature), vec![ours(Some(&["macros", feature]))]));
    }
    let numbered = dependencies.into_iter().enumerate();
    numbered
        .map(|(number, (name, mut dependencies))| {
            dependencies.push(TOKIO.to_owned());
            (name, Crate::new(&format!("build-{number}"), &dependencies))
        })
        .collect()
}
