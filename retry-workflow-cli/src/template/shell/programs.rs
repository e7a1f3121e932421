//! What is known of programs that run what they are given: where among their words the code
//! stands, and where the name of another program.

/// What is to be read next.
pub(super) enum Next {
    /// Words of the command whose name is the one with this number.
    Argument(usize),
    /// The name of a command.
    Name,
    /// Something of a program that runs another one, before that one's name.
    Own,
}

/// A program that runs the one that its arguments name.
struct Wrapper {
    names: &'static [&'static str],
    /// Its options that take another word.
    letters: &'static str,
    long: &'static [&'static str],
    /// So many words of its own stand before the name.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["command", "builtin", "nohup", "setsid", "busybox", "coproc", "fakeroot"],
        letters: "",
        long: &[],
        operands: 0,
    },
    Wrapper { names: &["exec"], letters: "a", long: &[], operands: 0 },
    Wrapper { names: &["time"], letters: "fo", long: &["--format", "--output"], operands: 0 },
    Wrapper { names: &["nice"], letters: "n", long: &["--adjustment"], operands: 0 },
    Wrapper {
        names: &["timeout", "gtimeout"],
        letters: "ks",
        long: &["--signal", "--kill-after"],
        operands: 1,
    },
    Wrapper {
        names: &["env"],
        letters: "uCSP",
        long: &["--unset", "--chdir", "--split-string", "--argv0"],
        operands: 0,
    },
    Wrapper {
        names: &["stdbuf"],
        letters: "ioe",
        long: &["--input", "--output", "--error"],
        operands: 0,
    },
    Wrapper {
        names: &["ionice"],
        letters: "cnpPu",
        long: &["--class", "--classdata"],
        operands: 0,
    },
    Wrapper {
        names: &["sudo", "doas"],
        letters: "ugpChTrtRDUa",
        long: &["--user", "--group", "--prompt", "--host", "--chdir", "--chroot", "--role"],
        operands: 0,
    },
    Wrapper {
        names: &["xargs"],
        letters: "aEILnPsdJRS",
        long: &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--process-slot-var",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["flock"],
        letters: "wE",
        long: &["--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
    },
    Wrapper {
        names: &["chroot", "gosu", "su-exec", "taskset"],
        letters: "",
        long: &[],
        operands: 1,
    },
];

/// What comes after these words.
pub(super) fn next(words: &[String], so_far: &str) -> Next {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = basename(word);
        let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else {
            return Next::Argument(at);
        };
        at += 1;
        let mut operands = wrapper.operands;
        loop {
            let Some(word) = words.get(at) else {
                let own = operands > 0
                    || so_far.starts_with('-')
                    || is_assignment(so_far) && ["env", "sudo", "doas"].contains(&name);
                return if own { Next::Own } else { Next::Name };
            };
            // It only prints what would be run.
            let prints = !word.starts_with("--") && word.contains(['v', 'V']);
            if name == "command" && word.starts_with('-') && prints {
                return Next::Own;
            }
            at += 1;
            if word.starts_with('-') {
                if takes_word(word, wrapper.letters, wrapper.long) {
                    if at == words.len() {
                        return Next::Own;
                    }
                    at += 1;
                }
            } else if is_assignment(word) && name != "xargs" {
            } else if operands > 0 {
                operands -= 1;
            } else {
                at -= 1;
                break;
            }
        }
    }
    Next::Name
}

/// Whether the word after this option is the option's.
fn takes_word(word: &str, letters: &str, long: &[&str]) -> bool {
    if word.starts_with("--") {
        // Long options may be cut short.
        return word.len() > 2 && long.iter().any(|long| long.starts_with(word));
    }
    let Some(cluster) = word.strip_prefix('-') else { return false };
    cluster.find(|c| letters.contains(c)).is_some_and(|at| at + 1 == cluster.len())
}

/// The program among these words that takes the next one, which begins with `so_far`, as
/// code: `sh -c`.
pub(super) fn interpreter<'a>(words: &'a [String], so_far: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(index, word)| {
        let name = basename(word);
        let rest = &words[index + 1..];
        let is_code = match name {
            _ if is_shell(name) => shell_code(rest, so_far),
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => {
                program_word(rest, so_far, "Fvil", "feE", &["--file", "--source", "--exec"])
            }
            "sed" | "gsed" => program_word(rest, so_far, "l", "ef", &["--expression", "--file"]),
            "deno" => rest
                .iter()
                .position(|word| word == "eval")
                .is_some_and(|at| rest[at + 1..].iter().all(|word| word.starts_with('-'))),
            // All that comes after it is put together, and read.
            "pwsh" | "powershell" => rest.iter().map(String::as_str).chain([so_far]).any(|word| {
                let word = word.to_ascii_lowercase();
                word.starts_with("-c") || word.starts_with("-e") && !word.starts_with("-ex")
            }),
            _ => {
                let letters = code_letters(name)?;
                // What comes after the name of a script is the script's.
                let script = rest.first().is_some_and(|word| !word.starts_with('-'));
                if script && is_interpreter(name) {
                    return None;
                }
                is_flag(so_far, letters) || rest.last().is_some_and(|word| is_flag(word, letters))
            }
        };
        is_code.then_some(name)
    })
}

