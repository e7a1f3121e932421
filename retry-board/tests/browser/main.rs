//! The board in a real browser: headless Chromium, driven through `DevTools`.
//!
//! Chromium is found on the PATH, or by `RETRY_TEST_CHROMIUM`. Without it these tests report that they
//! are skipped; with `RETRY_TEST_REQUIRE_BROWSER` set, that is a failure. Each page that a test looks at
//! is kept as a picture in `target/tmp/board`; with `RETRY_TEST_PICTURES` set, those of the documentation
//! are kept in `retry-board/pictures`, too.

mod chromium;
mod devtools;
mod page;
mod server;
mod access;
mod jobs;
mod harness;
mod stories;
mod hostile;
mod live;
mod looks;
