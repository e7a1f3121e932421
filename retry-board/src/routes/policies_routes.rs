//! The routes for what this process retries, and for changes to it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::json;

use super::{both, described};
use crate::actions::Actor;
use crate::actions::once::Once;
use crate::actions::overrides::{Changes, OverrideForm};
use crate::board::Board;
use crate::data::policies::{Policies, Watch};
use crate::live::Live;
use crate::page_group::PageGroup;
use crate::pages::confirm;
use crate::pages::policies::{Refused, page};
use crate::visit::problem::Problem;
use crate::visit::query::{Address, Params, Sent};
use crate::visit::{Visit, Wants, json};

/// The state that the page and its actions share.
#[derive(Clone)]
struct Here(Arc<PolicyPages>);

struct PolicyPages {
    board: Arc<Board>,
    watch: Watch,
    changes: Changes,
    once: Once,
    live: std::sync::OnceLock<Live>,
}

impl Here {
    fn view(&self) -> Policies {
        Policies::load(&self.0.board, &self.0.watch, self.0.changes.pairs())
    }
}

pub(super) fn router(board: &Arc<Board>) -> Router {
    let here = Here(Arc::new(PolicyPages {
        board: Arc::clone(board),
        watch: Watch::new(),
        changes: Changes::default(),
        once: Once::default(),
        live: std::sync::OnceLock::new(),
    }));
    // A weak reference, so that polling does not keep the state alive.
    let looked_at = Arc::downgrade(&here.0);
    here.0.live.get_or_init(|| {
        Live::new(move |_| {
            let seen = looked_at.upgrade().map(|shared| look(&Here(shared))).ok_or(());
            async move { seen }
        })
    });
    let mut router = Router::new()
        .route("/live-policies", get(live))
        .route("/api/policies/openapi.json", get(async || described(&[PageGroup::Policies])));
    for (page, answers) in [
        ("policies", get(all)),
        ("override", get(before_change).post(change)),
        ("override-reset", post(reset)),
    ] {
        router = both(router, page, &answers);
    }
    router.with_state(here)
}

fn look(here: &Here) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&here.view()).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    done: Option<String>,
}

async fn all(
    State(here): State<Here>,
    Extension(visit): Extension<Visit>,
    Params(query): Params<Said>,
) -> Response {
    let said = query.done.and_then(|done| here.0.once.said(done.parse().ok()?));
    page(&visit, &here.view(), said, None)
}

/// What a change would be, for the page that asks for a confirmation.
async fn before_change(
    State(here): State<Here>,
    Extension(visit): Extension<Visit>,
    Params(form): Params<OverrideForm>,
) -> Result<Response, Problem> {
    if !visit.board.allows_actions {
        return Err(Problem::read_only());
    }
    let checked = Changes::check(&form).map_err(|error| error.to_string());
    match (checked, visit.wants) {
        (Ok(()), Wants::Html) => Ok(confirm::overriding(&visit, &form)),
        (Err(why), Wants::Html) => Ok(refused_page(&visit, &here, &form, why)),
        (Err(why), Wants::Json) => Err(Problem::bad(why)),
        (Ok(()), Wants::Json) => Ok(json(&json!({
            "name": form.name.text(), "key": form.key.text(), "value": form.value.text(),
        }))),
    }
}

/// The page with the message beside the field.
fn refused_page(visit: &Visit, here: &Here, form: &OverrideForm, why: String) -> Response {
    let page = page(visit, &here.view(), None, Some(&Refused { form, why }));
    (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
}

async fn change(
    State(here): State<Here>,
    actor: Actor,
    Sent(form): Sent<OverrideForm>,
) -> Result<Response, Problem> {
    let visit = &actor.visit;
    let mut refused = None;
    let answer = actor
        .act(&here.0.once, &form.proof, Address::new("policies"), || {
            let done = here.0.changes.set(&form).map_err(|error| {
                let why = error.to_string();
                let problem = Problem::bad(&why);
                refused = Some(why);
                problem
            });
            async move { done }
        })
        .await;
    match refused {
        Some(why) if visit.wants == Wants::Html => Ok(refused_page(visit, &here, &form, why)),
        _ => answer,
    }
}

async fn reset(
    State(here): State<Here>,
    actor: Actor,
    Sent(form): Sent<OverrideForm>,
) -> Result<Response, Problem> {
    let back = Address::new("policies");
    actor.act(&here.0.once, &form.proof, back, || async { here.0.changes.reset(&form) }).await
}

async fn live(State(here): State<Here>) -> Result<Response, Problem> {
    let live = here.0.live.get().ok_or_else(Problem::no_page)?;
    let events = live.watch("policies".to_owned()).ok_or_else(Problem::too_many_watch)?;
    Ok(Sse::new(events.map(Ok::<_, std::convert::Infallible>)).into_response())
}
