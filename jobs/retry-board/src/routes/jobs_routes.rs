//! The routes for the jobs, dead letters and items of a store.

use std::sync::Arc;

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::response::sse::Sse;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use retry_workflow::store::Cursor;
use retry_workflow::{DeadLetters, ItemState, Job, Operator, Store, StoreError};
use serde::Deserialize;
use serde_json::json;

use super::{DoneQuery, both, described, home};
use crate::actions::action::{Action, Confirmation, Request, Target};
use crate::actions::jobs_form::JobsForm;
use crate::actions::letters::select;
use crate::actions::once::{Once, fingerprint};
use crate::actions::{ACTIONS, Actor, export};
use crate::board::{Board, Mounted};
use crate::data::item::ItemPage;
use crate::data::job::JobPage;
use crate::data::jobs::{Jobs, PAGE};
use crate::data::letters::{FilterFields, Letters};
use crate::data::samples::Samples;
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
    samples: Arc<Samples>,
    live: Live,
}

impl JobsState {
    fn letters(&self) -> DeadLetters {
        DeadLetters::new(self.store.clone())
    }
}

pub(super) fn router(board: &Arc<Board>, store: Arc<dyn Store>) -> Router {
    let samples = Arc::<Samples>::default();
    let polled = (store.clone(), Arc::clone(&samples), Arc::clone(&board.mounted));
    let state = JobsState {
        live: Live::new(move |topic| poll(polled.clone(), topic)),
        samples,
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
    ] {
        router = both(router, page, &answers);
    }
    for action in &ACTIONS {
        let acts = async |State(state), actor, Sent(form)| act(state, actor, form, action).await;
        let mut answers = post(acts);
        if let Some(confirmation) = &action.confirmation {
            answers = answers.get(async |State(state), context, Params(filter)| {
                confirm(state, context, filter, (action, confirmation)).await
            });
        }
        router = both(router, action.name, &answers);
    }
    router.with_state(state)
}

type Answer = Result<Response, Problem>;

/// The query of a page: the part of the store that it shows, and the action that was just
/// performed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PageQuery {
    after: Option<String>,
    id: String,
    #[serde(flatten)]
    filter: FilterFields,
    #[serde(flatten)]
    done: DoneQuery,
}

impl PageQuery {
    fn after(&self) -> Result<Option<Cursor>, Problem> {
        let text = self.after.as_deref().filter(|text| !text.is_empty());
        let Some(text) = text else { return Ok(None) };
        let number = text.parse().map_err(|_| {
            Problem::bad(format!("\"{text}\" is not a place in a list: begin without `after`"))
        })?;
        Ok(Some(Cursor(number)))
    }
}

async fn all_jobs(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<PageQuery>,
) -> Answer {
    let view = Jobs::load(&*state.store, &state.samples, query.after()?).await?;
    Ok(jobs::page(&context, &view, query.done.notice(&state.once)))
}

async fn one_job(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<PageQuery>,
) -> Answer {
    let view = JobPage::load(&*state.store, &state.samples, &query.id).await?;
    let view = view.ok_or_else(|| Problem::no_job(&query.id))?;
    Ok(job::page(&context, &view, query.done.notice(&state.once)))
}

async fn letters(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<PageQuery>,
) -> Answer {
    let letters = state.letters();
    let after = query.after()?;
    let view = Letters::load(&letters, query.filter.cleaned(), after).await?;
    Ok(dead_letters::page(&context, &view, query.done.notice(&state.once)))
}

async fn one_item(
    State(state): State<JobsState>,
    context: RequestContext,
    Params(query): Params<PageQuery>,
) -> Answer {
    let job = query.filter.job.unwrap_or_default();
    let found = state.store.item(&job, &query.id).await?;
    let found = found.ok_or_else(|| Problem::no_item(&job, &query.id))?;
    let view = ItemPage::new(&found, state.store.now());
    Ok(item::page(&context, &view, query.done.notice(&state.once)))
}

async fn exported(State(state): State<JobsState>, Params(query): Params<FilterFields>) -> Answer {
    let letters = state.letters();
    let filter = select(&letters, &query.cleaned()).await?;
    Ok(export::response(letters, filter))
}

/// Returns what an action would do.
async fn confirm(
    state: JobsState,
    context: RequestContext,
    filter: FilterFields,
    (action, confirmation): (&Action, &Confirmation),
) -> Answer {
    context.is_actor()?;
    let filter = filter.cleaned();
    let (number, object) = match action.target {
        Target::Letters => {
            let letters = state.letters();
            let number = letters.count(&select(&letters, &filter).await?).await?;
            (number, json!({ "dry_run": true, (confirmation.counted): number }))
        }
        Target::Items => {
            let mut number = 0;
            let unfinished = select(&state.letters(), &filter).await?;
            let unfinished = unfinished.states([ItemState::Pending, ItemState::Leased]);
            state.store.each_item(&unfinished, |_| number += 1).await?;
            (number, json!({ "dry_run": true, (confirmation.counted): number }))
        }
        Target::Job => {
            let job = filter.job.as_deref().unwrap_or_default();
            if Job::find(&*state.store, job).await?.is_none() {
                return Err(Problem::no_job(job));
            }
            let number = state.store.counts(job).await?.unfinished();
            (number, json!({ "job": job, (confirmation.counted): number }))
        }
    };
    let page = || confirm::action(&context, (action, confirmation), &filter, number);
    Ok(context.answer(&object, page))
}

/// Returns where to go after an action. Not back to their signature, which may have
/// none left.
fn back_to(filter: &FilterFields) -> Address {
    match (&filter.job, &filter.item) {
        (Some(job), Some(item)) => Address::new("item").with("job", job).with("id", item),
        (Some(job), None) => Address::new("job").with("id", job),
        (None, _) => Address::new("dead-letters"),
    }
}

/// Performs an action.
async fn act(state: JobsState, actor: Actor, form: JobsForm, action: &Action) -> Answer {
    let form = form.cleaned();
    let request = || {
        (action.act)(Request {
            form: form.clone(),
            operator: Operator::new(state.store.clone(), actor.who()),
            command: state.board.command.clone(),
        })
    };
    actor.act(&state.once, (&form, &form.proof), back_to(&form.filter), request).await
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
async fn poll(
    (store, samples, mounted): (Arc<dyn Store>, Arc<Samples>, Arc<Mounted>),
    topic: String,
) -> Polled {
    if topic == "policies" {
        return mounted.poll_policies().ok_or(PollError::Failed);
    }
    let seen = async {
        Ok::<_, StoreError>(match topic.strip_prefix("job/") {
            Some(id) => {
                let (job, counts) = (Job::find(&*store, id).await?, store.counts(id).await?);
                samples.add(id, &counts, store.now());
                format!("{:?}", (job, counts))
            }
            // Compare the stored rows without parsing their records, which would take longer.
            None => {
                let (page, now) = (store.jobs(None, PAGE).await?, store.now());
                for row in page.items.iter().filter(|row| row.counts.unfinished() > 0) {
                    samples.add(&row.job, &row.counts, now);
                }
                format!("{page:?}")
            }
        })
    };
    seen.await.map(fingerprint).map_err(|error| match error {
        StoreError::Replaced { .. } | StoreError::Closed => PollError::Gone,
        _ => PollError::Failed,
    })
}
