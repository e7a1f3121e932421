//! `store …`: maintenance of a whole store, and copying jobs to another one.

use serde_json::json;

use super::arguments::Upkeep;
use super::outcome::{CommandError, Exit};
use super::run::find;
use super::screen::Screen;
use super::store::Address;
use crate::runner::Origin;
use crate::terminal::text::{argument, count, one_line, thousands};
use retry_workflow::Job;
use retry_workflow::job::{Copied, CopyError};
use retry_workflow::store::{Disagreement, StoreCheck};

pub(super) async fn run(
    what: Upkeep,
    address: &Address,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    match what {
        Upkeep::Check => check(address, screen).await,
        Upkeep::Migrate => {
            // Opening the store migrates it.
            drop(address.open().await?);
            let store = address.to_string();
            let done = format!("{} has the newest layout", one_line(&store));
            screen.result(&json!({ "store": store }), done).map(|()| Exit::Success)
        }
        Upkeep::Sql { role } => {
            let sql = address.sql(role.as_deref())?;
            std::io::Write::write_all(screen.writer(), sql.as_bytes())?;
            Ok(Exit::Success)
        }
        Upkeep::Copy { from, to, job } => {
            let (from, to) = (Address::named("FROM", &from)?, Address::named("TO", &to)?);
            if from == to {
                let why = format!("FROM and TO are the same store, {from}: name another one");
                return Err(CommandError::Usage(why));
            }
            copy(&from, &to, job.as_deref(), screen).await.map(|()| Exit::Success)
        }
    }
}

async fn check(address: &Address, screen: &mut Screen) -> Result<Exit, CommandError> {
    let check = address.check().await?;
    let exit = if check.is_sound() { Exit::Success } else { Exit::Unsound };
    if screen.json {
        let mut object = json!(check);
        object["store"] = json!(address.to_string());
        screen.object(&object)?;
        return Ok(exit);
    }
    let StoreCheck { layout, newest, bytes, items, disagreements, damage, .. } = &check;
    screen.line(format_args!("store   {}", one_line(&address.to_string())))?;
    screen.line(format_args!("layout  {}", layout_text(*layout, *newest, &screen.flag)))?;
    screen.line(format_args!("size    {} KiB", thousands(bytes.div_ceil(1024))))?;
    screen.line(format_args!("items   {}", thousands(*items)))?;
    for Disagreement { job, state, counted, found, .. } in disagreements {
        screen.line(format_args!(
            "wrong   {}: the count says {} {}, but there are {}",
            one_line(job),
            thousands(*counted),
            state.as_str(),
            thousands(*found)
        ))?;
    }
    for line in damage {
        screen.line(format_args!("damage  {}", one_line(line)))?;
    }
    Ok(exit)
}

/// A layout, and how to migrate it if it is not the newest.
fn layout_text(layout: u32, newest: u32, flag: &str) -> String {
    if layout == newest {
        return format!("{layout}, the newest");
    }
    format!("{layout}; the newest is {newest}: retry-workflow{flag} store migrate")
}

/// Copies one job or all of them, each with its `reduce`s.
async fn copy(
    from: &Address,
    to: &Address,
    job: Option<&str>,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    let here = from.open_read_only().await?;
    let mut jobs = Job::all(&*here).await?;
    if let Some(id) = job {
        let id = find(&*here, id).await?.id;
        let reduces =
            |one: &Job| Origin::read(one).and_then(|origin| origin.reduces).as_ref() == Some(&id);
        jobs.retain(|one| one.id == id || reduces(one));
    }
    let there = to.open_or_create().await?;
    for job in jobs {
        let copied = job.copy(&*here, &*there).await.map_err(|error| match error {
            CopyError::Store(error) => error.into(),
            CopyError::Running { .. } => CommandError::Running(error.to_string()),
            other => CommandError::Stopped(other.to_string()),
        });
        let Copied { new, known, .. } = copied?;
        let existed = match known {
            0 => String::new(),
            known => format!("; {} already existed", thousands(known)),
        };
        let id = one_line(&job.id);
        screen.result(
            &json!({ "job": job.id, "new": new, "known": known }),
            format_args!("{id}: {} copied{existed}", count(new, "item")),
        )?;
        screen.flush()?;
    }
    if screen.json {
        return Ok(());
    }
    let id = job.map_or_else(String::new, |id| format!(" {}", argument(id)));
    let (there, here) = (to.flag(), from.flag());
    screen.line(format_args!("to inspect the copy: retry-workflow{there} status{id}"))?;
    if id.is_empty() {
        return Ok(());
    }
    screen.line(format_args!("then remove the original: retry-workflow{here} jobs rm{id} --force"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_layout_is_shown_with_the_command_that_migrates_it() {
        let text = layout_text(1, 2, " --store old.db");
        assert_eq!(text, "1; the newest is 2: retry-workflow --store old.db store migrate");
        assert_eq!(layout_text(2, 2, ""), "2, the newest");
    }
}
