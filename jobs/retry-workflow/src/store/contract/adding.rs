//! Adding to a store: items, and their parts.

use std::sync::Arc;

use super::steps::{
    MINUTE, at, claim, claim_in, claim_one, counts, enqueue, everything, found, ids, new,
    nothing_is_due, overview, row, settle,
};
use crate::item::failure::Failure;
use crate::item::record::{
    AttemptRecord, Counts, Filter, ItemRecord, ItemState, NewItem, Settled, Settlement,
};
use crate::store::{MAX_ID_BYTES, Store, StoreError};
use crate::words::cut;

/// An item that its job already has, by its id, is left as it is.
pub async fn an_item_is_added_once(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let other = NewItem::new("a", "2");
    let batch = vec![other, new("b"), new("b")];
    assert_eq!(store.enqueue("job", batch, at(9)).await, Ok(1));
    let item = found(store, "a").await;
    assert_eq!((item.payload.as_str(), item.due), ("{\"id\":\"a\"}", Some(at(0))));
    assert_eq!(counts(store).await.pending, 2);

    // The same holds once it has ended.
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 0, Settled::Succeeded(None)).await;
    assert_eq!(store.enqueue("job", vec![new("a")], at(9)).await, Ok(0));
    assert_eq!(found(store, "a").await.state, ItemState::Succeeded);
}

/// Ids have the same limit in every store, so that a job can move from one to another.
pub async fn an_id_that_is_too_long_is_refused(store: &Arc<dyn Store>) {
    // Hardly compressible, and of signs that a store may have to write as two.
    let id = |bytes: usize| {
        let sign = |at: usize| if (at * at % 89).is_multiple_of(2) { '\u{1}' } else { '\u{2}' };
        (0..bytes).map(sign).collect::<String>()
    };
    let (longest, long) = (id(MAX_ID_BYTES), id(MAX_ID_BYTES + 1));
    let refused = Err(StoreError::LongId { begin: cut(&long, 40), bytes: long.len() });
    assert_eq!(store.enqueue("job", vec![new("a"), new(&long)], at(0)).await, refused);
    assert_eq!(store.enqueue(&long, vec![new("a")], at(0)).await, refused);
    let record = ItemRecord::new("job", &long, "1");
    assert_eq!(store.import(vec![record], at(0)).await, refused);
    assert_eq!(counts(store).await, Counts::default());

    assert_eq!(store.enqueue("job", vec![new(&longest)], at(0)).await, Ok(1));
    assert_eq!(found(store, &longest).await.state, ItemState::Pending);
    let record = ItemRecord::new(&longest, &longest, "1");
    assert_eq!(store.import(vec![record], at(0)).await, Ok(1));
    let kept = store.item(&longest, &longest).await.expect("it is read");
    assert_eq!(kept.expect("it was imported").id, longest);
}

/// An empty batch is not an error.
pub async fn an_empty_batch_is_nothing(store: &Arc<dyn Store>) {
    assert_eq!(store.enqueue("job", Vec::new(), at(0)).await, Ok(0));
    assert_eq!(store.settle(Vec::new(), Vec::new(), at(0)).await, Ok(Vec::new()));
    assert_eq!(store.extend(Vec::new(), Vec::new(), at(0)).await, Ok(Vec::new()));
    assert_eq!(store.import(Vec::new(), at(0)).await, Ok(0));
    enqueue(store, "job", &["a"]).await;
    assert!(claim(store, 0, 0).await.is_empty());
    let page = store.list(&everything(), None, 0).await.expect("a page");
    assert!(page.items.is_empty() && page.next.is_some(), "there is more than nothing");
    assert_eq!(store.redrive(&Filter::job("job"), Some(0), at(0), MINUTE).await, Ok(0));
    let nobody = everything().ids(Vec::<String>::new());
    assert!(ids(store, &nobody).await.is_empty());
    assert!(ids(store, &Filter::default().states([ItemState::Dead; 0])).await.is_empty());
}

/// Reading a job that does not exist is not an error, and does not create it.
pub async fn a_job_that_nobody_knows_is_empty(store: &Arc<dyn Store>) {
    nothing_is_due(store, 0).await;
    assert_eq!(overview(store, "job").await.next_due, None);
    assert_eq!(counts(store).await, Counts::default());
    assert_eq!(store.item("job", "a").await, Ok(None));
    assert!(ids(store, &Filter::job("job")).await.is_empty());
    assert_eq!(store.stats(&Filter::job("job")).await, Ok(Vec::new()));
    assert_eq!(store.redrive(&Filter::job("job"), None, at(0), MINUTE).await, Ok(0));
    assert_eq!(store.purge(&Filter::job("job")).await, Ok(0));
}

