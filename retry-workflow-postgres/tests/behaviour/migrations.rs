//! How a schema becomes a store: by which role, from which layout, and what is left alone.

use retry_workflow::store::{NewItem, Selection};
use retry_workflow::{Filter, Store, StoreError, Timestamp};

use super::fixture::{Place, execute};

#[tokio::test]
async fn processes_that_create_a_store_at_once_share_it() {
    let Some(place) = Place::new() else { return };
    let place = std::sync::Arc::new(place);
    let tasks: Vec<_> = (0..8)
        .map(|number: i64| {
            let place = std::sync::Arc::clone(&place);
            tokio::spawn(async move {
                let store = place.open().await;
                let items = vec![NewItem::new(number.to_string(), "1")];
                store.enqueue("job", items, Timestamp::from_micros(number)).await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(1));
    }
    assert_eq!(place.open().await.counts("job").await.map(|counts| counts.pending), Ok(8));
}

#[tokio::test]
async fn a_newer_layout_is_refused_and_left_as_it_is() {
    let Some((store, place)) = super::fixture::store().await else { return };
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    let schema = &place.schema;
    execute(&place.url, &format!("INSERT INTO {schema}.layout (version) VALUES (1000)")).await;
    let error = place.options().connect(&place.url).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 1000, .. }), "{error:?}");
    assert!(error.to_string().contains(schema), "{error}");
    // A store that was opened before continues to work.
    assert_eq!(store.get("k").await, Ok(Some((1, "one".to_owned()))));
}

#[tokio::test]
async fn a_store_that_has_to_be_there_is_not_created() {
    let Some(place) = Place::new() else { return };
    let error = place.options().must_exist(true).connect(&place.url).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    drop(place.open().await);
    assert!(place.options().must_exist(true).connect(&place.url).await.is_ok());
}

#[tokio::test]
async fn a_schema_with_other_tables_is_left_alone() {
    let Some(place) = Place::new() else { return };
    let schema = &place.schema;
    let other = format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.states (mine integer)");
    execute(&place.url, &other).await;
    let error = place.options().connect(&place.url).await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    // Nothing was created: it becomes a store once they are gone.
    execute(&place.url, &format!("DROP TABLE {schema}.states")).await;
    assert!(place.options().connect(&place.url).await.is_ok());
}

#[tokio::test]
async fn whoever_may_not_create_tables_is_told_who_has_to() {
    let Some(place) = Place::new() else { return };
    let role = format!("{}_nobody", place.schema);
    execute(&place.url, &format!("CREATE ROLE {role} LOGIN")).await;
    let url = place.url.replace("postgres://postgres@", &format!("postgres://{role}@"));
    let error = place.options().connect(&url).await.unwrap_err();
    let why = error.to_string();
    assert!(why.contains("may not change them") && why.contains("permission denied"), "{why}");
    assert!(why.contains("the statements that `retry-workflow store sql` writes"), "{why}");
}

#[tokio::test]
async fn an_address_that_is_none_is_told_of_without_its_password() {
    let options = retry_workflow_postgres::PostgresStore::options();
    for url in ["postgres://ada:secret@host:port/jobs", "jobs.db?password=secret", ""] {
        let error = options.connect(url).await.unwrap_err();
        let why =
            format!("{error} {:?}", std::error::Error::source(&error).map(ToString::to_string));
        assert!(!why.contains("secret"), "{why}");
    }
    // Nothing listens on this port.
    let begun = std::time::Instant::now();
    let error = options.connect("postgres://ada:secret@127.0.0.1:1/jobs").await.unwrap_err();
    assert!(error.to_string().contains("postgres://ada@127.0.0.1:1/jobs"), "{error}");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

/// There is a dump with a job for each layout.
#[tokio::test]
async fn a_store_of_each_layout_opens() {
    for dump in [
        include_str!("../data/layout-1.sql"),
        include_str!("../data/layout-2.sql"),
        include_str!("../data/layout-3.sql"),
        include_str!("../data/layout-5.sql"),
    ] {
        let Some(place) = Place::new() else { return };
        execute(&place.url, &dump.replace("the_schema", &place.schema)).await;
        let store = place.open().await;
        let counts = store.counts("orders-1").await.unwrap();
        let states = (counts.pending, counts.leased, counts.succeeded, counts.dead, counts.skipped);
        assert_eq!((states, counts.attempts), ((1, 1, 1, 1, 1), 3));
        let dead = store.item("orders-1", "d").await.unwrap().unwrap();
        assert_eq!((dead.history.len(), dead.failure.unwrap().message.as_str()), (1, "no \"d\""));
        let check = store.check().await.unwrap();
        assert!(check.is_sound() && check.layout == check.newest, "{check:?}");
        // The stored summaries agree with the items.
        let failed = Filter::job("orders-1");
        let groups = store.stats(&failed).await.unwrap();
        let looked = failed.since(Timestamp::from_micros(0));
        assert_eq!((groups.len(), Ok(&groups)), (1, store.stats(&looked).await.as_ref()));
        let minutes = store.minutes("orders-1", Timestamp::from_micros(0)).await.unwrap();
        let [minute] = minutes[..] else { panic!("{minutes:?}") };
        assert_eq!((minute.succeeded, minute.dead, minute.skipped), (1, 1, 1));
        assert_eq!((minute.attempts, minute.failed), (3, 2));
        // How long attempts take is kept from now on; the last layout has it already.
        let durations = store.durations("orders-1", Timestamp::from_micros(0)).await.unwrap();
        let has_it = dump.contains("INSERT INTO the_schema.durations");
        assert_eq!(durations.steps().len(), if has_it { 2 } else { 0 }, "{durations:?}");
        // What was begun then comes before what is new.
        let new = vec![NewItem::new("new", "1")];
        assert_eq!(store.enqueue("orders-1", new, Timestamp::from_micros(1)).await, Ok(1));
        let now = Timestamp::from_micros(5);
        let lease = std::time::Duration::from_secs(1);
        let leases = store
            .claim("orders-1", "new", now, Selection::Items { max: 9, starts: 9 }, lease)
            .await
            .unwrap();
        assert_eq!(leases.iter().map(|lease| &*lease.id).collect::<Vec<_>>(), ["b", "new"]);
        assert_eq!(store.get("k").await, Ok(Some((2, "two".to_owned()))));
    }
}
