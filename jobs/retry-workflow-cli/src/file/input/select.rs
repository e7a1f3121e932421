//! [`Selection`]: which values of an input are items, and in which order: `filter`, `distinct`,
//! `sort_by`, `offset` and `max_items`, applied in this order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use serde_json::Value;

use super::read::{Halt, Item, ItemPlace, Sink};
use crate::yaml::span::{FileError, Source, SourceSpan};
use retry_workflow::condition::decimal::{Decimal, LARGEST, identity};
use retry_workflow::condition::expression::{Expression, Types, compare, kind, number};
use retry_workflow::condition::path::{PathPart, at};

/// Up to this many values are kept in memory rather than in a file.
const HELD: u64 = 10_000;

/// The settings of `map` that select items.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) filter: Option<(Expression<Vec<PathPart>>, SourceSpan)>,
    pub(crate) distinct: Option<Vec<PathPart>>,
    pub(crate) sort_by: Vec<SortKey>,
    pub(crate) sort_span: SourceSpan,
    pub(crate) offset: u64,
    pub(crate) max_items: Option<u64>,
}

/// A field, and whether the order is descending.
#[derive(Debug)]
pub(crate) struct SortKey {
    /// As written in the file.
    pub(crate) name: String,
    pub(crate) path: Vec<PathPart>,
    pub(crate) descends: bool,
}

/// A hash that is wide enough to rule out collisions by chance.
pub(crate) fn hash(value: &str) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, value).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

