//! Runs workflow files: starts or resumes a file's steps, items or tasks as a job.
//!
//! `standard` is a chain of tasks, one per command; a failure stops it. `graph` is a graph of
//! tasks. `mapreduce` is a job of items and, once these have ended, a chain in a job of its own:
//! `import-1/reduce-1`. If items are re-driven, another `reduce` follows.

mod edited;
mod handlers;
mod finish;
mod input;
mod items;
mod reducing;
mod tasks;
mod chain;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use self::chain::Chain;
use self::edited::RecordedSteps;
pub(crate) use self::finish::is_due as is_finish_due;
use self::handlers::add_handlers;
use self::input::InputItems;
use self::items::ItemSteps;
use self::reducing::{Reducing, summary};
use self::tasks::Task;
use crate::file::input::{CheckedInput, InputReader};
use crate::file::{ItemText, Limits, MapPlan, RateLimit, Schedule, WorkflowFile, WorkflowPlan};
use crate::steps::list::AttemptTerms;
use crate::steps::process::descriptors;
use crate::steps::step::Steps;
use crate::template::scope::{Scope, StepOutputs};
use retry_workflow::job::{Moment, Rates, Unit};
use retry_workflow::sanitize::OneLine;
use retry_workflow::{
    Counts, ErrorPolicy, Filter, Graph, Job, JobEvent, JobReport, JobRunner, JobStatus, Operator,
    Rate, StopReason, Store, StoreError, WorkflowError,
};

/// The record of a job's workflow file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The absolute path of the file.
    pub(crate) file: PathBuf,
    /// This path with all links resolved when a process last began to work on the job: it identifies
    /// the file.
    pub(crate) canonical: PathBuf,
    /// The mode of the file: a job cannot be resumed in another mode.
    pub(crate) mode: String,
    /// The job that this one reduces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reduces: Option<String>,
}

impl Origin {
    /// Reads the origin of a job, if it was started from a file.
    pub(crate) fn read(job: &Job) -> Option<Self> {
        Self::deserialize(job.origin.as_ref()?).ok()
    }

    /// The origin of a job that is started from this file.
    pub(crate) fn file(file: &WorkflowFile) -> Self {
        let path = std::path::absolute(file.path()).unwrap_or_else(|_| file.path().to_owned());
        let canonical = path.canonicalize().unwrap_or_else(|_| path.clone());
        Self { file: path, canonical, mode: file.mode().to_owned(), reduces: None }
    }

    /// Returns whether a job was started from the same file, in the same mode.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let whole = self.reduces.is_none() && other.reduces.is_none();
        whole && self.canonical == other.canonical && self.mode == other.mode
    }

    /// Returns the noun for the items of the job.
    pub(crate) fn unit(&self) -> Unit {
        match self.mode.as_str() {
            "standard" => Unit::Step,
            "graph" => Unit::Task,
            _ => Unit::Item,
        }
    }

    pub(crate) fn to_json(&self) -> Option<serde_json::Value> {
        serde_json::to_value(self).ok()
    }
}

/// The settings with which this process runs a file.
#[derive(Clone)]
pub(crate) struct RunSettings {
    /// `None`: as set in the file.
    pub(crate) max_parallel: Option<usize>,
    /// The number of attempts that start per unit of time; `None`: as set in the file.
    pub(crate) rate: Option<Rate>,
    /// The time for which the items of this process stay leased if it is killed.
    pub(crate) lease: Duration,
    /// The time at which to stop.
    pub(crate) deadline: Option<Instant>,
    /// The time for which running items may end once the job stops.
    pub(crate) stop_within: Option<Duration>,
    pub(crate) listener: JobListener,
    /// Receives messages for the user.
    pub(crate) notify: MessageSink,
    /// The arguments that name the store on the command line.
    pub(crate) flag: String,
    /// The time at which the first part of the job may begin.
    pub(crate) schedule: Schedule,
    /// Nothing new begins: no number of failures stops the items.
    pub(crate) is_closing: bool,
    /// Items that have finished steps which were edited since start over.
    pub(crate) restart_items: bool,
}

