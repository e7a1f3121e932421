//! The names of commands and options in other tools, and the names here. They are never accepted,
//! so that scripts have one spelling.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Error, Parser as _};

use retry_rules::file::KEYS;
use retry_rules::foreign_names::{RETRY, attempts_for};
use retry_rules::suggest::{key_meant, key_of};

use super::Arguments;
use crate::file::names_file;

/// Commands of other tools: below which command of ours, their names, and what to write.
const COMMANDS: &[(&str, &[&str], &str)] = &[
    ("", &["start", "exec", "execute", "launch", "apply", "submit"], "run FILE"),
    ("", &["retry", "replay", "requeue", "redrive", "rerun"], "dlq retry JOB"),
    ("", &["list", "ls", "ps", "job"], "jobs"),
    ("", &["delete", "remove", "rm"], "jobs rm JOB"),
    ("", &["clean", "prune", "gc"], "jobs prune --older-than 30d"),
    ("", &["stop", "suspend"], "pause JOB"),
    ("", &["kill", "abort", "terminate"], "cancel JOB"),
    ("", &["continue", "restart", "unpause"], "resume JOB"),
    ("", &["validate", "lint", "test", "verify"], "check FILE"),
    ("", &["dead", "failed", "failures", "errors", "dead-letters"], "dlq list"),
    ("", &["logs", "log", "history", "show", "inspect", "describe"], "items show JOB ITEM"),
    ("", &["serve", "server", "ui", "web", "dashboard"], "board"),
    ("", &["progress", "info", "watch", "top"], "status JOB --watch"),
    ("jobs", &["delete", "remove"], "jobs rm JOB"),
    ("jobs", &["list", "ls"], "jobs"),
    ("jobs", &["clean", "gc", "purge"], "jobs prune --older-than 30d"),
    ("jobs", &["show", "status"], "status JOB"),
    ("dlq", &["redrive", "replay", "requeue", "resubmit"], "dlq retry JOB"),
    ("dlq", &["delete", "remove", "rm", "clear", "empty", "drop"], "dlq purge JOB"),
    ("dlq", &["ls"], "dlq list"),
    ("items", &["ls"], "items list"),
    ("items", &["get", "logs", "log"], "items show JOB ITEM"),
];

/// Options of other tools: their names, and what to write.
const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["-j", "-P", "--jobs", "--parallel", "--concurrency", "--workers", "--max-procs"],
        "--max-parallel N",
    ),
    (&["-n", "--dry-run", "--check"], "check FILE"),
    (&["-f", "--file"], "run FILE"),
    (&["--db", "--database", "--state"], "--store FILE"),
    (&["--format", "--output", "-o"], "--json"),
    (&["--port", "-p"], "board --listen 127.0.0.1:7878"),
    (&["--retries", "--max-retries"], "`retry_config: { attempts: 4 }` in a step of the file"),
    (&["--delay", "--rate-limit"], "dlq retry JOB --rate 10/s"),
    (&["--resume"], "--continue"),
    (&["--follow", "--watch-status"], "--watch"),
    (&["--timeout"], "`timeout: 30s` in a step of the file"),
    (&["--env", "-e", "--var"], "`env: { NAME: value }` in the file"),
    (&["--force", "-y"], "--yes"),
];

/// Parses the arguments of this process; where they are wrong, the process ends.
pub(crate) fn parse() -> Arguments {
    let words: Vec<_> = std::env::args_os().collect();
    Arguments::try_parse_from(&words).unwrap_or_else(|error| add_tip(error, &words).exit())
}

