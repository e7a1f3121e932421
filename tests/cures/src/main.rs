//! Applies what each message in `tests/ui/fail` proposes (``write `…`, or `…` ``, ``did you mean
//! `…`?``) to its case, and compiles the results, each as a module of one crate. A case is a module of a
//! file, or the whole file if it does not begin with a module.
//!
//! What is proposed for an option replaces the option, or is added to the options if the message is about
//! something else; anything else replaces the tokens that the message points to. Where that is not what the
//! message means, the case says so in its last lines, which begin with the line of the message, counted
//! from the first one of the case (that after `mod … {`):
//!
//! ```text
//! // cured 7: old => new    `{}` is what the message proposes, `{0}` its first piece. Without `old`,
//! //                        it is added as an item.
//! // cured 7: by hand       it is a sentence, or a part of one
//! // remains: text          of another error, which stays
//! ```
//!
//! A message that proposes nothing may remain. The cases in `planted` propose what is wrong, and must fail.

mod case;
mod files;
mod place;
mod proposals;
mod readers;
mod yaml;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use case::Case;

fn main() -> ExitCode {
    if env::var_os(readers::IS_COMMAND).is_some() {
        return retry_workflow_cli::main();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let only = env::args().nth(1);
    let is_right = [("code", in_code as fn(&Path) -> bool), ("files", in_files)]
        .into_iter()
        .filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
        .map(|(_, check)| check(root))
        .fold(true, |all, is_right| all && is_right);
    ExitCode::from(u8::from(!is_right))
}

/// Reads what the messages about files and arguments propose.
fn in_files(root: &Path) -> bool {
    let cases = [
        files::Case::workflows(&root.join("../../jobs/retry-workflow-cli/tests/data/bad")),
        files::Case::blocks(&root.join("../../jobs/retry-workflow-cli/tests/data/mistakes.txt")),
        files::Case::blocks(&root.join("../data/config/mistakes.txt")),
    ];
    let (mut count, mut by_hand, mut wrong) = (0, 0, Vec::new());
    for case in cases.iter().flatten() {
        let outcome = case.outcome();
        count += outcome.count;
        by_hand += outcome.by_hand;
        wrong.extend(outcome.wrong);
    }
    let planted = [
        files::Case::workflows(&root.join("planted")),
        files::Case::blocks(&root.join("planted/mistakes.txt")),
    ];
    let is_found = |case: &&files::Case| !case.outcome().wrong.is_empty();
    let all: Vec<_> = planted.iter().flatten().collect();
    let missed: Vec<_> = all.iter().copied().filter(|case| !is_found(case)).collect();
    for case in &missed {
        println!("{}: is read, but was planted to fail", case.name);
    }
    for message in &wrong {
        println!("{message}\n");
    }
    println!(
        "{count} cures of files and arguments, of which {} fail ({by_hand} more are read by hand); {} \
         planted ones are found",
        wrong.len(),
        all.len() - missed.len()
    );
    wrong.is_empty() && missed.is_empty()
}

/// Compiles what the messages of the macros and of the library propose.
fn in_code(root: &Path) -> bool {
    let folder = env::current_exe().expect("a program").with_file_name("cures");
    fs::create_dir_all(&folder).expect("a folder");

    let (mut modules, mut wrong, mut count) = (BTreeMap::new(), BTreeMap::new(), 0);
    for (from, planted) in [("../ui/fail", false), ("planted", true)] {
        for case in Case::all(&root.join(from)) {
            for (number, cured) in case.cured().into_iter().enumerate() {
                let name = format!("{}_{number}", case.name.replace('-', "_"));
                match cured {
                    Ok((text, cures)) => {
                        fs::write(folder.join(format!("{name}.rs")), text).expect("a module");
                        count += if planted { 0 } else { cures };
                    }
                    Err(message) => drop(wrong.insert(name.clone(), vec![message])),
                }
                modules.insert(name, (case.remaining(), planted));
            }
        }
    }

    // An error may hide those of later phases: they show once its module is left out.
    let mut left: Vec<String> =
        modules.keys().filter(|name| !wrong.contains_key(*name)).cloned().collect();
    loop {
        let errors = check(root, &folder, &left);
        if errors.is_empty() {
            break;
        }
        left.retain(|name| !errors.contains_key(name));
        for (name, mut messages) in errors {
            let Some((remaining, _)) = modules.get(&name) else { panic!("{name}: {messages:#?}") };
            messages
                .retain(|message| !remaining.iter().any(|known| message.contains(known.as_str())));
            if !messages.is_empty() {
                wrong.insert(name, messages);
            }
        }
    }
    let is_planted = |name: &String| modules[name].1;
    let planted = modules.keys().filter(|name| is_planted(name));
    for name in planted.filter(|name| !wrong.contains_key(*name)) {
        println!("{name}: compiles, but was planted to fail");
    }
    let unplanted = wrong.iter().filter(|(name, _)| !is_planted(name)).collect::<Vec<_>>();
    for (name, messages) in &unplanted {
        println!("{name}:\n    {}", messages.join("\n    "));
    }
    let caught = wrong.keys().filter(|name| is_planted(name)).count();
    println!(
        "{count} cures, of which {} modules fail; {caught} planted ones are found",
        unplanted.len()
    );
    unplanted.is_empty() && modules.values().filter(|of| of.1).count() == caught
}

/// Compiles these modules; returns the errors of each.
fn check(root: &Path, folder: &Path, names: &[String]) -> BTreeMap<String, Vec<String>> {
    let modules = names
        .iter()
        .map(|name| format!("#[path = {:?}]\nmod {name};\n", folder.join(format!("{name}.rs"))));
    fs::write(folder.join("modules.rs"), modules.collect::<String>()).expect("the modules");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--locked", "--quiet", "--example", "cured", "--message-format", "short"])
        .current_dir(root)
        .env("CURES", folder)
        .output()
        .expect("cargo runs");
    let output_text = String::from_utf8(output.stderr).expect("text");
    let mut errors = BTreeMap::<String, Vec<String>>::new();
    for line in output_text.lines() {
        let Some((place, message)) = line.split_once(": error") else { continue };
        let file = place.split(".rs:").next().unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or_default();
        // The compiler names a type with or without its path.
        let message = message.replace(&format!("{name}::"), "").replace("retry_runtime::", "");
        errors.entry(name.to_owned()).or_default().push(message);
    }
    assert!(output.status.success() || !errors.is_empty(), "{output_text}");
    errors
}
