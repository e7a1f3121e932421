//! The AWS SDK, on a fake S3.

use std::time::Duration;

use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::{Client, Config};

use super::{IMPATIENT, PATIENT, REFUSED};
use crate::judged;
use crate::report::Decision::{Permanent, Transient};
use crate::servers::http::{Http, Tls};
use crate::suite::{Suite, error};

type Error = SdkError<GetObjectError>;

judged!(Error);

/// Gets an object without the client's own retries.
async fn get(endpoint: &str, timeout: Duration) -> Result<(), Error> {
    let in_time = TimeoutConfig::builder().operation_timeout(timeout).build();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("timeout", "secret", None, None, "a test"))
        .endpoint_url(format!("{endpoint}/"))
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .timeout_config(in_time)
        .build();
    let asked = Client::from_conf(config).get_object().bucket("bucket").key("timeout");
    asked.send().await.map(drop)
}

pub(super) async fn run(suite: &mut Suite) {
    let mut client = suite.client("aws-sdk-s3", "aws-sdk-s3", "1");
    let fake = Http::start(Tls::None).await;
    for (failure, decision, timeout, url) in [
        ("503 SlowDown", Transient, PATIENT, fake.url("/503/x:1/SlowDown")),
        ("500 InternalError", Transient, PATIENT, fake.url("/500/x:1/InternalError")),
        ("404 NoSuchKey", Permanent, PATIENT, fake.url("/404/x:1/NoSuchKey")),
        ("403 AccessDenied", Permanent, PATIENT, fake.url("/403/x:1/AccessDenied")),
        ("403 RequestTimeTooSkewed", Permanent, PATIENT, fake.url("/403/x:1/RequestTimeTooSkewed")),
        ("400 RequestTimeout", Transient, PATIENT, fake.url("/400/x:1/RequestTimeout")),
        ("400", Permanent, PATIENT, fake.url("/400/x:1/InvalidArgument")),
        ("429", Transient, PATIENT, fake.url("/429/x:1/TooManyRequests")),
        ("hang-up", Transient, PATIENT, fake.url("/hangup")),
        ("no answer in time", Transient, IMPATIENT, fake.url("/hang")),
        ("refused port", Transient, PATIENT, format!("http://{REFUSED}")),
        ("unknown host", Transient, PATIENT, "http://nowhere.invalid".to_owned()),
        ("an address that is none", Permanent, PATIENT, "connection refused".to_owned()),
    ] {
        client.case(failure, decision, async || error(get(&url, timeout).await)).await;
    }
}
