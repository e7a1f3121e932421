//! Style, script and icon: embedded in the binary, with names that depend on their contents, so
//! that browsers can cache them permanently.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::page_group::PageGroup;

/// A static file of the pages.
#[derive(Debug)]
pub(crate) struct Asset {
    kind: &'static str,
    extension: &'static str,
    content: &'static str,
    hash: LazyLock<String>,
}

macro_rules! asset {
    ($name:ident, $file:literal, $extension:literal, $kind:literal) => {
        pub(crate) static $name: Asset = Asset {
            kind: $kind,
            extension: $extension,
            content: include_str!($file),
            hash: LazyLock::new(|| hash(include_str!($file))),
        };
    };
}

asset!(STYLE, "assets/style.css", "css", "text/css; charset=utf-8");
asset!(SCRIPT, "assets/script.js", "js", "text/javascript; charset=utf-8");
asset!(ICON, "assets/icon.svg", "svg", "image/svg+xml");

/// All assets.
pub(crate) static ALL: [&Asset; 3] = [&STYLE, &SCRIPT, &ICON];

impl Asset {
    /// The file's path below a group of pages. Each group serves its own assets, so that it can
    /// be mounted without the other.
    pub(crate) fn path(&self, page_group: PageGroup) -> String {
        format!("{page_group}.{}.{}", &*self.hash, self.extension)
    }

    pub(crate) fn response(&self) -> Response {
        let headers =
            [(CONTENT_TYPE, self.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
        (headers, self.content).into_response()
    }
}

fn hash(content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    hex::encode(&digest[..8])
}