/// Receives the events of a job.
pub(crate) type JobListener = Arc<dyn Fn(&JobEvent<'_>) + Send + Sync>;

/// Receives messages for the user.
pub(crate) type MessageSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The work of this process on a job of a file.
#[derive(Clone, Copy)]
pub(crate) struct FileRun<'a> {
    pub(crate) store: &'a Arc<dyn Store>,
    pub(crate) file: &'a WorkflowFile,
    pub(crate) settings: &'a RunSettings,
    /// Becomes `true` when the job has to stop.
    pub(crate) stop: &'a watch::Receiver<bool>,
}

/// Sets an option of a runner, if it has a value.
fn set<T>(
    runner: JobRunner,
    value: Option<T>,
    option: impl FnOnce(JobRunner, T) -> JobRunner,
) -> JobRunner {
    match value {
        Some(value) => option(runner, value),
        None => runner,
    }
}

impl FileRun<'_> {
    /// The runner for this job, with the settings that all jobs of a file have.
    fn runner(self, job: &Job, policy: ErrorPolicy) -> JobRunner {
        let RunSettings { deadline, stop_within, schedule, lease, listener, .. } = self.settings;
        let (listener, mut stop) = (Arc::clone(listener), self.stop.clone());
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let runner = set(JobRunner::new(&job.name), left, JobRunner::deadline);
        let runner = set(runner, *stop_within, JobRunner::stop_within);
        let runner = set(runner, self.file.max_lost, JobRunner::max_lost);
        set(runner, schedule.not_before, JobRunner::not_before)
            .job_id(&job.id)
            .store(Arc::clone(self.store))
            .error_policy(policy)
            .lease(*lease)
            .on_event(move |event| listener(event))
            .stop_on(async move {
                // The sender is gone: there will be no request.
                if stop.wait_for(|requested| *requested).await.is_err() {
                    std::future::pending::<()>().await;
                }
            })
    }

    /// The same with the file's own settings, for its items or tasks.
    fn runner_of_file(self, job: &Job, given: &StepOutputs) -> JobRunner {
        let mut policy = self.file.error_policy().clone();
        if self.settings.is_closing {
            // Late items count as failed.
            policy =
                policy.continue_on_failure(true).max_failures(u64::MAX).minimum_items(u64::MAX);
        }
        add_handlers(self.runner(job, policy), self.file, given)
    }
}

/// The result of a job, of its `setup` and of its `reduce`.
#[derive(Debug)]
pub(crate) struct Reports {
    pub(crate) job: JobReport,
    /// The `setup`, if it did not finish.
    pub(crate) setup: Option<JobReport>,
    pub(crate) reduce: Option<JobReport>,
    /// The mistake in the input that stopped the job, with its place.
    pub(crate) input: Option<String>,
    /// The failure of `on_finish`.
    pub(crate) unfinished: Option<String>,
}

impl Reports {
    fn of(job: JobReport) -> Self {
        Self { job, setup: None, reduce: None, input: None, unfinished: None }
    }

    /// Returns whether the job stopped because a user or a deadline has asked for it.
    pub(crate) fn is_stop_requested(&self) -> bool {
        matches!(
            self.ended().stopped(),
            Some(
                StopReason::Requested
                    | StopReason::Paused
                    | StopReason::Cancelled
                    | StopReason::Deadline
            )
        )
    }

    /// Loads the reports of a job of this file that has finished.
    async fn load(
        store: &dyn Store,
        file: &WorkflowFile,
        job: &str,
    ) -> Result<Option<Self>, StoreError> {
        let Some(report) = JobReport::load(store, job).await? else { return Ok(None) };
        let tasks = Tasks::in_file(file);
        let counted = |report: JobReport, tasks: Option<Tasks>| {
            let number = tasks.filter(|tasks| tasks.is_chain).map(|tasks| tasks.number);
            report.counted_in(tasks.map_or(Unit::Item, Tasks::unit), number)
        };
        let reduce = match find_reduce(store, job).await? {
            Some(reduce) => JobReport::load(store, &reduce.id).await?,
            None => None,
        };
        let reduce = reduce.map(|report| counted(report, tasks.reduce));
        let job = counted(report, tasks.own);
        Ok(Some(Self { reduce, ..Self::of(job) }))
    }
}

