//! The contract of stores: the owner of the tables with a pool of one connection, and a role that has
//! only the privileges of a worker with more of them.

use retry_workflow::Store as _;
use retry_workflow_postgres::PostgresStore;

use super::fixture::{Place, execute, store};

mod through_one_connection {
    retry_tests_contract::store_contract!(super::one_connection);
}

mod through_a_pool_with_least_rights {
    retry_tests_contract::store_contract!(super::least_rights);
}

async fn one_connection() -> Option<(PostgresStore, Place)> {
    let place = Place::new()?;
    let store = place.options().pool_size(1).connect(&place.url).await.expect("a store");
    Some((store, place))
}

/// An operator has created the tables; the store is opened by a role that owns nothing.
async fn least_rights() -> Option<(PostgresStore, Place)> {
    let place = Place::new()?;
    let role = format!("{}_worker", place.schema);
    execute(&place.url, &format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'")).await;
    execute(&place.url, &place.options().sql(&role)).await;
    let mut url = place.url.clone();
    let at = url.find('@').expect("an address with a user");
    url.replace_range(.."postgres://".len().max(at), &format!("postgres://{role}:secret"));
    let store = place.options().pool_size(4).connect(&url).await.expect("a store");
    Some((store, place))
}

#[tokio::test]
async fn a_check_finds_counts_that_differ_from_the_items() {
    let Some((store, place)) = store().await else { return };
    let items = ["a", "b", "c"].map(|id| retry_workflow::store::NewItem::new(id, "{}"));
    store.enqueue("job", items.into(), store.now()).await.unwrap();
    let check = store.check().await.unwrap();
    assert_eq!((check.layout, check.items, check.is_sound()), (check.newest, 3, true));
    assert!(check.bytes > 0);
    let wrong =
        format!("UPDATE \"{}\".counts SET pending = pending + 1 WHERE shard = 3", place.schema);
    execute(&place.url, &wrong).await;
    let wrong = store.check().await.unwrap().disagreements;
    let wrong: Vec<_> =
        wrong.iter().map(|one| (&*one.job, one.state, one.counted, one.found)).collect();
    assert_eq!(wrong, [("job", retry_workflow::ItemState::Pending, 4, 3)]);
}

#[tokio::test]
async fn a_clone_is_another_handle_to_the_same_store() {
    let Some((store, _place)) = store().await else { return };
    let other = store.clone();
    other
        .enqueue("job", vec![retry_workflow::store::NewItem::new("a", "{}")], store.now())
        .await
        .unwrap();
    drop(other);
    assert_eq!(store.counts("job").await.unwrap().pending, 1);
}