/// Options of other programs that take code.
fn code_letters(name: &str) -> Option<&'static [char]> {
    // `perl5.36` is perl.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    Some(match stem {
        "su" | "runuser" | "script" | "flock" | "expect" | "tclsh" | "wish" | "guile" | "pypy"
        | "micropython" => &['c'],
        "env" => &['S'],
        "perl" => &['e', 'E', 'M', 'm'],
        "ruby" | "jruby" | "node" | "nodejs" | "bun" | "lua" | "luajit" => &['e', 'E', 'p'],
        "Rscript" | "R" | "osascript" | "groovy" | "scala" | "elixir" | "julia" | "raku"
        | "rsync" => &['e'],
        "php" | "php-cgi" => &['r', 'B', 'R', 'E'],
        _ if stem.starts_with("python") || stem.starts_with("ipython") => &['c'],
        _ => return None,
    })
}

fn is_flag(word: &str, letters: &[char]) -> bool {
    const LONG: [&str; 8] = [
        "--eval",
        "--print",
        "--command",
        "--session-command",
        "--split-string",
        "--run",
        "--rsh",
        "--init-command",
    ];

    match word.strip_prefix("--") {
        Some(_) => LONG.iter().any(|flag| word.starts_with(flag)),
        None => word.starts_with('-') && word.contains(letters),
    }
}

pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "bash"
            | "rbash"
            | "dash"
            | "ash"
            | "ksh"
            | "ksh93"
            | "mksh"
            | "zsh"
            | "fish"
            | "csh"
            | "tcsh"
    )
}

/// What a shell does after these words.
enum ShellTakes {
    Code,
    /// Options, and after the last one a file.
    Script,
    /// It has its code already.
    Arguments,
    Stdin,
}

fn shell_takes(rest: &[String]) -> ShellTakes {
    const LONG: [&str; 4] = ["--rcfile", "--init-file", "--emulate", "--debug-output"];

    let (mut code, mut stdin) = (false, false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            code |= is_flag(word, &['c']);
            if LONG.contains(&word.as_str()) {
                words.next();
            }
        } else if word.starts_with(['-', '+']) && word.len() > 1 {
            code |= word.starts_with('-') && word.contains(['c', 'C']);
            stdin |= word.starts_with('-') && word.contains('s');
            // Each takes a word: `-euo pipefail`.
            for _ in word.matches(['o', 'O']) {
                words.next();
            }
        } else if stdin && !code || word == "-" || word == "/dev/stdin" {
            return ShellTakes::Stdin;
        } else {
            return ShellTakes::Arguments;
        }
    }
    match (code, stdin) {
        // Its code is the first word that is no option.
        (true, _) => ShellTakes::Code,
        (false, true) => ShellTakes::Stdin,
        (false, false) => ShellTakes::Script,
    }
}

fn shell_code(rest: &[String], so_far: &str) -> bool {
    match shell_takes(rest) {
        ShellTakes::Code => true,
        ShellTakes::Script => is_flag(so_far, &['c']),
        ShellTakes::Arguments | ShellTakes::Stdin => false,
    }
}

/// Whether the next word is the program of `awk` or `sed`: the first one that is no option,
/// unless an option has it.
fn program_word(
    rest: &[String],
    so_far: &str,
    with_word: &str,
    with_code: &str,
    long: &[&str],
) -> bool {
    let letter = |word: &str| {
        let cluster = word.strip_prefix('-')?;
        // What follows `-i` is a part of a file's name.
        let at = cluster.find(|c| with_word.contains(c) || with_code.contains(c) || c == 'i')?;
        let letter = cluster[at..].chars().next()?;
        Some((letter, at + letter.len_utf8() == cluster.len()))
    };
    let long_code = |word: &str| {
        word.len() > 2 && long.iter().any(|long| long.starts_with(word) || word.starts_with(long))
    };
    let mut given = false;
    let mut words = rest.iter().filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        if word == "--" || !word.starts_with('-') || word == "-" {
            if word == "--" && words.peek().is_none() {
                return !given;
            }
            // `sed` takes options after files, too.
            if word != "--" {
                given = true;
            }
            continue;
        }
        if word.starts_with("--") {
            if long_code(word) {
                if !word.contains('=') && words.next().is_none() {
                    return true;
                }
                given = true;
            } else if (word == "--assign" || word == "--field-separator") && words.next().is_none()
            {
                return false;
            }
            continue;
        }
        match letter(word) {
            Some((letter, last)) if with_code.contains(letter) => {
                if last && words.next().is_none() {
                    return true;
                }
                given = true;
            }
            Some((letter, true)) if with_word.contains(letter) && words.next().is_none() => {
                return false;
            }
            _ => {}
        }
    }
    if so_far.starts_with("--") {
        return long_code(so_far);
    }
    if so_far.starts_with('-') && so_far.len() > 1 {
        return letter(so_far).is_some_and(|(letter, _)| with_code.contains(letter));
    }
    !given
}

