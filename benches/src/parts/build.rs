//! What a clean build costs that has one of the libraries, and tokio, in it.

use crate::contest::{Contest, Unit};
use crate::manifest::{our_features, ours, requirement};
use crate::names::{
    BACKON, BACKON_MACROS, BY_HAND, BY_HAND_MUTE, FAILSAFE, RECLOSER, RETRY_IF, TOKIO_RETRY2,
    TOWER_RESILIENCE,
};
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

/// Adds its rows: of `runs` runs, alternated, the fastest.
pub fn run(table: &mut Table, runs: usize) {
    let features: Vec<String> = our_features()
        .into_iter()
        .filter(|feature| !["default", "macros"].contains(&feature.as_str()))
        .collect();
    let fastest = Fastest::of(&crates(&features), runs, |program| {
        program.clean();
        program.cargo(&["build"])
    });
    for (what, times) in
        [("a clean build", &fastest.wall), ("a clean build, processor time", &fastest.processor)]
    {
        table.add(what, Unit::Seconds, &CONTESTS, times);
        let what = format!("{what}: a feature more");
        for feature in &features {
            let with = with_feature(feature);
            let contest = Contest { ours: &with, floor: Some(ONLY_MACROS), rivals: &[] };
            table.add(&what, Unit::Seconds, &[contest], times);
        }
    }
    table.note(format!(
        "Clean builds: debug, tokio with `rt`, `time` and `macros` in each; the fastest of {runs} runs. \
         A loop by hand needs tokio and tracing, one without events tokio; backon-macros needs backon."
    ));
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
