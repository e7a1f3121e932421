//! Functions that retry, as real crates have them.
//!
//! A file is a kind of code: the function with `#[retry]`, and in its tests the loop by
//! hand that it replaces, which is to behave alike on the same script of outcomes. What
//! they call, [`remote::Remote`], answers by that script.

#![deny(warnings, clippy::pedantic)]

pub mod remote;
pub mod api_error;

pub mod object_store;
pub mod llm_client;
pub mod rpc;
pub mod shop_api;
pub mod crawler;
pub mod token;
pub mod polling;
pub mod listener;
pub mod download;
pub mod transaction;
pub mod catalog;
pub mod lease;
pub mod shared_connection;
pub mod startup;
pub mod flags;
pub mod replace_file;
pub mod middleware;
