//! The hub of fleets: its contract, also with a role of minimal privileges.

use retry_fleet::{Change, Fleet, Hub as _, HubError, MemberId};
use retry_workflow_postgres::{PostgresHub, PostgresOptions};

use super::fixture::{Place, execute};

mod through_a_pool {
    retry_fleet::hub_contract!(async || super::hub());
}

mod with_least_rights {
    retry_fleet::hub_contract!(super::least_rights);
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

#[tokio::test]
async fn a_schema_of_another_layout_is_refused() {
    let Some(place) = Place::new() else { return };
    let schema = &place.schema;
    let options = PostgresOptions::default().schema(schema).pool_size(1);
    execute(&place.url, &PostgresHub::sql(schema, "postgres")).await;
    execute(&place.url, &format!("UPDATE {schema}.layout SET version = 99")).await;
    let hub = PostgresHub::with_options(&place.url, &options).expect("an address");
    let error = Fleet::join(hub, "billing").await.expect_err("refused");
    assert!(matches!(error, HubError::Refused(_)), "{error:?}");
    let why = std::error::Error::source(&error).expect("a source").to_string();
    assert!(why.contains("have layout 99, but this program knows layout 3"), "{why}");
}

#[tokio::test]
async fn tables_of_earlier_layouts_are_migrated_and_keep_their_records() {
    for layout in [1, 2] {
        let Some(place) = Place::new() else { return };
        let schema = &place.schema;
        execute(&place.url, &PostgresHub::sql(schema, "postgres")).await;
        let more = match layout {
            1 => format!("ALTER TABLE {schema}.shares DROP COLUMN granted, DROP COLUMN returned;"),
            _ => String::new(),
        };
        let older = format!(
            "ALTER TABLE {schema}.breakers DROP COLUMN held_until;
             INSERT INTO {schema}.breakers (fleet, breaker, epoch) VALUES ('billing', 'db', 7);
             UPDATE {schema}.layout SET version = {layout}; {more}"
        );
        execute(&place.url, &older).await;
        let options = PostgresOptions::default().schema(schema).pool_size(1);
        let hub = PostgresHub::with_options(&place.url, &options).expect("an address");
        let wait = std::time::Duration::from_secs(60);
        let change = Change::Hold { wait };
        let changed = hub.change("billing", "db", &MemberId::new(), change).await.expect("changed");
        let held_until = Some(changed.now.saturating_add(wait));
        assert_eq!((changed.record.epoch, changed.record.held_until), (7, held_until));
    }
}

#[tokio::test]
async fn a_hub_that_is_away_is_no_error_and_no_address_is() {
    let hub = PostgresHub::connect("postgres://nobody@127.0.0.1:1/none").await.expect("an address");
    let fleet = Fleet::join(hub, "billing").await.expect("it goes on alone");
    assert!(fleet.members().await.is_err());
    let error = PostgresHub::connect("not an address").await.expect_err("refused");
    assert!(matches!(error, HubError::Refused(_)), "{error:?}");
}