impl Selection {
    /// Passes the selected values of those that `read` reads to `each`.
    pub(crate) fn run<T>(
        &self,
        types: Types,
        source: &Arc<Source>,
        read: impl FnOnce(&mut Sink<'_>) -> Result<T, FileError>,
        each: &mut Sink<'_>,
    ) -> Result<T, FileError> {
        let mut seen = HashSet::new();
        let mut picked = |item: &Item| -> Result<bool, FileError> {
            if let Some((filter, span)) = &self.filter {
                let holds = filter.holds(types, &|path| at(&item.value, path).map(Cow::Borrowed));
                let holds = holds.map_err(|why| {
                    let Item { position, place, .. } = item;
                    let message =
                        format!("cannot evaluate the filter for item {position} ({place}): {why}");
                    FileError::at(source, *span, message)
                })?;
                if !holds {
                    return Ok(false);
                }
            }
            let value = self.distinct.as_ref().and_then(|path| at(&item.value, path));
            // A value without the field is distinct from all others.
            let Some(value) = value else { return Ok(true) };
            let identity = identity(value).map_err(|number| {
                let Item { position, place, .. } = item;
                let message = format!(
                    "`distinct` cannot compare item {position} ({place}): {number} is too large, \
                     numbers can be as large as {LARGEST}"
                );
                FileError::at(source, None, message)
            })?;
            Ok(seen.insert(hash(&identity)))
        };
        if !self.sort_by.is_empty() {
            return self.sorted(types, source, read, &mut picked, each);
        }
        let (mut skipped, mut taken) = (0, 0);
        read(&mut |item| {
            if self.max_items.is_some_and(|most| taken >= most) {
                return Err(Halt::Enough);
            }
            if !picked(&item)? {
                return Ok(());
            }
            if skipped < self.offset {
                skipped += 1;
                return Ok(());
            }
            taken += 1;
            each(item)
        })
    }

    fn sorted<T>(
        &self,
        types: Types,
        source: &Arc<Source>,
        read: impl FnOnce(&mut Sink<'_>) -> Result<T, FileError>,
        picked: &mut dyn FnMut(&Item) -> Result<bool, FileError>,
        each: &mut Sink<'_>,
    ) -> Result<T, FileError> {
        let directions: Arc<[bool]> = self.sort_by.iter().map(|key| key.descends).collect();
        let most = self.max_items.map(|most| most.saturating_add(self.offset));
        let mut kinds: Vec<Option<(&str, u64)>> = vec![None; self.sort_by.len()];
        let spool_failed = |error: io::Error| {
            let message = format!("cannot sort in a temporary file: {error}");
            FileError::at(source, self.sort_span, message)
        };
        let mut order = match most.filter(|most| *most <= HELD) {
            Some(most) => Order::Held(most, BinaryHeap::new()),
            None => Order::Spooled(Spool::new().map_err(spool_failed)?, Vec::new()),
        };
        let end = read(&mut |item| {
            if !picked(&item)? {
                return Ok(());
            }
            let mut keys = Vec::with_capacity(self.sort_by.len());
            for (key, known) in self.sort_by.iter().zip(&mut kinds) {
                let value = at(&item.value, &key.path).filter(|value| !value.is_null());
                let value = value.map(|value| sortable(value, types));
                if let Some(value) = &value {
                    same_kind(key, value, types, item.position, known)
                        .map_err(|message| FileError::at(source, self.sort_span, message))?;
                }
                keys.push(value);
            }
            let (position, place, directions) = (item.position, item.place, directions.clone());
            let entry = |held| SortEntry { keys, directions, position, place, held };
            match &mut order {
                Order::Held(most, heap) => {
                    heap.push(entry(Held::Value(item.value)));
                    if u64::try_from(heap.len()).is_ok_and(|len| len > *most) {
                        heap.pop();
                    }
                }
                Order::Spooled(spool, entries) => {
                    let held = spool.put(&item.value).map_err(spool_failed)?;
                    entries.push(entry(held));
                }
            }
            Ok(())
        })?;
        let (mut entries, mut spool) = match order {
            Order::Held(_, heap) => (heap.into_vec(), None),
            Order::Spooled(spool, entries) => (entries, Some(spool)),
        };
        entries.sort_unstable();
        let skipped = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let taken =
            self.max_items.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        for SortEntry { position, place, held, .. } in entries.into_iter().skip(skipped).take(taken)
        {
            let value = match (held, &mut spool) {
                (Held::Value(value), _) => value,
                (Held::At(from, len), Some(spool)) => spool.get(from, len).map_err(spool_failed)?,
                (Held::At(..), None) => continue,
            };
            match each(Item { position, place, value }) {
                Ok(()) => {}
                Err(Halt::Enough) => break,
                Err(Halt::Failed(error)) => return Err(error),
            }
        }
        Ok(end)
    }
}

/// Checks that values are of the same kind: others cannot be ordered.
fn same_kind(
    key: &SortKey,
    value: &Value,
    types: Types,
    position: u64,
    known: &mut Option<(&'static str, u64)>,
) -> Result<(), String> {
    let is = match value {
        Value::Number(number) if Decimal::of(number).is_none() => {
            return Err(format!(
                "`{}` of item {position} is {number}, which cannot be ordered: numbers can be as \
                 large as {LARGEST}",
                key.name
            ));
        }
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Bool(_) => "true or false",
        _ => {
            return Err(format!(
                "`{}` of item {position} is {}, which cannot be ordered: sort by a number or a \
                 text",
                key.name,
                kind(value)
            ));
        }
    };
    // In a CSV, numbers sort before other texts.
    if types == Types::Texts {
        return Ok(());
    }
    match known {
        Some((was, first)) if *was != is => Err(format!(
            "`{}` is {was} in item {first} and {is} in item {position}: sort by a field that has \
             the same type in all items",
            key.name
        )),
        _ => {
            *known = Some((is, known.map_or(position, |(_, first)| first)));
            Ok(())
        }
    }
}

fn sortable(value: &Value, types: Types) -> Value {
    match value {
        Value::String(text) if types == Types::Texts => {
            number(text).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

enum Order {
    /// The first items, up to a limit.
    Held(u64, BinaryHeap<SortEntry>),
    Spooled(Spool, Vec<SortEntry>),
}

/// An item to be sorted.
struct SortEntry {
    keys: Vec<Option<Value>>,
    directions: Arc<[bool]>,
    position: u64,
    place: ItemPlace,
    held: Held,
}

enum Held {
    Value(Value),
    /// Offset and length in the spool.
    At(u64, usize),
}

impl Ord for SortEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |value: &Value| u8::from(!value.is_number());
        for ((one, two), &descends) in self.keys.iter().zip(&other.keys).zip(&*self.directions) {
            let ordering = match (one, two) {
                (Some(one), Some(two)) => {
                    let ordering =
                        compare(Types::Json, one, two).unwrap_or_else(|| rank(one).cmp(&rank(two)));
                    if descends { ordering.reverse() } else { ordering }
                }
                // Missing values come last, in both directions.
                (one, two) => one.is_none().cmp(&two.is_none()),
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        self.position.cmp(&other.position)
    }
}

impl PartialOrd for SortEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortEntry {}

/// Values in an unnamed temporary file.
struct Spool {
    file: BufWriter<File>,
    len: u64,
}

impl Spool {
    fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), len: 0 })
    }

    fn put(&mut self, value: &Value) -> io::Result<Held> {
        let text = value.to_string();
        self.file.write_all(text.as_bytes())?;
        let held = Held::At(self.len, text.len());
        self.len += u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok(held)
    }

    fn get(&mut self, from: u64, len: usize) -> io::Result<Value> {
        self.file.flush()?;
        let file = self.file.get_mut();
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; len];
        file.read_exact(&mut bytes)?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }
}

/// With all digits of numbers, which the command keeps and the library alone does not.
#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::of(&serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn numbers_are_equal_by_value_and_ordered() {
        for equal in [
            &["1", "1.0", "1e0", "0.1e1", "10E-1", "100e-2"][..],
            &["0", "-0", "0.0", "0e5", "-0.00e-7"],
            &["1180591620717411303424", "1180591620717411303424.0", "1.180591620717411303424e21"],
            &["-1.10", "-1.1", "-11e-1"],
            &["0.001", "1e-3"],
        ] {
            for one in equal {
                assert_eq!(decimal(one), decimal(equal[0]), "{one}");
            }
        }
        let ascending = [
            "-1e300",
            "-1180591620717411303425",
            "-1180591620717411303424",
            "-1.2",
            "-1.1",
            "-1e-9",
            "0",
            "1e-99999999999999999999",
            "1e-400",
            "1e-9",
            "0.1",
            "0.11",
            "0.9",
            "1",
            "1.000000000000000000001",
            "9.5",
            "10",
            "12345678901234.56788",
            "12345678901234.56789",
            "1180591620717411303424",
            "1180591620717411303425",
            "1e300",
        ];
        for two in ascending.windows(2) {
            assert!(decimal(two[0]) < decimal(two[1]), "{two:?}");
        }
    }

    #[test]
    fn values_are_the_same_by_the_value_of_their_numbers() {
        let same = |text: &str| {
            identity(&serde_json::from_str(text).unwrap()).map_err(ToString::to_string)
        };
        assert_eq!(same(r#"{"a": [1, 1.0], "b": "1"}"#), same(r#"{"b": "1", "a": [1e0, 1]}"#));
        assert_ne!(same(r#""1""#), same("1"));
        assert_ne!(same("1180591620717411303424"), same("1180591620717411303425"));
        assert_eq!(same("[1E400]"), Err("1e+400".to_owned()));
    }
}
