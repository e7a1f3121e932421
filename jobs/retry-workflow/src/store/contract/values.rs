//! Values: revisions, prefixes, and values that are chosen once.

use crate::store::{Change, Store, StoreError};
use std::sync::Arc;

/// A caller that has not seen the last change cannot change the value.
pub async fn a_value_changes_with_its_revision(store: &Arc<dyn Store>) {
    assert_eq!(store.get("k").await, Ok(None));
    assert_eq!(store.cas("k", 1, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(None));
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    assert_eq!(store.cas("k", 0, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(Some((1, "one".to_owned()))));
    assert_eq!(store.cas("k", 1, "two").await, Ok(true));
    assert_eq!(store.cas("k", 1, "x").await, Ok(false));
    assert_eq!(store.cas("k", u64::MAX, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(Some((2, "two".to_owned()))));
}

/// Prefixes match literally: there are no wildcards, and case matters.
pub async fn values_are_found_by_the_beginning_of_their_keys(store: &Arc<dyn Store>) {
    let mut all = ["", "a", "a%b", "a_b", "axb", "A", "a\0b", "ä", "äb", "b", "\u{10ffff}"];
    for key in all {
        assert_eq!(store.cas(key, 0, &format!("of {key}")).await, Ok(true), "{key:?}");
    }
    all.sort_unstable();
    for prefix in ["", "a", "a%", "a_", "A", "a\0", "ä", "\u{10ffff}", "nobody"] {
        let begins = all.iter().filter(|key| key.starts_with(prefix));
        let expected = begins.map(|&key| (key.to_owned(), format!("of {key}"))).collect();
        assert_eq!(store.values(prefix).await, Ok(expected), "{prefix:?}");
    }
}

/// Values change in one step. What becomes `None` stays, and nothing changes if the caller fails.
pub async fn values_change_together(store: &Arc<dyn Store>) {
    let keys = || ["k/b", "k/a", "k/c"].map(String::from).to_vec();
    assert_eq!(store.cas("k/a", 0, "1").await, Ok(true));
    assert_eq!(store.cas("k/c", 0, "3").await, Ok(true));
    let change: Change = Box::new(|values| {
        assert_eq!(values, [None, Some("1".to_owned()), Some("3".to_owned())]);
        values.clone_from_slice(&[Some("2".to_owned()), None, Some("4".to_owned())]);
        Ok(())
    });
    assert_eq!(store.update(keys(), change).await, Ok(()));
    let revision = async |key: &str| store.get(key).await.expect("read");
    assert_eq!(revision("k/a").await, Some((1, "1".to_owned())));
    assert_eq!(revision("k/b").await, Some((1, "2".to_owned())));
    assert_eq!(revision("k/c").await, Some((2, "4".to_owned())));
    let fails: Change = Box::new(|values| {
        values.fill(Some("x".to_owned()));
        Err(StoreError::Closed)
    });
    assert_eq!(store.update(keys(), fails).await, Err(StoreError::Closed));
    assert_eq!(revision("k/b").await, Some((1, "2".to_owned())));
    assert_eq!(store.update(Vec::new(), Box::new(|_| Ok(()))).await, Ok(()));
}

/// Concurrent callers that change some of the same values do not undo each other's changes,
/// whichever of the values exist.
pub async fn values_that_change_together_are_not_lost(store: &Arc<dyn Store>) {
    let tasks: Vec<_> = (0..24_usize)
        .map(|number| {
            let store = store.clone();
            let keys = [number % 4, 4 + number % 3].map(|key| format!("n/{key}")).to_vec();
            tokio::spawn(async move {
                let add: Change = Box::new(|values| {
                    for value in values {
                        let count = value.as_deref().map_or(0, |text| text.parse().unwrap_or(0));
                        *value = Some((count + 1_u32).to_string());
                    }
                    Ok(())
                });
                store.update(keys, add).await
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("changed");
    }
    let counts = store.values("n/").await.expect("read");
    let counts: Vec<_> = counts.iter().map(|(_, count)| count.as_str()).collect();
    assert_eq!(counts, ["6", "6", "6", "6", "8", "8", "8"]);
}

/// Concurrent callers get the same value, and nothing changes between reading the values and
/// choosing.
pub async fn a_value_is_found_or_added_in_one_step(store: &Arc<dyn Store>) {
    // The first value, or one that says who added it.
    let choose = |number: usize| {
        move |values: &[(String, String)]| {
            let first = values.first().cloned();
            Ok(first.unwrap_or_else(|| (format!("k/{number}"), format!("{number}"))))
        }
    };
    assert_eq!(store.cas("j", 0, "").await, Ok(true));
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.find_or_insert("k/", Box::new(choose(number))).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.push(task.await.expect("no panic").expect("found or added"));
    }
    let first = found.first().cloned().expect("32 of them");
    assert!(found.iter().all(|one| *one == first), "several were added: {found:?}");
    assert_eq!(store.get(&first.0).await, Ok(Some((1, first.1.clone()))));
    assert_eq!(store.values("k/").await, Ok(vec![first]));
}

/// A key that has a value keeps it, with its revision, whatever value was chosen; the chosen key
/// need not start with the prefix.
pub async fn what_is_chosen_is_found_to_the_letter(store: &Arc<dyn Store>) {
    for (key, revision, value) in [("k", 0, "one"), ("k", 1, "two"), ("K", 0, "other")] {
        assert_eq!(store.cas(key, revision, value).await, Ok(true));
    }
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    for (key, value, kept) in [("k", "new", "two"), ("K", "", "other"), ("", "first", "first")] {
        let chosen = pair(key, value);
        let kept = pair(key, kept);
        let choose = move |values: &[(String, String)]| {
            assert_eq!(values, [("k".to_owned(), "two".to_owned())]);
            Ok(chosen.clone())
        };
        assert_eq!(store.find_or_insert("k", Box::new(choose)).await, Ok(kept));
    }
    assert_eq!(store.get("k").await, Ok(Some((2, "two".to_owned()))));
    assert_eq!(store.get("").await, Ok(Some((1, "first".to_owned()))));
}

/// The caller gets the error that choosing returned.
pub async fn nothing_is_added_where_choosing_fails(store: &Arc<dyn Store>) {
    let failed = store.find_or_insert("k", Box::new(|_| Err(StoreError::Closed))).await;
    assert_eq!(failed, Err(StoreError::Closed));
    assert_eq!(store.values("").await, Ok(Vec::new()));
}
