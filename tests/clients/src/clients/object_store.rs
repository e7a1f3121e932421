//! object_store, on a fake S3.

use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{ClientOptions, Error, ObjectStoreExt as _, RetryConfig};

use super::{IMPATIENT, PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

judged!(Error);

/// Gets an object without the client's own retries.
async fn get(endpoint: &str, timeout: Duration) -> Result<(), Error> {
    let once = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let options = ClientOptions::new().with_timeout(timeout).with_allow_http(true);
    let store = AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_region("eu-central-1")
        .with_access_key_id("timeout")
        .with_secret_access_key("secret")
        .with_endpoint(endpoint)
        .with_client_options(options)
        .with_retry(once)
        .build()?;
    store.get(&Path::from("timeout")).await.map(drop)
}

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("object_store", "object_store", "0");
    let fake = Http::start(Tls::None).await;
    for (failure, decision, timeout, url) in [
        ("503 SlowDown", Transient, PATIENT, fake.url("/503/x:1/SlowDown?")),
        ("500 InternalError", Transient, PATIENT, fake.url("/500/x:1/InternalError?")),
        ("404 NoSuchKey", Permanent, PATIENT, fake.url("/404/x:1/NoSuchKey?")),
        ("403 AccessDenied", Permanent, PATIENT, fake.url("/403/x:1/AccessDenied?")),
        (
            "403 RequestTimeTooSkewed",
            Permanent,
            PATIENT,
            fake.url("/403/x:1/RequestTimeTooSkewed?"),
        ),
        ("400", Permanent, PATIENT, fake.url("/400/x:1/InvalidArgument?")),
        ("429", Transient, PATIENT, fake.url("/429/x:1/TooManyRequests?")),
        ("hang-up", Transient, PATIENT, fake.url("/hangup?")),
        ("no answer in time", Transient, IMPATIENT, fake.url("/hang?")),
        ("refused port", Transient, PATIENT, format!("http://{REFUSED}")),
        ("unknown host", Transient, PATIENT, "http://nowhere.invalid".to_owned()),
    ] {
        client.case(failure, decision, async || error(get(&url, timeout).await)).await;
    }
}
