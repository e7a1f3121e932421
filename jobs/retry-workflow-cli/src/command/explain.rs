//! `explain`: policies as tables, charts and pictures.

use std::path::Path;

use retry_runtime::Policy;
use retry_workflow::walk::{Walk, WalkEnd};
use serde_json::json;

use super::arguments::ExplainArguments;
use super::files;
use super::outcome::CommandError;
use super::screen::{Screen, Tone};
use crate::explain::{self, SHOWN};
use crate::terminal::text::one_line;

pub(super) fn explain(
    arguments: &ExplainArguments,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    if let Some(file) = &arguments.file {
        return explain_file(file, screen);
    }
    let (lines, picture, object) = if arguments.curves {
        (explain::curves::text(), explain::curves::picture(), None)
    } else {
        let policy = arguments.policy()?;
        let width = screen.width.unwrap_or(80);
        (explain::text(&policy, width), explain::picture(&policy), Some(policy))
    };
    match &arguments.svg {
        // Only the picture goes to standard output, so that it can be redirected to a file.
        Some(path) if path == Path::new("-") => {
            return Ok(screen.writer().write_all(picture.as_bytes())?);
        }
        Some(path) => std::fs::write(path, picture).map_err(|error| {
            CommandError::Usage(format!("cannot write {}: {error}", path.display()))
        })?,
        None => {}
    }
    match object {
        Some(policy) if screen.json => screen.object(&as_json(&policy)),
        None if screen.json => Err(CommandError::Usage(
            "the curves are a table or a picture: remove --json".to_owned(),
        )),
        _ => screen.lines(lines),
    }
}

fn explain_file(file: &Path, screen: &mut Screen) -> Result<(), CommandError> {
    let width = screen.width.unwrap_or(80);
    let file = files::read(file)?;
    let policies = file.policies();
    if policies.is_empty() && !screen.json {
        screen.line("nothing in this file is retried: only steps with a `retry_config` are")?;
    }
    for (i, (place, policy, uncounted)) in policies.iter().enumerate() {
        if screen.json {
            let mut object = as_json(policy);
            object["name"] = json!(place);
            if !uncounted.is_empty() {
                object["uncounted"] = json!(uncounted);
            }
            screen.object(&object)?;
            continue;
        }
        if i > 0 {
            screen.line("")?;
        }
        let heading = screen.paint(Tone::Heading, one_line(place));
        screen.line(heading)?;
        screen.lines(explain::text(policy, width))?;
        if !uncounted.is_empty() {
            let kinds = uncounted.join(", ");
            screen.line(format_args!("\nuse up no attempt: {kinds}"))?;
        }
    }
    if let Some(most) = file.max_lost {
        let most = Some(most).filter(|most| *most != u32::MAX);
        let text = most.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
        let line = format!("\nworkers that may die with an item alone: {text}");
        screen.result(&json!({ "max_lost": most }), line)?;
    }
    Ok(())
}

/// The policy as JSON, with durations in seconds, for programs that calculate with them.
fn as_json(policy: &Policy) -> serde_json::Value {
    let walk = Walk::new(policy, SHOWN);
    let waits: Vec<_> = walk
        .waits
        .iter()
        .map(|wait| {
            json!({
                "attempt": wait.attempt,
                "wait": walk.curve.then_some(wait.by_curve.as_secs_f64()),
                "shortest": wait.shortest.as_secs_f64(),
                "longest": wait.longest.as_secs_f64(),
                "least": wait.least.as_secs_f64(),
                "most": wait.most.as_secs_f64(),
                "certain": !wait.perhaps,
            })
        })
        .collect();
    json!({
        "policy": policy.to_string(),
        "waits": waits,
        "more": matches!(walk.end, WalkEnd::More(_)),
        "longest_total_wait": policy.longest_total_wait().map(|total| total.as_secs_f64()),
    })
}