/// Adds to an error what was meant, if that is known.
pub(super) fn add_tip(mut error: Error, words: &[OsString]) -> Error {
    let (kind, suggests): (_, &[_]) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            (ContextKind::InvalidSubcommand, &[ContextKind::SuggestedSubcommand])
        }
        ErrorKind::UnknownArgument => (
            ContextKind::InvalidArg,
            &[ContextKind::SuggestedArg, ContextKind::Suggested, ContextKind::TrailingArg],
        ),
        ErrorKind::InvalidValue => return add_values(error, words),
        _ => return error,
    };
    let Some(ContextValue::String(written)) = error.get(kind) else { return error };
    let tip = match kind {
        ContextKind::InvalidSubcommand => command(written, words),
        _ => option(written.split('=').next().unwrap_or(written), words),
    };
    if let Some(tip) = tip {
        for kind in suggests {
            error.remove(*kind);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Adds to an error about a value what each possible one does.
fn add_values(mut error: Error, words: &[OsString]) -> Error {
    let (command, _) = command_of(words);
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let argument = command.get_arguments().find(|argument| argument.to_string() == *wrong);
    let values = argument.map(clap::Arg::get_possible_values).unwrap_or_default();
    let tips = values
        .iter()
        .filter_map(|value| Some(format!("`{}`: {}", value.get_name(), value.get_help()?).into()));
    let tips: Vec<_> = tips.collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// Returns the command that these words name, and its name.
fn command_of(words: &[OsString]) -> (Command, String) {
    let mut at = Arguments::command();
    // An argument can be displayed only then.
    at.build();
    let mut names = Vec::new();
    for word in words.iter().filter_map(|word| word.to_str()) {
        if let Some(below) = at.find_subcommand(word) {
            at = below.clone();
            names.push(word);
        }
    }
    (at, names.join(" "))
}

fn command(written: &str, words: &[OsString]) -> Option<String> {
    if names_file(Path::new(written)) {
        return Some(format!("to run a workflow file, write `retry-workflow run {written}`"));
    }
    let at = words.iter().position(|word| word == written)?;
    let above = words.get(at.checked_sub(1)?)?.to_str()?;
    let above = if ["jobs", "dlq", "items"].contains(&above) { above } else { "" };
    let row =
        COMMANDS.iter().find(|(below, names, _)| *below == above && names.contains(&written))?;
    Some(format!("that is called `retry-workflow {}` here", row.2))
}

fn option(written: &str, words: &[OsString]) -> Option<String> {
    let at = words.iter().position(|word| {
        word.to_str()
            .is_some_and(|word| word == written || word.starts_with(&format!("{written}=")))
    });
    let is_first = at
        .is_some_and(|at| words[1..at].iter().all(|word| word.to_string_lossy().starts_with('-')));
    if is_first
        && ["--verbose", "-v", "--quiet", "-q", "--results", "--max-parallel"].contains(&written)
    {
        return Some(format!("it belongs to a command: write `retry-workflow run FILE {written}`"));
    }
    if ["--state", "--status"].contains(&written) && words.iter().any(|word| word == "dlq") {
        return Some(
            "every dead letter is in the state `dead`: leave it out; for other states, write \
             `retry-workflow items list --state STATE`"
                .to_owned(),
        );
    }
    if ["--retries", "--max-retries"].contains(&written)
        && words.iter().any(|word| word == "explain")
    {
        let value = words[at?].to_str()?.split_once('=').map(|(_, value)| value);
        let value = value.or_else(|| words.get(at? + 1)?.to_str()).unwrap_or_default();
        let attempts = attempts_for(value).unwrap_or_else(|| "N".to_owned());
        return Some(format!(
            "attempts are counted here, the first call included: write `--attempts {attempts}`"
        ));
    }
    if words.iter().any(|word| word == "explain") {
        let key = key_meant(&written.trim_start_matches('-').replace('-', "_"), &KEYS, &[RETRY]);
        let key = key.map(|key| key_of(&key).replace('_', "-"));
        return key.map(|key| format!("that is called `--{key}` here"));
    }
    if ["--job", "--id"].contains(&written) {
        return named_job(&words[1..at?]);
    }
    let (_, here) = OPTIONS.iter().find(|(names, _)| names.contains(&written))?;
    let mut tip = String::from("that is ");
    let _infallible = match here {
        option if option.starts_with("--") => write!(tip, "called `{option}` here"),
        text if text.starts_with('`') => write!(tip, "written as {text}"),
        command => write!(tip, "written as `retry-workflow {command}`"),
    };
    Some(tip)
}

/// The way to name a job in the command that begins with these words.
fn named_job(words: &[OsString]) -> Option<String> {
    let (at, command) = command_of(words);
    if command == "run" {
        return Some("that is called `--job-id ID` here".to_owned());
    }
    let takes_job = at.get_positionals().any(|argument| argument.get_id() == "job");
    takes_job.then(|| format!("that is written as `retry-workflow {command} JOB`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        let words: Vec<OsString> =
            std::iter::once("retry-workflow").chain(line.split(' ')).map(Into::into).collect();
        let error = Arguments::try_parse_from(&words).map(|_| ()).unwrap_err();
        add_tip(error, &words).to_string()
    }

    #[test]
    fn commands_of_other_tools_get_a_tip_with_the_name_here() {
        for (line, tip) in [
            ("start job.yml", "tip: that is called `retry-workflow run FILE` here"),
            ("logs import-1", "`retry-workflow items show JOB ITEM`"),
            ("retry", "`retry-workflow dlq retry JOB`"),
            ("job.yml", "write `retry-workflow run job.yml`"),
            ("jobs delete import-1", "`retry-workflow jobs rm JOB`"),
            ("dlq redrive", "`retry-workflow dlq retry JOB`"),
            ("run job.yml -j 4", "tip: that is called `--max-parallel N` here"),
            ("run job.yml --concurrency=4", "`--max-parallel N`"),
            ("run job.yml --dry-run", "tip: that is written as `retry-workflow check FILE`"),
            ("--verbose run job.yml", "write `retry-workflow run FILE --verbose`"),
            ("resume --job import-1", "`retry-workflow resume JOB`"),
            ("status --job=import-1", "`retry-workflow status JOB`"),
            ("items due --job import-1", "`retry-workflow items due JOB`"),
            ("run job.yml --id import-1", "tip: that is called `--job-id ID` here"),
            (
                "dlq list --state dead",
                "tip: every dead letter is in the state `dead`: leave it out",
            ),
            ("dlq retry --status=dead", "`retry-workflow items list --state STATE`"),
            ("jobs --state x.db", "`--store FILE`"),
            ("explain --retries 5", "write `--attempts 6`"),
            ("explain --max-retries=2", "write `--attempts 3`"),
            ("explain --delay 1s", "tip: that is called `--initial-delay` here"),
            ("explain --max-backof 1s", "tip: that is called `--max-delay` here"),
            ("run job.yml --retries 5", "`retry_config: { attempts: 4 }` in a step"),
        ] {
            let message = message(line);
            assert!(message.contains(tip), "{line}: {message}");
            assert_eq!(message.matches("tip:").count(), 1, "{line}: {message}");
        }
        let values = message("run job.yml --job-id a --if-ended restart");
        assert!(values.contains("tip: `refuse`: exit with code 2"), "{values}");
        assert!(values.contains("tip: `report`: report its result"), "{values}");
        // Unknown words get the usual message.
        assert!(!message("walk").contains("tip:"));
    }

    #[test]
    fn suggested_commands_exist_and_the_foreign_names_do_not() {
        let commands = Arguments::command();
        for (above, names, here) in COMMANDS {
            let below = match *above {
                "" => &commands,
                above => commands.find_subcommand(above).unwrap(),
            };
            for name in *names {
                assert!(below.find_subcommand(name).is_none(), "{above} {name} is ours");
            }
            let words = here.split(' ').filter(|word| word.bytes().all(|b| b.is_ascii_lowercase()));
            words.fold(&commands, |at, word| {
                at.find_subcommand(word).unwrap_or_else(|| panic!("there is no `{here}`"))
            });
        }
    }
}
