//! `dlq …`: dead letters on the command line.

mod exchange;
mod filter;
mod list;
mod redrive;
mod show;

pub(super) use self::list::print_items;
pub(super) use self::redrive::run_later;
pub(super) use self::show::{no_item, show};

use super::arguments::Dlq;
use super::audit;
use super::outcome::{CommandError, Exit};
use super::screen::Screen;
use super::store::Address;
use retry_workflow::{DeadLetters, ItemState};

pub(super) async fn run(
    dlq: Dlq,
    address: &Address,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let read_only = async |screen: &mut Screen| {
        let store = address.open_read_only().await?;
        screen.now = store.now();
        Ok::<_, CommandError>(DeadLetters::new(store))
    };
    match dlq {
        Dlq::List { which, page } => {
            let letters = read_only(screen).await?;
            let filter = which.filter(&letters, None).await?;
            list::list(&letters, &filter, page, screen).await?;
        }
        Dlq::Stats { which } => {
            let letters = read_only(screen).await?;
            let filter = which.filter(&letters, None).await?;
            list::stats(&letters, &filter, screen).await?;
        }
        Dlq::Show(which) => show(&read_only(screen).await?, &which, screen).await?,
        Dlq::Retry { which, redrive, how } => {
            which.require_condition_or_all(redrive.all, "re-driven")?;
            let store = address.open().await?;
            let operator = audit::operator(store.clone());
            let states = redrive.skipped.then(|| vec![ItemState::Skipped]);
            let filter = which.filter(operator.letters(), states).await?;
            let jobs = redrive::retry(&operator, &filter, (&redrive, &how), screen).await?;
            return super::run::run_again(&store, jobs, &how, screen).await;
        }
        Dlq::Purge { which, all, yes, dry_run } => {
            which.require_condition_or_all(all, "purged")?;
            let operator = audit::operator(address.open().await?);
            let filter = which.filter(operator.letters(), None).await?;
            redrive::purge(&operator, &filter, redrive::Consent { yes, dry_run }, screen).await?;
        }
        Dlq::Export { which, output } => {
            let letters = read_only(screen).await?;
            let filter = which.filter(&letters, None).await?;
            exchange::export(&letters, &filter, output.as_deref(), screen).await?;
        }
        Dlq::Import { file, job } => {
            exchange::import(address, &file, job.as_deref(), screen).await?;
        }
    }
    Ok(Exit::Success)
}