/// The default number of tasks that run at a time.
const PARALLEL: usize = 10;

/// Records that a job now belongs to this file; returns a notice if it belonged to another one, or
/// if a link in its path has moved.
pub(crate) async fn adopt(
    store: &dyn Store,
    job: &Job,
    file: &WorkflowFile,
) -> Result<Option<String>, StoreError> {
    let (before, now) = (Origin::read(job), Origin::file(file));
    if before.as_ref() == Some(&now) {
        return Ok(None);
    }
    Job::set_origin(store, &job.id, now.to_json().as_ref()).await?;
    let before = before.filter(|before| before.canonical != now.canonical);
    Ok(before.map(|before| {
        format!(
            "{} was started from {}, and continues with {}",
            OneLine(&job.id),
            before.canonical.display(),
            now.canonical.display()
        )
    }))
}

/// Returns whether there is anything left to do for a job, including its `reduce`.
pub(crate) async fn is_unfinished(store: &dyn Store, job: &Job) -> Result<bool, StoreError> {
    // Items may have been re-driven or imported since the job finished.
    if job.status != JobStatus::Finished || store.counts(&job.id).await?.unfinished() > 0 {
        return Ok(true);
    }
    is_reducing(store, &job.id).await
}

/// Returns whether a job has begun its `reduce` and not ended it.
async fn is_reducing(store: &dyn Store, job: &str) -> Result<bool, StoreError> {
    Ok(Reducing::find(store, job).await?.is_some_and(|reducing| !reducing.done))
}

/// Returns whether a job can be resumed: there is work left, or the steps that follow its end have
/// not run to their end.
pub(crate) async fn is_open(store: &dyn Store, job: &Job) -> Result<bool, StoreError> {
    Ok(is_unfinished(store, job).await? || is_finish_due(store, job).await?)
}

/// The process that works on a job or on its latest `reduce`, if it is alive.
pub(crate) async fn live_worker(store: &dyn Store, job: &Job) -> Result<Option<u32>, StoreError> {
    let now = store.now();
    let reduce = find_reduce(store, &job.id).await?;
    let mut workers = job.workers.iter().chain(reduce.iter().flat_map(|reduce| &reduce.workers));
    Ok(workers.find(|worker| worker.is_live(now)).map(|worker| worker.process))
}

/// The latest `reduce` of a job, if one has started.
pub(crate) async fn find_reduce(store: &dyn Store, job: &str) -> Result<Option<Job>, StoreError> {
    match Reducing::find(store, job).await? {
        Some(reducing) => Job::find(store, &reducing.job(job)).await,
        None => Ok(None),
    }
}

/// The jobs that are parts of a job: its `setup`, and its latest `reduce` if one has started.
pub(crate) async fn parts(store: &dyn Store, job: &str) -> Result<Vec<String>, StoreError> {
    let reduce = find_reduce(store, job).await?;
    let setup = format!("{job}{SETUP}");
    Ok(std::iter::once(setup).chain(reduce.map(|reduce| reduce.id)).collect())
}

/// Cancels what is left of a job and of its `reduce`; returns how many items were skipped.
pub(crate) async fn cancel(operator: &Operator, job: &str) -> Result<u64, StoreError> {
    let store = operator.letters().store();
    let left = reduce_left(store, job).await?;
    let mut skipped = operator.cancel(job, &left).await?;
    // One may have started while the items of the job ran to their end.
    let started = reduce_left(store, job).await?;
    if started != left {
        skipped = skipped.saturating_add(operator.cancel(job, &started).await?);
    }
    end_reduce(store, job).await?;
    Ok(skipped)
}

/// Notes that the `reduce` of a job that is cancelled has ended, or never starts.
pub(crate) async fn end_reduce(store: &dyn Store, job: &str) -> Result<(), StoreError> {
    if let Some(reducing) = Reducing::find(store, job).await?.filter(|reducing| !reducing.done) {
        reducing.ended(store, job).await?;
    }
    Ok(())
}

