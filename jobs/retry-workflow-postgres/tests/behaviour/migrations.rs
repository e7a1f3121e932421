//! The creation and migration of a schema: roles, layouts, and tables that are left alone.

use retry_workflow::store::NewItem;
use retry_workflow::{Store, StoreError, Timestamp};

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
    execute(&place.url, &format!("INSERT INTO {schema}.store_layout (version) VALUES (1000)"))
        .await;
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
async fn a_role_that_may_not_create_tables_gets_an_error_with_the_cure() {
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
async fn an_invalid_address_is_reported_without_its_password() {
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

#[cfg(feature = "fleet")]
#[tokio::test]
async fn a_hub_in_the_schema_is_refused_by_its_name() {
    let Some(place) = Place::new() else { return };
    let hub = retry_workflow_postgres::PostgresHub::sql(&place.schema, "postgres");
    execute(&place.url, &hub).await;
    let why = place.options().connect(&place.url).await.unwrap_err().to_string();
    let text = "the schema holds the tables of a hub of fleets: name another schema. Nothing was \
                changed";
    assert!(why.ends_with(text), "{why}");
}

#[tokio::test]
async fn a_name_that_the_server_would_cut_is_refused() {
    let Some(place) = Place::new() else { return };
    for name in [String::new(), "n".repeat(64)] {
        let options = retry_workflow_postgres::PostgresStore::options().schema(name);
        let error = options.connect(&place.url).await.unwrap_err();
        assert!(error.to_string().contains("1 to 63 bytes"), "{error}");
    }
}
