//! The ways to write a function that retries: 5 attempts, with waits that start at 100 ms and
//! double up to 10 s, and with events if the library has them.

use crate::manifest::{ours, requirement};
use crate::names::{ATTRIBUTE, BACKON_MACROS, BARE, BY_HAND, BY_HAND_MUTE, RETRY_IF};
use crate::scratch::{Crate, TOKIO, TRACING};

/// A way to write functions. In `body`, `ARGUMENT` stands for the name of the argument.
pub(in crate::parts) struct Style {
    pub(in crate::parts) name: &'static str,
    pub(in crate::parts) folder: &'static str,
    pub(in crate::parts) dependencies: Vec<String>,
    /// Code that the crate contains once.
    pub(in crate::parts) once: &'static str,
    /// The imports of each module, in addition to the client and the error.
    pub(in crate::parts) imports: &'static str,
    pub(in crate::parts) attribute: &'static str,
    pub(in crate::parts) body: &'static str,
}

impl Style {
    /// Creates a crate for functions of this style.
    pub(in crate::parts) fn program(&self) -> Crate {
        Crate::new(self.folder, &self.dependencies)
    }
}

const ONE_CALL: &str = "client.get(ARGUMENT).await";

pub(in crate::parts) fn all() -> Vec<Style> {
    vec![attribute(), bare(), by_hand(), by_hand_mute(), backon_macros(), retry_if()]
}

fn attribute() -> Style {
    Style {
        name: ATTRIBUTE,
        folder: "compile-retry",
        dependencies: vec![TOKIO.to_owned(), ours(None)],
        once: "",
        imports: "use retry_runtime::retry;",
        attribute: r#"#[retry(attempts = 5, initial_delay = "100ms", max_delay = "10s")]"#,
        body: ONE_CALL,
    }
}

fn bare() -> Style {
    Style {
        name: BARE,
        folder: "compile-bare",
        dependencies: vec![TOKIO.to_owned()],
        once: "",
        imports: "",
        attribute: "",
        body: ONE_CALL,
    }
}

fn by_hand() -> Style {
    Style {
        name: BY_HAND,
        folder: "compile-by-hand",
        dependencies: vec![TOKIO.to_owned(), TRACING.to_owned()],
        once: "",
        imports: "use std::time::Duration;",
        attribute: "",
        body: r#"let (mut attempt, mut delay) = (1, Duration::from_millis(100));
    loop {
        match client.get(ARGUMENT).await {
            Ok(value) => return Ok(value),
            Err(error) if attempt == 5 => {
                tracing::warn!(attempt, %error, "gave up");
                return Err(error);
            }
            Err(error) => tracing::debug!(attempt, %error, ?delay, "will retry"),
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(10));
        attempt += 1;
    }"#,
    }
}

fn by_hand_mute() -> Style {
    Style {
        name: BY_HAND_MUTE,
        folder: "compile-by-hand-mute",
        dependencies: vec![TOKIO.to_owned()],
        body: r"let (mut attempt, mut delay) = (1, Duration::from_millis(100));
    loop {
        match client.get(ARGUMENT).await {
            Ok(value) => return Ok(value),
            Err(error) if attempt == 5 => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(10));
        attempt += 1;
    }",
        ..by_hand()
    }
}

fn backon_macros() -> Style {
    Style {
        name: BACKON_MACROS,
        folder: "compile-backon-macros",
        dependencies: vec![
            TOKIO.to_owned(),
            TRACING.to_owned(),
            requirement("backon"),
            requirement("backon-macros"),
        ],
        once: r#"
pub fn waits() -> backon::ExponentialBuilder {
    backon::ExponentialBuilder::new()
        .with_min_delay(std::time::Duration::from_millis(100))
        .with_max_delay(std::time::Duration::from_secs(10))
        .with_max_times(4)
}

pub fn report(error: &Error, delay: std::time::Duration) {
    tracing::debug!(%error, ?delay, "will retry");
}
"#,
        imports: "use backon_macros::backon;",
        attribute: "#[backon(backoff = crate::waits, notify = crate::report)]",
        body: ONE_CALL,
    }
}

fn retry_if() -> Style {
    Style {
        name: RETRY_IF,
        folder: "compile-retry-if",
        dependencies: vec![TOKIO.to_owned(), TRACING.to_owned(), requirement("retry-if")],
        once: r"
pub const WAITS: retry_if::ExponentialBackoffConfig = retry_if::ExponentialBackoffConfig {
    max_retries: 4,
    t_wait: std::time::Duration::from_millis(100),
    backoff: 2.0,
    t_wait_max: None,
    backoff_max: Some(std::time::Duration::from_secs(10)),
};

pub fn has_failed(result: &Result<u64, Error>) -> bool {
    result.is_err()
}
",
        imports: "use crate::{WAITS, has_failed}; use retry_if::retry;",
        attribute: "#[retry(WAITS, has_failed)]",
        body: ONE_CALL,
    }
}
