//! The hub of fleets: its contract, also with a role of minimal privileges.

use retry_fleet::{Fleet, HubError};
use retry_workflow_postgres::{PostgresHub, PostgresOptions};

use super::fixture::{Place, execute};

mod through_a_pool {
    retry_tests_contract::hub_contract!(async || super::hub());
}

mod with_least_rights {
    retry_tests_contract::hub_contract!(super::least_rights);
}

/// A hub and its schema; `None` if there is no server.
fn hub() -> Option<(PostgresHub, Place)> {
    let place = Place::new()?;
    let options = PostgresOptions::default().schema(&place.schema).pool_size(8);
    Some((PostgresHub::with_options(&place.url, &options).expect("an address"), place))
}

/// An operator has created the tables; the hub is opened by a role that owns nothing.
async fn least_rights() -> Option<(PostgresHub, Place)> {
    let place = Place::new()?;
    let role = format!("{}_member", place.schema);
    execute(&place.url, &format!("CREATE ROLE {role} LOGIN PASSWORD 'secret'")).await;
    execute(&place.url, &PostgresHub::sql(&place.schema, &role)).await;
    let at = place.url.find('@').expect("an address with a user");
    let url = format!("postgres://{role}:secret{}", &place.url[at..]);
    let options = PostgresOptions::default().schema(&place.schema).pool_size(8);
    Some((PostgresHub::with_options(&url, &options).expect("an address"), place))
}

#[tokio::test]
async fn the_first_members_create_the_tables_together() {
    let Some(place) = Place::new() else { return };
    let joining: Vec<_> = (0..8)
        .map(|_| {
            let options = PostgresOptions::default().schema(&place.schema).pool_size(1);
            let hub = PostgresHub::with_options(&place.url, &options).expect("an address");
            tokio::spawn(Fleet::join(hub, "billing"))
        })
        .collect();
    let mut fleets = Vec::new();
    for fleet in joining {
        fleets.push(fleet.await.expect("no panic").expect("joined"));
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(fleets[0].members().await.expect("listed").len(), 8);
}

/// Returns why a hub is refused in this schema.
async fn refused(place: &Place) -> String {
    let options = PostgresOptions::default().schema(&place.schema).pool_size(1);
    let hub = PostgresHub::with_options(&place.url, &options).expect("an address");
    let error = Fleet::join(hub, "billing").await.expect_err("refused");
    assert!(matches!(error, HubError::Refused(_)), "{error:?}");
    std::error::Error::source(&error).expect("a source").to_string()
}

#[tokio::test]
async fn a_schema_of_a_newer_layout_is_refused() {
    let Some(place) = Place::new() else { return };
    let schema = &place.schema;
    execute(&place.url, &PostgresHub::sql(schema, "postgres")).await;
    execute(&place.url, &format!("UPDATE {schema}.hub_layout SET version = 99")).await;
    let why = refused(&place).await;
    assert!(why.contains("have layout 99, but this program knows layout 1"), "{why}");
}

#[tokio::test]
async fn a_store_in_the_schema_is_refused_by_its_name() {
    let Some(place) = Place::new() else { return };
    drop(place.open().await);
    let why = refused(&place).await;
    assert!(why.contains("the schema holds the tables of a store of jobs"), "{why}");
}

#[tokio::test]
async fn an_unreachable_hub_is_accepted_and_an_invalid_address_is_not() {
    let hub = PostgresHub::connect("postgres://nobody@127.0.0.1:1/none").await.expect("an address");
    let fleet = Fleet::join(hub, "billing").await.expect("it goes on alone");
    assert!(fleet.members().await.is_err());
    let error = PostgresHub::connect("not an address").await.expect_err("refused");
    assert!(matches!(error, HubError::Refused(_)), "{error:?}");
}
