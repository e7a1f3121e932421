//! The errors of the service, and which of them are worth another attempt.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use retry_runtime::http::StatusError;
use retry_runtime::{Classify, Interrupted};

/// Each field knows what it is: the library knows its type.
#[derive(Debug, thiserror::Error, Classify)]
pub enum RateError {
    #[error("the upstream answered")]
    Status(#[from] StatusError),
    #[error("the upstream could not be asked")]
    Http(#[from] reqwest::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// An attempt that was cut off, or not made at all.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    #[error("unknown currency {0}")]
    #[classify(never)]
    Unknown(String),
}

impl IntoResponse for RateError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::Status(_) | Self::Http(_) | Self::Interrupted(_) => StatusCode::BAD_GATEWAY,
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, self.to_string()).into_response()
    }
}
