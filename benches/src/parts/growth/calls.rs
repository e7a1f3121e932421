//! Calls with breakers by key, and the classification of texts.

use std::hint::black_box;

use retry_runtime::classify;

use super::{row, sizes, table, time};
use crate::breakers::Outcome;
use crate::breakers::ours::{by_keys, family, host};
use crate::child::{Finding, Findings};
use crate::contest::{Figures, Unit};
use crate::race::{Runner, race};
use crate::report::Section;

/// The numbers of keys of a family, with their names.
pub const KEYS: [(&str, usize); 5] =
    [("10² keys", 100), ("10³", 1_000), ("10⁴", 10_000), ("10⁵", 100_000), ("10⁶", 1_000_000)];

/// The lengths of a text in bytes.
const LENGTHS: [(&str, usize); 5] =
    [("10² bytes", 100), ("10³", 1_000), ("10⁴", 10_000), ("10⁵", 100_000), ("10⁶", 1_000_000)];

/// The sentences that are repeated to make a long text.
const TEXTS: [(&str, &str); 4] = [
    ("says nothing", "Order 4711 of customer 17 has no items that could be packed today. "),
    ("a failure in each sentence", "The request to the warehouse timed out after 30 seconds. "),
    ("a refusal in each sentence", "Permission denied for the table of orders at 10:42. "),
    ("a stack trace", "at com.example.OrderService.ship(OrderService.java:211)\n    "),
];

pub(super) fn measure(section: &mut Section, is_quick: bool) {
    let keys = sizes(&KEYS, is_quick);
    let names = keys.iter().map(|(name, _)| *name);
    let mut shown = table("`Breakers`, a family of", names.clone());
    let known = keys.iter().map(|&(name, keys)| {
        let breaker = by_keys(name, keys);
        Runner::new(name, move |calls| {
            black_box(breaker.calls(calls, Outcome::Success));
        })
    });
    let known = race(known.collect());
    row(&mut shown, "a call with a known key", &of(names.clone(), &known, 1e-9), time);
    let new = keys.iter().map(|&(name, keys)| {
        let (family, mut next) = (family(keys), keys);
        Runner::new(name, move |calls| {
            for _ in 0..calls {
                black_box(family.of(host(next).as_str()));
                next += 1;
            }
        })
    });
    let new = race(new.collect());
    row(&mut shown, "a new key, which evicts another", &of(names.clone(), &new, 1e-9), time);
    let bytes = Findings::of_program("count", "count").of(Finding::KeyBytes);
    let show = |bytes| Unit::Bytes.show(bytes);
    row(&mut shown, "heap for each key", &of(names, &bytes, 1.0), show);
    section.table(shown);

    let lengths = sizes(&LENGTHS, is_quick);
    let names = lengths.iter().map(|(name, _)| *name);
    let mut shown = table("`classify::text`, a text of", names.clone());
    for (what, sentence) in TEXTS {
        let runners = lengths.iter().map(|&(name, length)| {
            let text: String = sentence.chars().cycle().take(length).collect();
            Runner::new(name, move |calls| {
                for _ in 0..calls {
                    black_box(classify::text(black_box(&text)));
                }
            })
        });
        let figures = race(runners.collect());
        row(&mut shown, what, &of(names.clone(), &figures, 1e-9), time);
    }
    section.table(shown);
    section.note(
        "A call with a known key takes longer in a large family because its breaker is no longer in \
         the processor's cache. At its limit, a family looks at 64 breakers at most to evict one.",
    );
    section.note("A classification reads 16 KiB of a text at most.");
}

/// The figures in the order of these names.
fn of(names: impl Iterator<Item = &'static str>, figures: &Figures, unit: f64) -> Vec<f64> {
    names.map(|name| figures[name] * unit).collect()
}
