//! The routes for what this process retries, and for changes to it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::http::header::ALLOW;
use axum::http::{Method, StatusCode};
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use futures_util::StreamExt as _;
use retry_runtime::{Overrides, OverridesError};
use retry_workflow::audit;
use serde_json::json;

use super::{DoneQuery, both, described, home};
use crate::actions::Actor;
use crate::actions::once::{Once, fingerprint};
use crate::actions::overrides::{Changes, OverrideForm};
use crate::board::Board;
use crate::data::policies::{Policies, Watch};
use crate::live::{Live, PollError};
use crate::page_group::PageGroup;
use crate::pages::confirm;
use crate::pages::policies::{Refused, page};
use crate::request::problem::Problem;
use crate::request::query::{Address, Params, Sent};
use crate::request::{RequestContext, ResponseFormat, Watcher, json};

/// The state that the page and its actions share.
#[derive(Clone)]
struct PoliciesState(Arc<PolicyPages>);

struct PolicyPages {
    board: Arc<Board>,
    watch: Watch,
    changes: Changes,
    once: Once,
    live: std::sync::OnceLock<Live>,
}

impl PoliciesState {
    fn view(&self) -> Policies {
        Policies::load(&self.0.board, &self.0.watch, self.0.changes.pairs())
    }
}

pub(super) fn router(board: &Arc<Board>) -> Router {
    let state = PoliciesState(Arc::new(PolicyPages {
        board: Arc::clone(board),
        watch: Watch::new(),
        changes: Changes::default(),
        once: Once::default(),
        live: std::sync::OnceLock::new(),
    }));
    // A weak reference, so that polling does not keep the state alive.
    let weak = Arc::downgrade(&state.0);
    let poll = move || {
        let view = PoliciesState(weak.upgrade()?).view();
        Some(fingerprint(serde_json::to_string(&view).unwrap_or_default()))
    };
    board.mounted.set_policies_poll(Box::new(poll.clone()));
    state.0.live.get_or_init(|| {
        Live::new(move |_| {
            let seen = poll().ok_or(PollError::Gone);
            async move { seen }
        })
    });
    let mut router = Router::new()
        // Not `get`: where jobs are mounted too, their redirect is merged into this route, and its
        // `get` takes precedence.
        .route("/", MethodRouter::new().fallback(first_page))
        .route("/live-policies", get(live))
        .route("/api/policies/openapi.json", get(async || described(&[PageGroup::Policies])));
    for (page, answers) in [
        ("policies", get(all)),
        ("override", get(before_change).post(change)),
        ("override-reset", post(reset)),
    ] {
        router = both(router, page, &answers);
    }
    router.with_state(state)
}

async fn first_page(method: Method, uri: OriginalUri) -> Response {
    match method {
        Method::GET | Method::HEAD => home(&uri, "policies"),
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET,HEAD")]).into_response(),
    }
}

async fn all(
    State(state): State<PoliciesState>,
    context: RequestContext,
    Params(query): Params<DoneQuery>,
) -> Response {
    page(&context, &state.view(), query.notice(&state.0.once), None)
}

/// Loads the effect of a change, for the page that asks for a confirmation.
async fn before_change(
    State(state): State<PoliciesState>,
    context: RequestContext,
    Params(form): Params<OverrideForm>,
) -> Result<Response, Problem> {
    context.is_actor()?;
    let [name, key, value] = form.texts();
    let checked = Overrides::from_pairs([(name, key, value)]).map_err(|error| error.to_string());
    match (checked.map(drop), context.format) {
        (Ok(()), ResponseFormat::Html) => Ok(confirm::overriding(&context, &form)),
        (Err(why), ResponseFormat::Html) => Ok(refused_page(&context, &state, &form, why)),
        (Err(why), ResponseFormat::Json) => Err(Problem::bad(why)),
        (Ok(()), ResponseFormat::Json) => Ok(json(&json!({
            "name": form.name.text(), "key": form.key.text(), "value": form.value.text(),
        }))),
    }
}

/// The page with the message beside the field.
fn refused_page(
    context: &RequestContext,
    state: &PoliciesState,
    form: &OverrideForm,
    why: String,
) -> Response {
    let page = page(context, &state.view(), None, Some(&Refused { form, why }));
    (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
}

async fn change(
    State(state): State<PoliciesState>,
    actor: Actor,
    Sent(form): Sent<OverrideForm>,
) -> Result<Response, Problem> {
    let context = &actor.context;
    let mut refused = None;
    let answer = actor
        .act(&state.0.once, (&form, &form.proof), Address::new("policies"), || async {
            let done = state.0.changes.set(&form).map_err(|error| refuse(&mut refused, &error))?;
            record(&actor, &form, "override");
            Ok(done)
        })
        .await;
    match refused {
        Some(why) if context.format == ResponseFormat::Html => {
            Ok(refused_page(context, &state, &form, why))
        }
        _ => answer,
    }
}

async fn reset(
    State(state): State<PoliciesState>,
    actor: Actor,
    Sent(form): Sent<OverrideForm>,
) -> Result<Response, Problem> {
    let back = Address::new("policies");
    let work = || async {
        let done = state.0.changes.reset(&form)?;
        record(&actor, &form, "override-reset");
        Ok(done)
    };
    actor.act(&state.0.once, (&form, &form.proof), back, work).await
}

/// Keeps why a change is refused, for the page with the form.
fn refuse(refused: &mut Option<String>, error: &OverridesError) -> Problem {
    let why = error.to_string();
    let problem = Problem::bad(&why);
    *refused = Some(why);
    problem
}

/// Emits the event of a change.
fn record(actor: &Actor, form: &OverrideForm, action: &str) {
    let [name, key, value] = form.texts();
    audit::record(actor.who(), action, format!("{name} {key} {value}").trim(), 0);
}

async fn live(
    State(state): State<PoliciesState>,
    Watcher(visitor): Watcher,
) -> Result<Response, Problem> {
    let live = state.0.live.get().ok_or_else(Problem::no_page)?;
    let streams = &state.0.board.mounted.streams;
    let permit = streams.open(visitor).ok_or_else(Problem::too_many_watch)?;
    let events = live.watch(vec![(0, "policies".to_owned())], permit);
    Ok(Sse::new(events.map(Ok::<_, std::convert::Infallible>)).into_response())
}