/// The `reduce` of a job that has started and not ended, if there is one.
async fn reduce_left(store: &dyn Store, job: &str) -> Result<Vec<String>, StoreError> {
    if !is_reducing(store, job).await? {
        return Ok(Vec::new());
    }
    Ok(find_reduce(store, job).await?.into_iter().map(|reduce| reduce.id).collect())
}

/// Removes a job with its keys in the store; returns how many items it had.
pub(crate) async fn remove(store: &dyn Store, job: &str) -> Result<u64, StoreError> {
    let keys = [edited::key(job), Reducing::key(job)];
    Job::remove(store, job, keys).await
}

/// The total number of tasks of a job, if it is known from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tasks {
    pub(crate) number: u64,
    /// A failure stops the chain, and the failed task starts over on resume.
    pub(crate) is_chain: bool,
}

/// The tasks of a job, and the tasks of its parts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TasksOfFile {
    pub(crate) own: Option<Tasks>,
    pub(crate) setup: Option<Tasks>,
    pub(crate) reduce: Option<Tasks>,
}

impl TasksOfFile {
    /// The tasks of this job, which is `whole` or a part of it.
    pub(crate) fn of(&self, job: &str, whole: &str) -> Option<Tasks> {
        match job.strip_prefix(whole) {
            Some("") => self.own,
            Some(SETUP) => self.setup,
            _ => self.reduce,
        }
    }
}

/// The suffix of the id of a job that is the `setup` of another one.
const SETUP: &str = "/setup";

impl Tasks {
    /// The tasks of the jobs of a file.
    pub(crate) fn in_file(file: &WorkflowFile) -> TasksOfFile {
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let chain = |steps: &Steps| Self { number: number(steps.0.len()), is_chain: true };
        match &file.plan {
            WorkflowPlan::Standard(steps) => {
                TasksOfFile { own: Some(chain(steps)), ..TasksOfFile::default() }
            }
            WorkflowPlan::Graph(tasks) => {
                let own = Some(Self { number: number(tasks.len()), is_chain: false });
                TasksOfFile { own, ..TasksOfFile::default() }
            }
            WorkflowPlan::MapReduce(map) => TasksOfFile {
                own: None,
                setup: map.setup.as_ref().map(chain),
                reduce: map.reduce.as_ref().map(chain),
            },
        }
    }

    /// The commands of a chain that has started.
    pub(crate) async fn begun(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        let number = chain::number(store, job).await?;
        Ok(number.map(|number| Self { number, is_chain: true }))
    }

    /// Returns the noun for the tasks.
    pub(crate) const fn unit(self) -> Unit {
        if self.is_chain { Unit::Step } else { Unit::Task }
    }

    /// Returns how many have ended, and how many there are.
    pub(crate) fn progress(self, counts: &Counts) -> (u64, u64) {
        let anew = if self.is_chain { counts.dead } else { 0 };
        (counts.ended().saturating_sub(anew), self.number.max(counts.total()))
    }
}

/// Starts or resumes a job, until it has ended or has to stop. `checked` is what is known about an
/// input that has not been copied to the store yet.
pub(crate) async fn run(
    run: FileRun<'_>,
    mut job: Job,
    checked: Option<CheckedInput>,
) -> Result<Reports, WorkflowError> {
    let FileRun { store, file, settings, .. } = run;
    // Each part has its own creation; the creation of the whole counts.
    let of_job = |moment: Option<Moment>| moment.map(|one| Moment::At(one.of(job.created)));
    let Schedule { not_before, skip_after } = file.schedule;
    let schedule = Schedule { not_before: of_job(not_before), skip_after: of_job(skip_after) };
    let settings = &RunSettings { schedule, ..settings.clone() };
    let run = FileRun { settings, ..run };
    let id = job.id.clone();
    finish::expect(&**store, file, &id).await?;
    let mut checked = checked;
    loop {
        let mut reports = if is_unfinished(&**store, &job).await? {
            run_plan(run, job, checked.take()).await?
        } else {
            Job::cancel_reservation(&**store, &id).await?;
            Reports::load(&**store, file, &id).await?.ok_or_else(|| unknown_job(&id))?
        };
        let is_finished = reports.ended().job.status == JobStatus::Finished;
        // Items may be re-driven while `reduce` or `on_finish` runs.
        let has_more =
            async || Ok::<_, StoreError>(is_finished && store.counts(&id).await?.unfinished() > 0);
        if !has_more().await? {
            reports = finish::finish(run, reports).await?;
            if !has_more().await? {
                return Ok(reports);
            }
        }
        job = Job::find(&**store, &id).await?.ok_or_else(|| unknown_job(&id))?;
    }
}