/// How the next word gets to the other side.
pub(super) enum Remote {
    Command,
    /// `-o`, which can name a command.
    Option,
}

/// The program among these words that sends the next one to another machine, as code.
pub(super) fn remote<'a>(words: &'a [String], so_far: &str) -> Option<(&'a str, Remote)> {
    words.iter().enumerate().find_map(|(index, word)| {
        let name = basename(word);
        let copies = matches!(name, "scp" | "sftp");
        if !copies && !is_remote(name) {
            return None;
        }
        let rest = &words[index + 1..];
        let host = after_options(rest);
        if host.is_none_or(|at| at >= rest.len())
            && (so_far.starts_with("-o") || rest.last().is_some_and(|word| word == "-o"))
        {
            return Some((name, Remote::Option));
        }
        (!copies && host.is_some()).then_some((name, Remote::Command))
    })
}

fn is_remote(name: &str) -> bool {
    matches!(name, "ssh" | "rsh" | "remsh" | "slogin" | "autossh" | "mosh" | "dbclient")
}

/// The first of these words of `ssh` that is no option.
fn after_options(rest: &[String]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        if !word.starts_with('-') {
            return Some(at);
        }
        at += if takes_word(word, "BbcDEeFIiJLlmOopQRSWw", &[]) { 2 } else { 1 };
    }
    None
}

/// The program of this command that would read what is piped into it as code.
pub(super) fn reads_code(words: &[String]) -> Option<&str> {
    if let Some(at) = words.iter().position(|word| basename(word) == "xargs") {
        return xargs_code(&words[at..]);
    }
    let Next::Argument(at) = next(words, "") else { return None };
    let (name, rest) = (basename(&words[at]), &words[at + 1..]);
    let reads = if is_shell(name) {
        matches!(shell_takes(rest), ShellTakes::Script | ShellTakes::Stdin)
    } else if is_remote(name) {
        // Without a command, it is the shell of the other side.
        after_options(rest).is_some_and(|at| {
            let command = &rest[at + 1..];
            command.is_empty() || reads_code(command).is_some()
        })
    } else if name == "su" || name == "runuser" {
        !rest.iter().any(|word| is_flag(word, &['c', 'u']))
    } else if matches!(name, "at" | "batch" | "parallel") {
        true
    } else if name == "." || name == "source" {
        rest.first().is_some_and(|word| word == "/dev/stdin")
    } else {
        let letters = code_letters(name).filter(|_| is_interpreter(name));
        letters.is_some_and(|letters| {
            !rest.iter().any(|word| is_flag(word, letters) || word.starts_with("--version"))
                && rest.iter().all(|word| word.starts_with('-') || word == "/dev/stdin")
        })
    };
    reads.then_some(name)
}

/// Whether it reads its code from a file, or from stdin, where it has no option with code.
fn is_interpreter(name: &str) -> bool {
    !matches!(name, "env" | "script" | "flock" | "rsync" | "su" | "runuser")
}

/// What `xargs` reads becomes words at the end, or what stands for it in others.
fn xargs_code(words: &[String]) -> Option<&str> {
    let mut stands_for_it = None;
    for (at, word) in words.iter().enumerate() {
        let replaced = match word.as_str() {
            "-I" | "-J" => words.get(at + 1).map(String::as_str),
            "-i" | "--replace" => Some("{}"),
            _ => ["-I", "-J", "-i", "--replace="].iter().find_map(|flag| word.strip_prefix(flag)),
        };
        stands_for_it = stands_for_it.or(replaced);
        if interpreter(&words[..at], word)
            .is_some_and(|_| stands_for_it.is_some_and(|part| word.contains(part)))
        {
            return interpreter(&words[..at], word);
        }
    }
    if let Some(part) = stands_for_it {
        let first = words.iter().position(|word| word.contains(part))?;
        let after = words[first + 1..].iter().position(|word| word.contains(part));
        let until = after.map_or(words.len(), |at| first + 1 + at);
        // The one word is where it is named.
        return remote(&words[..until], "").filter(|_| until < words.len()).map(|(name, _)| name);
    }
    interpreter(words, "").or_else(|| remote(words, "").map(|(name, _)| name))
}

pub(super) fn basename(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// `name=…`, which comes before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