/// Items of two jobs may have the same id.
pub async fn jobs_are_apart(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b"]).await;
    enqueue(store, "other", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 0, Settled::Succeeded(None)).await;
    let other = store.item("other", "a").await.expect("read").expect("there");
    assert_eq!((other.job.as_str(), other.state), ("other", ItemState::Pending));
    assert_eq!(store.counts("other").await.map(|counts| counts.pending), Ok(1));
    assert_eq!(counts(store).await.pending, 1);
    assert_eq!(claim(store, 0, 10).await.len(), 1);
    assert_eq!(claim_in(store, ("other", "worker"), at(0), (10, 10)).await.len(), 1);
}

/// An item has its own correlation id, or `job/id`; a worker sees only its own.
pub async fn the_correlation_is_that_of_the_item_or_its_name(store: &Arc<dyn Store>) {
    let own = new("a").correlation("trace-1");
    assert_eq!(store.enqueue("job", vec![own, new("b")], at(0)).await, Ok(2));
    assert_eq!(found(store, "a").await.correlation, "trace-1");
    assert_eq!(found(store, "b").await.correlation, "job/b");
    let leases = claim(store, 0, 2).await;
    assert_eq!(leases[0].correlation.as_deref(), Some("trace-1"));
    assert_eq!(leases[1].correlation, None);
}

/// Anything can be a payload, a job, a worker, a step or a message, too.
pub async fn anything_can_be_an_id(store: &Arc<dyn Store>) {
    const TEXTS: [&str; 11] = [
        "",
        " ",
        "a\nb\r\n",
        "'; DROP TABLE items; --",
        "\"quoted\"",
        "\0",
        "a\0b",
        "a\0c",
        "%_?1:x",
        "\u{1f980}\u{202e}\u{feff}",
        "Ä",
    ];
    for job in TEXTS {
        let items = TEXTS.map(|text| NewItem::new(text, text).correlation(text));
        assert_eq!(store.enqueue(job, items.to_vec(), at(0)).await, Ok(TEXTS.len() as u64));
        let leases = claim_in(store, (job, job), at(0), (99, 99)).await;
        for (lease, text) in leases.iter().zip(TEXTS) {
            assert_eq!((lease.id.as_str(), lease.payload.as_str()), (text, text));
            assert_eq!(lease.correlation.as_deref(), Some(text));
            let mut why = Failure::new(text, text);
            why.signature = text.to_owned().into();
            why.chain = vec![text.to_owned(), job.to_owned()];
            why.culprits = vec![job.to_owned(), text.to_owned()];
            let row = AttemptRecord {
                worker: Arc::from(job),
                step: Some(text.to_owned()),
                failure: Some(why.clone()),
                ..row(lease, 0, true)
            };
            let settlement =
                Settlement::new(lease.key, Settled::Dead(why.clone()), vec![row.clone()]);
            assert_eq!(store.settle(vec![settlement], Vec::new(), at(1)).await, Ok(vec![true]));
            let item = store.item(job, text).await.expect("read").expect("there");
            assert_eq!((item.job.as_str(), item.id.as_str()), (job, text));
            assert_eq!((item.failure, item.history), (Some(why), vec![row]));
        }
        for text in TEXTS {
            let like = Filter { signature: Some(text.to_owned()), ..Filter::job(job) };
            assert_eq!(ids(store, &like).await, [text]);
            assert_eq!(ids(store, &Filter::job(job).ids([text])).await, [text]);
            let class = Filter { class: Some(text.to_owned()), ..Filter::job(job) };
            assert_eq!(ids(store, &class).await, [text]);
        }
        assert_eq!(store.stats(&Filter::job(job)).await.map(|all| all.len()), Ok(TEXTS.len()));
    }
}

/// A text of 10 MB is stored, as a payload and as an output.
pub async fn a_large_payload_is_kept(store: &Arc<dyn Store>) {
    let payload = "é0123456".repeat(3_000_000 / 9);
    let item = NewItem::new("a", payload.clone());
    assert_eq!(store.enqueue("job", vec![item], at(0)).await, Ok(1));
    let lease = claim_one(store, 0).await;
    assert!(lease.payload == payload, "it is as it was");
    settle(store, &lease, 1, Settled::Succeeded(Some(payload.clone()))).await;
    let item = found(store, "a").await;
    assert!(item.payload == payload && item.output == Some(payload), "it is as it was");
}
