//! The dead letters that the arguments select.

use retry_rules::suggest::nearest;

use crate::command::arguments::FilterArguments;
use crate::command::outcome::CommandError;
use crate::terminal::text::{argument, one_line};
use retry_workflow::{DeadLetters, Failure, Filter, ItemState, Job, Search, Store};

/// Refuses a class that no dead letter has, if it is like one of ours: most likely, it is misspelt.
async fn check_class(letters: &DeadLetters, class: &str) -> Result<(), CommandError> {
    let known = Failure::CLASSES;
    let Some(meant) = nearest(class, known).filter(|_| !known.contains(&class)) else {
        return Ok(());
    };
    if !letters.list(&Filter::default().class(class), None, 1).await?.items.is_empty() {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "no dead letter has the class \"{}\": did you mean `{meant}`?",
        one_line(class)
    )))
}

impl FilterArguments {
    /// Builds the filter, and looks the signature up.
    pub(crate) async fn filter(
        &self,
        letters: &DeadLetters,
        states: Option<Vec<ItemState>>,
    ) -> Result<Filter, CommandError> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since >= until
        {
            return Err(CommandError::Usage(format!(
                "nothing can have ended since {since} and before {until}: --since must be earlier \
                 than --until"
            )));
        }
        let mut filter = Filter::default();
        // Late and cancelled items are skipped, and are never dead letters.
        let is_skipped = matches!(self.class.as_deref(), Some("late" | "cancelled"));
        let skipped = is_skipped.then(|| vec![ItemState::Dead, ItemState::Skipped]);
        filter.states = states.or(skipped);
        filter.job.clone_from(&self.job);
        filter.class.clone_from(&self.class);
        filter.since = self.since;
        filter.until = self.until;
        filter.ids = (!self.items.is_empty()).then(|| self.items.clone());
        // A misspelt job has no dead letters, which would look like good news.
        if let Some(job) = &filter.job
            && letters.store().counts(job).await?.total() == 0
            && let Err(unknown) = crate::command::run::find(letters.store(), job).await
        {
            let same = Filter::default().ids([job]).states(ItemState::ALL);
            let item = letters.store().list(&same, None, 1).await?.items.pop();
            return Err(item.map_or(unknown, |item| {
                let (id, job) = (argument(job), argument(&item.job));
                let cure = format!("`{id}` is an item, not a job: write `{job} --item {id}`");
                CommandError::Usage(cure)
            }));
        }
        for id in &self.items {
            check_item_exists(letters.store(), &filter, id).await?;
        }
        if let Some(given) = &self.signature {
            filter.signature = Some(letters.signature(&filter, given).await?.as_str().to_owned());
        }
        if let Some(class) = &self.class {
            check_class(letters, class).await?;
        }
        let text = self.message.clone().map(Search::text);
        let searches: Vec<_> = text.into_iter().chain(self.condition.clone()).collect();
        if !searches.is_empty() {
            if filter.job.is_none() {
                return Err(CommandError::Usage(
                    "--message and --where search the items of one job: name the job".to_owned(),
                ));
            }
            filter.ids = Some(Search::ids(&searches, letters.store(), &filter, usize::MAX).await?);
        }
        Ok(filter)
    }

    /// Requires a condition or `--all`, but not both.
    pub(super) fn require_condition_or_all(
        &self,
        all: bool,
        done: &str,
    ) -> Result<(), CommandError> {
        let is_empty = self.job.is_none()
            && self.signature.is_none()
            && self.class.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && self.message.is_none()
            && self.condition.is_none()
            && self.items.is_empty();
        match (is_empty, all) {
            (true, false) => Err(CommandError::Usage(format!(
                "which dead letters should be {done}? Name a job, --signature, --class, --since, \
                 --until or --item, or write --all"
            ))),
            (false, true) => Err(CommandError::Usage(
                "--all means every dead letter, but there is also a condition: keep one".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Rejects the id of no item, such as the id of a job: otherwise the filter would silently match
/// nothing.
async fn check_item_exists(
    store: &dyn Store,
    filter: &Filter,
    id: &str,
) -> Result<(), CommandError> {
    let mut items = Filter::default().ids([id]).states(ItemState::ALL);
    items.job.clone_from(&filter.job);
    let found = store.list(&items, None, 1).await?;
    if !found.items.is_empty() || found.next.is_some() {
        return Ok(());
    }
    let is_job = Job::find(store, id).await?.is_some() || store.counts(id).await?.total() > 0;
    let id = one_line(id);
    Err(CommandError::Usage(match &filter.job {
        _ if is_job => format!(
            "{id} is a job, not an item: --item takes the id of an item; name a job by itself"
        ),
        Some(job) => format!("the job {} has no item {id}", one_line(job)),
        None => format!("no job has an item {id}"),
    }))
}
