//! [`Task`]: steps of a file as a task of a graph; and [`chain`]: commands one after another.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{How, Stop, commands};
use crate::steps::command_env::Setting;
use crate::steps::list::Steps;
use crate::template::placeholder::Scope;
use retry_workflow::bridge::Dependencies;
use retry_workflow::bridge::launch::run;
use retry_workflow::bridge::{DynWork, OnDead, graph};
use retry_workflow::bridge::{Ended, Given, Work};
use retry_workflow::bridge::{Handlers, Options};
use retry_workflow::{ErrorPolicy, Job, JobReport, OnItemFailure, Store, WorkflowError};

/// Commands one after another; a failure stops them. Where one had failed, it begins anew.
pub(super) async fn chain<S: Store>(
    store: &S,
    job: Job,
    steps: &Steps,
    setting: &Arc<Setting>,
    scope: Scope,
    how: &How,
    stop: &Stop,
) -> Result<JobReport, WorkflowError> {
    let mut needs: Vec<(String, Vec<String>)> = Vec::new();
    let mut works: BTreeMap<String, Arc<dyn DynWork>> = BTreeMap::new();
    let mut before: Option<String> = None;
    for (name, step) in commands::names(steps).into_iter().zip(&steps.0) {
        let work = Task {
            store: store.clone(),
            steps: Steps(vec![step.clone()]),
            setting: Arc::clone(setting),
            scope: scope.clone(),
            before: before.clone(),
        };
        works.insert(name.clone(), Arc::new(work));
        needs.push((name.clone(), before.replace(name).into_iter().collect()));
    }
    let dependencies = Dependencies::new(&needs)?;
    let options = Options {
        max_parallel: 1,
        lease: how.lease,
        policy: ErrorPolicy::new().on_item_failure(OnItemFailure::Stop),
        handlers: Handlers::new(),
        listeners: how.listeners.clone(),
    };
    commands::remember(store, &job.id, steps).await?;
    let (source, work) = graph::parts(store, &job.id, dependencies, works, OnDead::Redrive).await?;
    run(store.clone(), job, source, work, options, stop.asked()).await
}

/// A task that is steps of a file.
pub(super) struct Task<S> {
    pub(super) store: S,
    pub(super) steps: Steps,
    pub(super) setting: Arc<Setting>,
    pub(super) scope: Scope,
    /// The task whose output is `${last.output}`.
    pub(super) before: Option<String>,
}

impl<S: Store> Work for Task<S> {
    async fn attempt(self: Arc<Self>, given: Given<'_>) -> Ended {
        let mut scope = self.scope.clone();
        if let Some(before) = &self.before {
            let found = self.store.item(given.cx.job(), before).await.ok().flatten();
            scope.last = found.and_then(|item| item.output);
        }
        let progress = given.progress.as_deref();
        self.steps.attempt(&self.setting, scope, progress, &given.cx).await
    }
}
