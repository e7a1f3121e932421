//! Tests of which arguments are accepted and which are rejected.

use clap::CommandFactory as _;

use super::*;

fn parsed(line: &str) -> Command {
    let words = std::iter::once("retry-workflow").chain(line.split(' '));
    Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}")).command
}

fn refused(line: &str) -> String {
    let words = std::iter::once("retry-workflow").chain(line.split(' '));
    Arguments::try_parse_from(words).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn the_definition_is_sound_and_every_command_has_an_example() {
    fn walk(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("retry-workflow "), "{}", command.get_name());
        command.get_subcommands().filter(|one| one.get_name() != "help").for_each(walk);
    }
    Arguments::command().debug_assert();
    walk(&Arguments::command());
}

#[test]
fn jobs_are_run_resumed_and_looked_at() {
    let Command::Run { file, begin, how } = parsed("run job.yml --max-parallel 8 -q") else {
        panic!()
    };
    assert!(!begin.continues && begin.if_running == IfRunning::Refuse);
    assert_eq!(file, PathBuf::from("job.yml"));
    assert_eq!((how.max_parallel, how.quiet, how.no_progress), (Some(8), true, false));
    let Command::Resume { job, .. } = parsed("resume") else { panic!() };
    assert_eq!(job, None);
    let Command::Resume { job, how, .. } = parsed("resume orders-1 --no-progress") else {
        panic!()
    };
    assert_eq!((job.as_deref(), how.no_progress), (Some("orders-1"), true));
    assert!(matches!(parsed("jobs"), Command::Jobs { what: None }));
    assert!(matches!(parsed("status orders-1"), Command::Status { job: Some(_), watch: false }));
    let Command::Check { files, .. } = parsed("check a.yml b.yml") else { panic!() };
    assert_eq!(files.len(), 2);
    assert_eq!(how.lease, Duration::from_secs(30));
    assert!(refused("run job.yml --lease 99ms").contains("100ms or more"));
    assert!(refused("run job.yml --lease 5").contains("5s"));
    assert!(refused("run job.yml --max-parallel 0").contains("write a whole number, 1 or more"));
    assert!(refused("check").contains("<FILE>..."));
}

#[test]
fn global_options_stand_anywhere() {
    for line in ["--json --store x.db jobs", "jobs --json --store x.db"] {
        let words = std::iter::once("retry-workflow").chain(line.split(' '));
        let arguments = Arguments::try_parse_from(words).unwrap();
        assert!(arguments.json && arguments.store == Some("x.db".into()));
    }
}

#[test]
fn dead_letters_are_meant_by_conditions() {
    let line = "dlq list orders --signature 3f9a --class timeout --since 2026-11-21 \
                --until 2026-11-22 --item a --item b --item c --limit 5 --after 7";
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Command::Dlq(Dlq::List { which, page }) = parsed(&line) else { panic!() };
    assert_eq!((page.limit, page.after), (5, Some(Cursor(7))));
    assert_eq!(which.job.as_deref(), Some("orders"));
    assert_eq!(which.items, ["a", "b", "c"]);
    assert!(which.since < which.until);
    let Command::Dlq(Dlq::List { which, .. }) = parsed("dlq list --since 2h --until 30m") else {
        panic!()
    };
    let between = which.until.unwrap().since(which.since.unwrap());
    assert!(between.abs_diff(Duration::from_secs(90 * 60)) < Duration::from_secs(10));
    assert!(refused("dlq list --since 2x").contains("2h ago"));
    assert!(refused("dlq list --since yesterday").contains("2h ago"));
    assert!(refused("dlq list --after x").contains("is not a cursor"));
}

#[test]
fn an_item_is_shown_with_its_job_or_without() {
    let Command::Dlq(Dlq::Show(ShowArguments { job, item, .. })) = parsed("dlq show orders 17")
    else {
        panic!()
    };
    assert_eq!((job.as_deref(), item.as_str()), (Some("orders"), "17"));
    let Command::Dlq(Dlq::Show(ShowArguments { job, item, .. })) = parsed("dlq show 17") else {
        panic!()
    };
    assert_eq!((job, item.as_str()), (None, "17"));
}

#[test]
fn dead_letters_are_redriven_purged_and_carried() {
    let line = "dlq retry orders --rate 10/s --max 5 --dry-run --later --max-parallel 2";
    let Command::Dlq(Dlq::Retry { redrive, how, .. }) = parsed(line) else { panic!() };
    assert_eq!(how.rate.map(|rate| rate.to_string()).as_deref(), Some("10/s"));
    assert_eq!((redrive.max, how.max_parallel), (Some(5), Some(2)));
    assert!(redrive.dry_run && redrive.later && !redrive.all);
    assert!(refused("dlq retry --all --rate fast").contains("10/s"));
    let purge = parsed("dlq purge --all --yes --dry-run");
    assert!(matches!(purge, Command::Dlq(Dlq::Purge { all: true, yes: true, dry_run: true, .. })));
    let export = parsed("dlq export orders -o x.jsonl");
    assert!(matches!(export, Command::Dlq(Dlq::Export { output: Some(_), .. })));
    let import = parsed("dlq import - --job there");
    assert!(matches!(import, Command::Dlq(Dlq::Import { job: Some(_), .. })));
}

#[test]
fn a_policy_to_explain_is_settings_or_a_file() {
    let Command::Explain(explain) = parsed("explain --attempts 5 --jitter --backoff fixed") else {
        panic!()
    };
    assert_eq!(explain.jitter.as_deref(), Some("true"));
    assert_eq!(explain.backoff.as_deref(), Some("fixed"));
    let Command::Explain(explain) = parsed("explain job.yml") else { panic!() };
    assert_eq!(explain.file, Some(PathBuf::from("job.yml")));
    assert!(refused("explain job.yml --attempts 5").contains("cannot be used with"));
    assert!(refused("explain --curves --attempts 5").contains("cannot be used with"));
}
