//! Functions that retry, as found in real crates.
//!
//! Each file is one kind of code: the function with `#[retry]`, and in its tests the loop by hand
//! that it replaces, which must behave the same on the same script of outcomes. What they call,
//! [`remote::Remote`], answers according to that script.

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
pub mod upload;
pub mod replicas;