async fn run_plan(
    run: FileRun<'_>,
    job: Job,
    checked: Option<CheckedInput>,
) -> Result<Reports, WorkflowError> {
    let FileRun { file, settings, .. } = run;
    let workspace = &file.workspace;
    match &file.plan {
        WorkflowPlan::Standard(steps) => {
            let chain = Chain { steps, scope: Scope::default(), postpones: true };
            Ok(Reports::of(chain.run(run, job).await?))
        }
        WorkflowPlan::Graph(tasks) => {
            let most = settings.max_parallel.unwrap_or(PARALLEL);
            descriptors::allow_for(most, workspace.tap.is_some());
            let runner = run.runner_of_file(&job, &StepOutputs::default());
            let runner = limited(runner.max_parallel(most), &Limits::default(), settings.rate);
            let graph = tasks.iter().fold(Graph::from(runner), |graph, task| {
                let needs: Vec<_> = task.depends_on.iter().map(String::as_str).collect();
                let work: Task = Task {
                    steps: task.steps.clone(),
                    workspace: Arc::clone(workspace),
                    scope: Scope::default(),
                    link: None,
                    restarts: settings.restart_items,
                    postpones: true,
                };
                graph.work(&task.name, &needs, work)
            });
            Ok(Reports::of(graph.run().await?))
        }
        WorkflowPlan::MapReduce(map) => map_reduce(run, job, map, checked).await,
    }
}

async fn map_reduce(
    run: FileRun<'_>,
    job: Job,
    map: &MapPlan,
    checked: Option<CheckedInput>,
) -> Result<Reports, WorkflowError> {
    let FileRun { store, file, settings, .. } = run;
    let id = job.id.clone();
    let restarts = edited::remember_map(&**store, &id, &map.steps, settings.restart_items).await?;
    let mut given = StepOutputs::default();
    if let Some(steps) = &map.setup {
        match set_up(run, &job, steps).await? {
            Ok(captured) => given = captured,
            Err(report) => {
                return Ok(match JobReport::load(&**store, &id).await? {
                    Some(job) => Reports { setup: Some(report), ..Reports::of(job) },
                    None => Reports::of(report),
                });
            }
        }
    }
    if map.reduce.is_some() {
        // Recorded before the items end, so that a process that is killed in between does not skip
        // it.
        Reducing::due(&**store, &id).await?;
    }
    let most = settings.max_parallel.unwrap_or(map.max_parallel);
    descriptors::allow_for(most, file.workspace.tap.is_some());
    let runner = run.runner_of_file(&job, &given).max_parallel(most).slow_down_on(map.slow_down_on);
    let runner = limited(runner, &map.limits, settings.rate);
    let runner = set(runner, map.priority.clone(), |runner, text: ItemText| {
        runner.priority(move |item| text.priority(item))
    });
    let runner = set(runner, settings.schedule.skip_after, JobRunner::skip_after);
    let work = ItemSteps {
        steps: map.steps.clone(),
        workspace: Arc::clone(&file.workspace),
        given: given.clone(),
        terms: AttemptTerms { limit: map.agent_timeout, postponed: None },
        restarts,
    };
    let ran = match file.reader().filter(|_| !job.input_complete) {
        None => runner.resume(&id, work).await,
        Some(reader) => {
            let begun = store.counts(&id).await?.total() > 0;
            let reader = InputReader { given: given.clone(), ..reader };
            runner.run(InputItems::read(reader, checked, begun), work).await
        }
    };
    let report = match ran {
        Err(error) => return stopped_by_input(&**store, &id, error).await,
        Ok(report) => report,
    };
    let mut reduced = None;
    if let Some(steps) = &map.reduce
        && report.job.status == JobStatus::Finished
        && let Some(reducing) = Reducing::find(&**store, &id).await?
        && !reducing.done
    {
        let reduce = reducing.job(&id);
        let reduce =
            part(&**store, &report.job, &reduce, &format!("{}, reduce", file.name())).await?;
        let map = Some(Arc::new(summary(&**store, &report).await?));
        let scope = Scope { map, given, ..Scope::default() };
        let schedule = Schedule::default();
        let settings = &RunSettings { schedule, ..settings.clone() };
        let chain = Chain { steps, scope, postpones: true };
        let ended = chain.run(FileRun { settings, ..run }, reduce).await?;
        if ended.job.status == JobStatus::Finished {
            reducing.ended(&**store, &id).await?;
        }
        reduced = Some(ended);
    }
    Ok(Reports { reduce: reduced, ..Reports::of(report) })
}

