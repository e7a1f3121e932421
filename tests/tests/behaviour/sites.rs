//! `sites()`: every annotated function of the program, and where it is.

use async_trait::async_trait;
use retry_runtime::{Site, retry, sites};

use crate::support::{Failure, secs};

/// The lines of the sites of this name, in the order listed.
fn lines(name: &str) -> Vec<u32> {
    let sites = sites().into_iter().filter(|site| site.name() == name);
    sites
        .map(|site| {
            assert!(site.file().ends_with("tests/tests/behaviour/sites.rs"), "{}", site.file());
            site.line()
        })
        .collect()
}

const FREE: u32 = line!() + 1;
#[retry(attempts = 4)]
async fn free() -> Result<(), Failure> {
    Ok(())
}

const LONG: u32 = line!() + 1;
#[retry(attempts = 4, name = "sites.long")]
#[allow(clippy::unused_async)]
async fn long() -> Result<(), Failure> {
    Ok(())
}

mod inside {
    use super::{Failure, retry};

    pub(super) const FREE: u32 = line!() + 2;
    /// With a doc comment above the attribute.
    #[retry]
    pub(super) fn free() -> Result<(), Failure> {
        Ok(())
    }
}

struct Client;

const METHOD: u32 = line!() + 2;
impl Client {
    #[retry]
    async fn method(&self) -> Result<(), Failure> {
        Ok(())
    }
}

trait Store {
    #[retry]
    async fn default_method(&self) -> Result<(), Failure> {
        Ok(())
    }
    async fn own_method(&self) -> Result<(), Failure>;
}
const DEFAULT_METHOD: u32 = line!() - 6;

impl Store for Client {
    #[retry]
    async fn own_method(&self) -> Result<(), Failure> {
        Ok(())
    }
}
const OWN_METHOD: u32 = line!() - 5;

#[async_trait]
trait Dynamic {
    async fn below(&self) -> Result<(), Failure>;
}

#[async_trait]
impl Dynamic for Client {
    #[retry]
    async fn below(&self) -> Result<(), Failure> {
        Ok(())
    }
}
const BELOW: u32 = line!() - 5;

macro_rules! two_functions {
    ($first:ident, $second:ident) => {
        #[retry]
        async fn $first() -> Result<(), Failure> {
            Ok(())
        }
        #[retry]
        async fn $second() -> Result<(), Failure> {
            Ok(())
        }
    };
}
const MADE: u32 = line!() + 1;
two_functions!(made_first, made_second);

const GENERIC: u32 = line!() + 1;
#[retry(attempts = N)]
fn generic<const N: u32>() -> Result<(), Failure> {
    Ok(())
}

#[tokio::test]
async fn each_is_where_its_attribute_is() {
    let inner = line!() + 1;
    #[retry]
    fn inside_a_function() -> Result<(), Failure> {
        Ok(())
    }
    free().await.unwrap();
    long().await.unwrap();
    inside::free().unwrap();
    inside_a_function().unwrap();
    Client.method().await.unwrap();
    Client.default_method().await.unwrap();
    Client.own_method().await.unwrap();
    Client.below().await.unwrap();
    assert_eq!(lines("behaviour::sites::free"), [FREE]);
    assert_eq!(lines("sites.long"), [LONG]);
    assert_eq!(lines("behaviour::sites::inside::free"), [inside::FREE]);
    assert_eq!(lines("behaviour::sites::inside_a_function"), [inner]);
    assert_eq!(lines("behaviour::sites::method"), [METHOD]);
    assert_eq!(lines("behaviour::sites::default_method"), [DEFAULT_METHOD]);
    assert_eq!(lines("behaviour::sites::own_method"), [OWN_METHOD]);
    assert_eq!(lines("behaviour::sites::below"), [BELOW]);
}

#[tokio::test]
async fn one_that_a_macro_writes_is_where_the_macro_is_called() {
    made_first().await.unwrap();
    made_second().await.unwrap();
    assert_eq!(lines("behaviour::sites::made_first"), [MADE]);
    assert_eq!(lines("behaviour::sites::made_second"), [MADE]);
}

#[test]
fn a_generic_function_is_one_site_and_its_policy_may_depend_on_its_parameters() {
    generic::<2>().unwrap();
    generic::<3>().unwrap();
    assert_eq!(lines("behaviour::sites::generic"), [GENERIC]);
    let site = sites().into_iter().find(|site| site.name() == "behaviour::sites::generic");
    assert_eq!(site.unwrap().policy(), None);
}

#[test]
fn they_are_sorted_by_name_and_then_by_place() {
    #[retry(name = "sites.twin")]
    fn first() -> Result<(), Failure> {
        Ok(())
    }
    #[retry(name = "sites.twin")]
    fn second() -> Result<(), Failure> {
        Ok(())
    }
    let _ = (first(), second());
    let [one, other] = lines("sites.twin")[..] else { panic!("{:?}", lines("sites.twin")) };
    assert!(one < other);
    let sites = sites();
    let key = |site: &&'static Site| (site.name(), site.file(), site.line());
    assert!(sites.is_sorted_by_key(key), "{sites:?}");
    assert!(sites.len() > 100, "{}", sites.len());
}

#[test]
fn a_site_has_the_policy_of_the_source() {
    let site = sites().into_iter().find(|site| site.name() == "behaviour::sites::free").unwrap();
    assert_eq!(site.policy().as_ref(), site.compiled());
    assert_eq!(
        site.compiled().unwrap().to_string(),
        "4 attempts, exponential (base 2) from 1s to 30s",
    );
    assert_eq!(site.compiled().unwrap().longest_total_wait(), Some(secs(7)));
}

#[tokio::test(start_paused = true)]
async fn functions_of_a_library_that_is_used_are_listed_too() {
    assert!(retry_tests_renamed::fetch(7).await.is_ok());
    let site =
        sites().into_iter().find(|site| site.name() == "retry_tests_renamed::fetch").unwrap();
    assert!(site.file().ends_with("tests/fixtures/renamed/src/lib.rs"), "{}", site.file());
}

#[tokio::test]
async fn the_library_works_by_another_name() {
    assert_eq!(retry_tests_renamed::fetch_now(&mut 3, "name".to_owned()).unwrap(), 0);
    assert_eq!(retry_tests_renamed::fetch_now(&mut 9, "name".to_owned()).unwrap(), 4);
    assert_eq!(retry_tests_renamed::fetch_inner().await, Some(7));
}
