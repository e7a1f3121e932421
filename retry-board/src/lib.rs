//! Pages for jobs, dead letters and retry policies, to look at rather than to read.
//!
//! ```
//! use axum::Router;
//! use retry_workflow::MemoryStore;
//!
//! # let store = MemoryStore::new();
//! let app: Router =
//!     Router::new().nest_service("/retry", retry_board::jobs(store).merge(retry_board::policies()));
//! ```
//!
//! Mounted by `nest_service`, the pages answer `/retry/` as well, which `nest` leaves to the router
//! around them.
//!
//! [`jobs`] has the jobs of a store, their dead letters and items; [`policies`] the functions with
//! `#[retry]` of this process, its breakers, quotas and overrides. The pages are made on the
//! server, and change while they are looked at; style and script are inside the binary. Each page
//! is JSON, too: below `api/`, or for whoever accepts `application/json`;
//! `api/openapi.json` describes it.
//!
//! # Safe by default
//!
//! Nothing can be changed unless [`Board::allow_actions`] says so, and a request is answered only
//! under a name of the machine itself (`localhost`, `127.0.0.1`, `[::1]`) unless [`Board::host`]
//! names another one. A [token](Board::token) keeps others out. Every value is escaped, and every
//! answer bounded, however large a payload is.
//!
//! ```
//! use retry_board::{Board, Token};
//! use retry_workflow::MemoryStore;
//!
//! # let store = MemoryStore::new();
//! let board = Board::new()
//!     .token(Token::new("correct horse battery staple")?)
//!     .host("jobs.example.org")
//!     .allow_actions();
//! let app = board.jobs(store).merge(board.policies());
//! # Ok::<(), retry_board::InvalidToken>(())
//! ```
//!
//! The command `retry-workflow board` serves the same pages for a store.
#![cfg_attr(docsrs, feature(doc_cfg))]

// From the ground up: each imports from those above it.
mod safety;
mod assets;
mod board;
mod visit;
mod live;
mod data;
mod parts;
mod actions;
mod pages;
mod api;
mod routes;

pub use board::Board;
pub use routes::{jobs, policies};
pub use safety::token::{InvalidToken, Token};