/// Returns the reports of a job that an error of its input has stopped.
///
/// # Errors
/// The error, if it is of another kind, or the job has not begun because of it.
async fn stopped_by_input(
    store: &dyn Store,
    job: &str,
    error: WorkflowError,
) -> Result<Reports, WorkflowError> {
    let text = match &error {
        WorkflowError::Input(error) => format!("{error:#}"),
        WorkflowError::SameId { .. } | WorkflowError::OtherIds { .. } => error.to_string(),
        _ => return Err(error),
    };
    let report = JobReport::load(store, job).await?.ok_or_else(|| unknown_job(job))?;
    let has_stopped_job = match report.stopped() {
        // With another message, an earlier input has stopped the job.
        Some(StopReason::Input { message }) => *message == text,
        _ => false,
    };
    if has_stopped_job || matches!(error, WorkflowError::Input(_)) {
        return Ok(Reports { input: Some(text), ..Reports::of(report) });
    }
    Err(error)
}

/// Adds the limits of a map; `rate` replaces the rates of the file without a key and a cost.
fn limited(mut runner: JobRunner, limits: &Limits, rate: Option<Rate>) -> JobRunner {
    // Without a host, the limit of a host does not apply.
    let key = |per: &ItemText| {
        let per = per.clone();
        move |item: &Value| Some(per.of(item)).filter(|key| !key.is_empty())
    };
    let rates_of = |RateLimit { limit, cost, .. }: &RateLimit| match cost.clone() {
        Some(cost) => limit.named_cost(cost.text.clone(), move |item| cost.cost(item)),
        None => (*limit).into(),
    };
    let mut of_all: Vec<Rates> = rate.map(Rates::from).into_iter().collect();
    for limits in limits.rates_by_key().into_values() {
        let rates =
            limits.iter().filter(|it| rate.is_none() || it.per.is_some() || it.cost.is_some());
        let rates = rates.map(|rate| rates_of(rate));
        match &limits[0].per {
            Some(per) => {
                let rates = rates.collect::<Vec<_>>();
                runner = runner.rate_per(key(per), rates).key_text(&per.text);
            }
            None => of_all.extend(rates),
        }
    }
    let concurrency = limits.concurrency.iter();
    concurrency.fold(runner.rate(of_all), |runner, (per, most)| {
        runner.concurrency_per(key(per), most.get()).key_text(&per.text)
    })
}

/// Finds or creates a job that is part of another one: its `setup` or its `reduce`.
async fn part(store: &dyn Store, of: &Job, id: &str, name: &str) -> Result<Job, StoreError> {
    let whole = Origin::read(of).unwrap_or_default();
    let origin = Origin { mode: "standard".to_owned(), reduces: Some(of.id.clone()), ..whole };
    Job::find_or_create(store, id, name, origin.to_json()).await
}

