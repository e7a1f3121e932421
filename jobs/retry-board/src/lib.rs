//! Pages for jobs, dead letters and retry policies, to look at rather than to read.
//!
//! ```
//! use axum::Router;
//! use retry_workflow::SqliteStore;
//!
//! # let store = SqliteStore::in_memory();
//! let app: Router =
//!     Router::new().nest_service("/retry", retry_board::jobs(store).merge(retry_board::policies()));
//! ```
//!
//! When mounted with `nest_service`, the pages also answer `/retry/`, which `nest` leaves to the
//! surrounding router.
//!
//! [`jobs`] shows the jobs of a store, their dead letters and items; [`policies`] shows the
//! functions with `#[retry]` in this process, its breakers, quotas and overrides. The pages are
//! rendered on the server and update while they are open; style and script are embedded in the
//! binary. Every page is also available as JSON, below `api/` or to clients that accept
//! `application/json`; `api/openapi.json` describes the API.
//!
//! # Safe by default
//!
//! Nothing can be changed unless [`Board::allow_actions`] permits it. The board answers only to the
//! host names of the machine itself (`localhost`, `127.0.0.1`, `[::1]`), unless [`Board::host`]
//! adds others. With a [token](Board::token), only visitors who know it are served. Every value is
//! escaped, and every answer is limited in size, however large a payload is.
//!
//! ```
//! use retry_board::{Board, Token};
//! use retry_workflow::SqliteStore;
//!
//! # let store = SqliteStore::in_memory();
//! let board = Board::new()
//!     .token(Token::new("correct horse battery staple")?)
//!     .host("jobs.example.org")
//!     .allow_actions();
//! let app = board.jobs(store).merge(board.policies());
//! # Ok::<(), retry_board::InvalidToken>(())
//! ```
//!
//! # For a team
//!
//! Each [token](Board::token) can have a [name](Token::named), and some may only
//! [read](Token::reader); or [`Board::actor`] takes who it is from the authentication around the
//! board. What people do is an event of [`retry_workflow::audit`], and the page of an item shows who
//! has re-driven it.
//!
//! The command `retry-workflow board` serves the same pages for a store.
#![cfg_attr(docsrs, feature(doc_cfg))]

// In order of dependency: each module imports only from those above it.
mod page_group;
mod safety;
mod assets;
mod streams;
mod board;
mod request;
mod live;
mod data;
mod parts;
mod actions;
mod pages;
mod api;
mod routes;

pub use board::Board;
pub use routes::{jobs, policies};
pub use safety::public_url::InvalidUrl;
pub use safety::token::{InvalidToken, Token};
