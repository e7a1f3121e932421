//! The board in a real browser: headless Chromium, controlled through `DevTools`.
//!
//! Chromium is found on the PATH, or through `RETRY_TEST_CHROMIUM`. Without it, these tests report
//! that they are skipped; with `RETRY_TEST_REQUIRE_BROWSER` set, that is a failure. With
//! `RETRY_TEST_PICTURES` set, a screenshot of each page in each look is kept in `target/tmp/board`,
//! and those of the documentation are also saved in `jobs/retry-board/pictures`.

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