/// Runs the steps of `setup`, unless that has been done; returns what they have captured.
async fn set_up(
    run: FileRun<'_>,
    job: &Job,
    steps: &Steps,
) -> Result<Result<StepOutputs, JobReport>, WorkflowError> {
    let FileRun { store, file, .. } = run;
    let id = format!("{}{SETUP}", job.id);
    let setup = part(&**store, job, &id, &format!("{}, setup", file.name())).await?;
    // Steps may have been added to it.
    let known = chain::number(&**store, &id).await?.unwrap_or(0);
    let is_whole = usize::try_from(known).is_ok_and(|known| known >= steps.0.len());
    if setup.status != JobStatus::Finished || !is_whole {
        // The items wait for it: its steps do not come back later.
        let chain = Chain { steps, scope: Scope::default(), postpones: false };
        let report = chain.run(run, setup).await?;
        if report.job.status != JobStatus::Finished {
            return Ok(Err(report));
        }
    }
    Ok(Ok(RecordedSteps::read(&**store, &id).await?.captured_before(steps.0.len())))
}

fn unknown_job(id: &str) -> WorkflowError {
    WorkflowError::UnknownJob { id: id.to_owned(), known: Vec::new() }
}

/// Returns why a job cannot be resumed without naming a file.
pub(crate) fn without_file(job: &str) -> String {
    format!(
        "the job `{}` was not started from a workflow file, but by a program or an import: resume \
         it with that program, or name a file with --file FILE",
        OneLine(job)
    )
}

/// Checks that a file has the mode that the job was started with.
pub(crate) fn fits(origin: &Origin, file: &WorkflowFile) -> Result<(), String> {
    if origin.mode == file.mode() {
        return Ok(());
    }
    Err(format!(
        "{} now says `mode: {}`, but the job was started with mode {}: change it back, or start a \
         new job",
        Path::new(&origin.file).display(),
        file.mode(),
        origin.mode,
    ))
}

/// Returns why these dead letters of a job cannot continue where they failed: steps that they have
/// finished were edited since.
pub(crate) async fn letters_changed(
    store: &dyn Store,
    job: &Job,
    file: &WorkflowFile,
    filter: &Filter,
) -> Result<Option<String>, StoreError> {
    // A task, or a step of a chain, is checked when it runs.
    let WorkflowPlan::MapReduce(map) = &file.plan else { return Ok(None) };
    if filter.job.as_ref() != Some(&job.id) {
        return Ok(None);
    }
    let what = edited::items_changed(store, filter, &map.steps).await?;
    Ok(what.map(|what| format!("{}: {what}", file.path().display())))
}

/// Returns why a file cannot resume a job that it started: commands that have succeeded, or steps
/// that items have finished, were edited since. With `restarts`, such items start over.
pub(crate) async fn changed(
    store: &dyn Store,
    job: &Job,
    file: &WorkflowFile,
    restarts: bool,
) -> Result<Option<String>, StoreError> {
    let chain = async |job: &str, steps: &Steps, place: &str| {
        let why = edited::chain_changed(store, job, steps, restarts).await?;
        Ok::<_, StoreError>(why.map(|why| format!("{place}{why}")))
    };
    let found = match &file.plan {
        WorkflowPlan::Standard(steps) => chain(&job.id, steps, "").await?,
        WorkflowPlan::MapReduce(map) => {
            let mut found = None;
            if let Some(steps) = &map.setup {
                found = chain(&format!("{}{SETUP}", job.id), steps, "in setup, ").await?;
            }
            if let (None, Some(steps)) = (&found, &map.reduce)
                && let Some(reducing) = Reducing::find(store, &job.id).await?
                && !reducing.done
            {
                found = chain(&reducing.job(&job.id), steps, "in reduce, ").await?;
            }
            match found {
                None => edited::map_changed(store, job, &map.steps, restarts).await?,
                found => found,
            }
        }
        WorkflowPlan::Graph(tasks) => {
            let mut found = None;
            for task in tasks.iter().filter(|_| !restarts) {
                if let Some(item) = store.item(&job.id, &task.name).await? {
                    found = found.or_else(|| edited::changed_within(&item, &task.steps));
                }
            }
            found
        }
    };
    Ok(found.map(|what| format!("{}: {what}", file.path().display())))
}
