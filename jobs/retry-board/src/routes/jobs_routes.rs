//! The routes for the jobs, dead letters and items of a store.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt as _;
use retry_workflow::store::Cursor;
use retry_workflow::{DeadLetters, Job, Operator, Store, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::{DoneQuery, both, described, home};
use crate::actions::letters::{LettersForm, select};
use crate::actions::once::Once;
use crate::actions::requests::JobForm;
use crate::actions::{Actor, export};
use crate::board::{Board, Mounted};
use crate::data::item::ItemPage;
use crate::data::job::{JobPage, SPANS};
use crate::data::jobs::{Jobs, PAGE};
use crate::data::letters::{FilterFields, Letters};
use crate::live::{Live, MAX_TOPICS, PollError, Polled};
use crate::page_group::PageGroup;
use crate::pages::{confirm, dead_letters, item, job, jobs};
use crate::request::problem::Problem;
use crate::request::query::{Address, Params, Sent};
use crate::request::{RequestContext, Watcher};

/// The state that the pages of a store share.
#[derive(Clone)]
struct JobsState {
    store: Arc<dyn Store>,
    board: Arc<Board>,
    once: Arc<Once>,
    live: Live,
}

impl JobsState {
    fn letters(&self) -> DeadLetters {
        DeadLetters::new(self.store.clone())
    }

    fn operator(&self, actor: &Actor) -> Operator {
        Operator::new(self.store.clone(), actor.who())
    }
}

pub(super) fn router(board: &Arc<Board>, store: Arc<dyn Store>) -> Router {
    let (polled_store, mounted) = (store.clone(), Arc::clone(&board.mounted));
    let state = JobsState {
        live: Live::new(move |topic| poll(polled_store.clone(), Arc::clone(&mounted), topic)),
        store,
        board: Arc::clone(board),
        once: Arc::default(),
    };
    let mut router = Router::new()
        .route("/", get(async |uri: OriginalUri| home(&uri, "jobs")))
        .route("/live", get(live))
        .route("/export", get(exported))
        .route("/api/export", get(exported))
        .route("/api/openapi.json", get(openapi));
    for (page, answers) in [
        ("jobs", get(all_jobs)),
        ("job", get(one_job)),
        ("dead-letters", get(letters)),
        ("item", get(one_item)),
        ("re-drive", get(before_redrive).post(redrive)),
        ("purge", get(before_purge).post(purge)),
        ("cancel", get(before_cancel).post(cancel)),
        ("pause", axum::routing::post(pause)),
        ("due", axum::routing::post(make_due)),
    ] {
        router = both(router, page, &answers);
    }
    router.with_state(state)
}

type Answer = Result<Response, Problem>;

fn cursor(text: Option<&str>) -> Result<Option<Cursor>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let number = text.parse().map_err(|_| {
        Problem::bad(format!("\"{text}\" is not a place in a list: begin without `after`"))
    })?;
    Ok(Some(Cursor(number)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobsQuery {
    after: Option<String>,
    #[serde(flatten)]
    done: DoneQuery,
}

async fn all_jobs(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<JobsQuery>,
) -> Answer {
    let view = Jobs::load(&*state.store, cursor(query.after.as_deref())?).await?;
    Ok(jobs::page(&context, &view, query.done.notice(&state.once)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JobQuery {
    id: String,
    span: Option<String>,
    #[serde(flatten)]
    done: DoneQuery,
}

async fn one_job(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<JobQuery>,
) -> Answer {
    let wanted = query.span.as_deref().unwrap_or(SPANS[0].0);
    let Some((_, span)) = SPANS.into_iter().find(|(word, _)| *word == wanted) else {
        return Err(Problem::bad(format!("\"{wanted}\" is not a span: write 1h, 6h, 24h or 7d")));
    };
    let view = JobPage::load(&*state.store, &query.id, span).await?;
    let view = view.ok_or_else(|| Problem::no_job(&query.id))?;
    Ok(job::page(&context, &view, query.done.notice(&state.once)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LettersQuery {
    after: Option<String>,
    #[serde(flatten)]
    filter: FilterFields,
    #[serde(flatten)]
    done: DoneQuery,
}

async fn letters(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<LettersQuery>,
) -> Answer {
    let letters = state.letters();
    let after = cursor(query.after.as_deref())?;
    let view = Letters::load(&letters, query.filter.cleaned(), after).await?;
    Ok(dead_letters::page(&context, &view, query.done.notice(&state.once)))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ItemQuery {
    job: String,
    id: String,
    #[serde(flatten)]
    done: DoneQuery,
}

async fn one_item(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<ItemQuery>,
) -> Answer {
    let Some(found) = state.store.item(&query.job, &query.id).await? else {
        return Err(Problem::no_item(&query.job, &query.id));
    };
    let view = ItemPage::new(&found, state.store.now());
    Ok(item::page(&context, &view, query.done.notice(&state.once)))
}

async fn exported(State(state): State<JobsState>, Params(query): Params<FilterFields>) -> Answer {
    let letters = state.letters();
    let filter = select(&letters, &query.cleaned()).await?;
    Ok(export::response(letters, filter))
}

/// Counts what a filter selects, for a confirmation page.
async fn counted(
    state: &JobsState,
    context: &RequestContext,
    filter: FilterFields,
) -> Result<(FilterFields, u64), Problem> {
    context.is_actor()?;
    let filter = filter.cleaned();
    let letters = state.letters();
    let number = letters.count(&select(&letters, &filter).await?).await?;
    Ok((filter, number))
}

async fn before_redrive(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<FilterFields>,
) -> Answer {
    let (filter, number) = counted(&state, &context, query).await?;
    let object = json!({ "dry_run": true, "retried": number });
    Ok(context.answer(&object, || confirm::redrive(&context, &filter, number)))
}

async fn before_purge(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<FilterFields>,
) -> Answer {
    let (filter, number) = counted(&state, &context, query).await?;
    let object = json!({ "dry_run": true, "purged": number });
    Ok(context.answer(&object, || confirm::purge(&context, &filter, number)))
}

/// Returns where to go after an action on dead letters. Not back to their signature, which may have
/// none left.
fn back_to(filter: &FilterFields) -> Address {
    match (&filter.job, &filter.item) {
        (Some(job), Some(item)) => Address::new("item").with("job", job).with("id", item),
        (Some(job), None) => Address::new("job").with("id", job),
        (None, _) => Address::new("dead-letters"),
    }
}

async fn redrive(
    State(state): State<JobsState>,
    actor: Actor,
    Sent(form): Sent<LettersForm>,
) -> Answer {
    let form = form.cleaned();
    let back = back_to(&form.filter);
    let (operator, command) = (state.operator(&actor), &state.board.command);
    actor.act(&state.once, &form, back, || form.redrive(&operator, command)).await
}

async fn purge(
    State(state): State<JobsState>,
    actor: Actor,
    Sent(form): Sent<LettersForm>,
) -> Answer {
    let form = form.cleaned();
    let (operator, back) = (state.operator(&actor), back_to(&form.filter));
    actor.act(&state.once, &form, back, || form.purge(&operator)).await
}

async fn pause(State(state): State<JobsState>, actor: Actor, Sent(form): Sent<JobForm>) -> Answer {
    let back = form.page();
    let command = &state.board.command;
    actor.act(&state.once, &form, back, || form.pause(&*state.store, actor.who(), command)).await
}

async fn make_due(
    State(state): State<JobsState>,
    actor: Actor,
    Sent(form): Sent<JobForm>,
) -> Answer {
    let back = form.page();
    let command = &state.board.command;
    actor.act(&state.once, &form, back, || form.make_due(&*state.store, actor.who(), command)).await
}

async fn before_cancel(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<JobForm>,
) -> Answer {
    context.is_actor()?;
    if Job::find(&*state.store, &query.job).await?.is_none() {
        return Err(Problem::no_job(&query.job));
    }
    let unfinished = state.store.counts(&query.job).await?.unfinished();
    let object = json!({ "job": query.job, "unfinished": unfinished });
    Ok(context.answer(&object, || confirm::cancel(&context, &query.job, unfinished)))
}

async fn cancel(State(state): State<JobsState>, actor: Actor, Sent(form): Sent<JobForm>) -> Answer {
    let back = form.page();
    actor.act(&state.once, &form, back, || form.cancel(&state.store, actor.who())).await
}

async fn openapi(State(state): State<JobsState>) -> Response {
    if state.board.mounted.has_policies() {
        described(&[PageGroup::Jobs, PageGroup::Policies])
    } else {
        described(&[PageGroup::Jobs])
    }
}

/// Returns the events of the topics in the query, which are the topics of all tabs of a browser.
/// Jobs that do not exist are left out if the query has another topic.
async fn live(
    State(state): State<JobsState>,
    Watcher(visitor): Watcher,
    Params(query): Params<Vec<(String, String)>>,
) -> Answer {
    let named = query.into_iter().filter(|(key, _)| key == "topic").map(|(_, topic)| topic);
    let (mut topics, mut missing) = (Vec::new(), None);
    for (number, topic) in named.enumerate() {
        let id = topic.strip_prefix("job/");
        if number >= MAX_TOPICS {
            return Err(Problem::bad(format!("A stream has {MAX_TOPICS} topics at most.")));
        } else if id.is_none() && topic != "jobs" && topic != "policies" {
            return Err(Problem::bad(
                "A topic is `jobs`, `policies`, or `job/` and the id of a job.",
            ));
        } else if let Some(id) = id
            && Job::find(&*state.store, id).await?.is_none()
        {
            missing.get_or_insert_with(|| Problem::no_job(id));
        } else {
            topics.push((number, topic));
        }
    }
    if topics.is_empty() {
        return Err(missing.unwrap_or_else(|| Problem::bad("Name a topic, such as `jobs`.")));
    }
    let permit = state.board.mounted.streams.open(visitor).ok_or_else(Problem::too_many_watch)?;
    let events = state.live.watch(topics, permit);
    Ok(Sse::new(events.map(Ok::<_, std::convert::Infallible>)).into_response())
}

/// Polls a job, the newest of all jobs, or the policies.
async fn poll(store: Arc<dyn Store>, mounted: Arc<Mounted>, topic: String) -> Polled {
    if topic == "policies" {
        return mounted.poll_policies().ok_or(PollError::Failed);
    }
    let seen = async {
        Ok::<_, StoreError>(match topic.strip_prefix("job/") {
            Some(id) => format!("{:?}", (Job::find(&*store, id).await?, store.counts(id).await?)),
            // Compare the stored rows without parsing their records, which would take longer.
            None => format!("{:?}", store.jobs(None, PAGE).await?),
        })
    };
    let mut hasher = DefaultHasher::new();
    let seen = seen.await.map_err(|error| match error {
        StoreError::Replaced { .. } | StoreError::Closed => PollError::Gone,
        _ => PollError::Failed,
    });
    seen?.hash(&mut hasher);
    Ok(hasher.finish())
}
