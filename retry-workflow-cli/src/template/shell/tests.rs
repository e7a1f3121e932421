//! Values as hostile as they come, in every place of a command, run by the real `sh`.

use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Script, variable};
use crate::template::placeholder::{Offers, Scope};

const HERE: Offers =
    Offers { item: true, map: false, error: false, last: true, captured: &[], label: "this step" };

const HOSTILE: &[&str] = &[
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "' ; touch pwned ; '",
    "\" ; touch pwned ; \"",
    "'\"'\"'; touch pwned #",
    "a\nb\ntouch pwned\n\nc",
    "\\",
    "\\'",
    "trailing\\",
    "*",
    "~",
    "$HOME ${HOME} $1 $$",
    "-rf",
    "--",
    " two  spaces\t",
    "é 🦀 \u{202e}",
    "| & && || > pwned < x",
    "}",
    "${item.id}",
    "a[$(touch pwned)]",
    "%s\\n%d",
    "!!",
    "",
    "\r\n\u{1b}[2J",
];

/// What `sh` writes to stdout, and `bash` where it is there: on some systems that is `sh`.
fn run(text: &str, item: &Value) -> String {
    let output = run_by("sh", text, item);
    if std::path::Path::new("/bin/bash").exists() {
        assert_eq!(run_by("/bin/bash", text, item), output, "{text}");
    }
    output
}

fn run_by(shell: &str, text: &str, item: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::parse(text, HERE).unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
    let scope = Scope { item: Some(Arc::new(item.clone())), ..Scope::default() };
    let mut command = Command::new(shell);
    command.arg("-c").arg(&script.text).current_dir(folder.path());
    for (number, placeholder) in script.values.iter().enumerate() {
        command.env(variable(number), scope.value(placeholder).unwrap());
    }
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{text}: {left:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(text: &str) -> String {
    match Script::parse(text, HERE) {
        Ok(script) => panic!("{text} became {}", script.text),
        Err(mut faults) => faults.remove(0).message,
    }
}

/// Commands that print their arguments, each in `<…>`, and what is around the value.
const PLACES: &[(&str, &str, &str)] = &[
    ("printf '<%s>' ${item}", "<", ">"),
    ("printf '<%s>' \"${item}\"", "<", ">"),
    ("printf '<%s>' '${item}'", "<", ">"),
    ("printf '<%s>' a${item}b", "<a", "b>"),
    ("printf '<%s>' \"a ${item} b\"", "<a ", " b>"),
    ("printf '<%s>' 'a ${item} b'", "<a ", " b>"),
    ("printf '<%s>' --x=${item}", "<--x=", ">"),
    ("printf '<%s>' 'it'\\''s '\"${item}\"", "<it's ", ">"),
    ("printf '%s.' \"$(printf '<%s>' ${item})\"", "<", ">."),
    ("printf '%s.' \"$(printf '<%s>' \"${item}\")\"", "<", ">."),
    ("printf '%s.' \"$(printf '%s' \"$(printf '<%s>' '${item}')\")\"", "<", ">."),
    ("printf '%s.' \"$(case x in x) printf '<%s>' ${item};; esac)\"", "<", ">."),
    ("printf '%s.' \"$(case x in (y) :;; (x) printf '<%s>' ${item};; esac)\"", "<", ">."),
    ("x=${item}; printf '<%s>' \"$x\"", "<", ">"),
    ("x=${item} sh -c 'printf \"<%s>\" \"$x\"'", "<", ">"),
    ("(printf '<%s>' ${item})", "<", ">"),
    ("{ printf '<%s>' ${item}; }", "<", ">"),
    ("if true; then printf '<%s>' ${item}; fi", "<", ">"),
    ("for x in ${item}; do printf '<%s>' \"$x\"; done", "<", ">"),
    ("f() { printf '<%s>' \"$1\" ${item}; }; f 1", "<1><", ">"),
    ("case ${item} in ${item}) printf '<%s>' ${item};; esac", "<", ">"),
    ("case x in\n  y) : ;;\n  x) printf '<%s>' ${item} ;;\nesac", "<", ">"),
    ("# don't \"worry\nprintf '<%s>' ${item} # isn't \"it", "<", ">"),
    ("cat <<EOF\nit's $((1 + 1)) \"\nEOF\nprintf '<%s>' ${item}", "it's 2 \"\n<", ">"),
    ("printf '<%s>' ${HOME:+}${item}", "<", ">"),
    (
        "printf '%s.' \"$(case x in 'esac') :;; \"x\") if :; then printf '<%s>' ${item}; fi;; esac)\"",
        "<",
        ">.",
    ),
    ("printf '<%s>' \"${UNSET_NAME:-}${item}\"", "<", ">"),
    ("printf '%s<%s>' $((1 + (2 * 3))) ${item}", "7<", ">"),
    ("printf '<%s>' \\\n  ${item}", "<", ">"),
    ("sh -c 'printf \"<%s>\" \"$1\"' sh ${item}", "<", ">"),
    ("printf '<%s>' ${item} 2>/dev/null | cat", "<", ">"),
    ("true && printf '<%s>' ${item}", "<", ">"),
    ("printf '<%s>' \"\\${item.id} ${item}\"", "<${item.id} ", ">"),
    ("printf '<%s>' \\$\\{item\\} ${item}", "<${item}><", ">"),
];

#[test]
fn a_value_is_one_argument_and_unchanged_in_every_place() {
    for (text, before, after) in PLACES {
        for value in HOSTILE {
            // A substitution of the shell's takes newlines away at its end, whatever is in it.
            assert_eq!(run(text, &json!(value)), format!("{before}{value}{after}"), "{text}");
        }
    }
}

#[test]
fn every_value_is_an_argument_of_its_own() {
    let item = json!({ "a": "x y", "b": null, "c": [1, "2"] });
    let text = "printf '<%s>' ${item.a} ${item.b} ${item.c} ${item.a}${item.a} ${last.output}";
    assert_eq!(run(text, &item), "<x y><><[1,\"2\"]><x yx y><>");
}

#[test]
fn where_a_value_would_be_code_it_is_refused() {
    for (text, why) in [
        ("${item}", "never a command"),
        ("\"${item}\" x", "never a command"),
        ("true; ${item} x", "never a command"),
        ("true && ! ${item}", "never a command"),
        ("X=1 ${item}", "never a command"),
        ("if true; then ${item}; fi", "never a command"),
        ("x=$(${item})", "never a command"),
        (">/dev/null ${item}", "never a command"),
        ("eval echo ${item}", "`eval` would read"),
        ("trap '${item}' EXIT", "`trap` would read"),
        ("sh -c 'echo ${item}'", "`sh` would read"),
        ("/bin/bash -ec \"echo ${item}\"", "`bash` would read"),
        ("bash -o pipefail -c -x \"echo ${item}\"", "`bash` would read"),
        ("xargs -n1 sh -c 'echo ${item}'", "`sh` would read"),
        ("python3 -c 'print(${item})'", "`python3` would read"),
        ("perl -e'print ${item}'", "`perl` would read"),
        ("su user -c \"echo ${item}\"", "`su` would read"),
        ("node --eval=\"${item}\"", "`node` would read"),
        ("ssh -p 22 host rm ${item}", "on the other side"),
        ("echo `echo ${item}`", "inside backticks"),
        ("echo \"`echo ${item}`\"", "inside backticks"),
        ("cat <<EOF\n${item}\nEOF", "inside a here-document"),
        ("cat <<'EOF'\n${item}\nEOF", "inside a here-document"),
        ("echo $((${item} + 1))", "inside arithmetic"),
        ("((x = ${item}))", "inside arithmetic"),
        ("[[ ${item} -eq 1 ]]", "`[[` would read"),
        ("echo ${X:-${item}}", "inside another"),
        ("echo \"${X:-'a'}\" ${item}", "not certain"),
        ("echo $'it\\'s' ${item}", "not certain"),
        ("x=$(cat <<EOF\n)\nEOF\n) y ${item}", "not certain"),
        ("cat <<EOF\na\\\nEOF\necho ${item}\nEOF", "not certain"),
        ("cat <<EOF 'a\nb'\nEOF\necho ${item}", "not certain"),
        ("echo $(time -p case x in x) echo ${item};; esac)", "not certain"),
        ("echo $(function f { case x in x) :;; esac; }) ${item}", "not certain"),
        ("echo ${item", "has no `}`"),
    ] {
        let message = refused(text);
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn where_another_program_would_run_a_value_it_is_refused() {
    for (text, why) in [
        ("awk 'BEGIN { print \"${item}\" }'", "-v id=${item.id}"),
        ("awk -v x=1 \"/${item}/\" file", "`awk` would read"),
        ("awk -F : -- '${item}'", "`awk` would read"),
        ("gawk -e 'BEGIN { print \"${item}\" }'", "`gawk` would read"),
        ("gawk --source='BEGIN { print \"${item}\" }'", "`gawk` would read"),
        ("mawk -f ${item} file", "`mawk` would read"),
        ("sed 's/a/${item}/'", "`sed` would read"),
        ("sed -n \"${item}p\" file", "`sed` would read"),
        ("sed -i.bak -e \"s/a/${item}/\" file", "`sed` would read"),
        ("sed -i '' \"s/a/${item}/\" file", "`sed` would read"),
        ("sed -ne\"s/a/${item}/\" file", "`sed` would read"),
        ("sed file -e \"s/a/${item}/\"", "`sed` would read"),
        ("sed --expression=\"s/a/${item}/\" file", "`sed` would read"),
        ("timeout 5 ssh host ls ${item}", "on the other side"),
        ("sshpass -p x ssh -Cp 22 host ls ${item}", "on the other side"),
        ("mosh host ${item}", "on the other side"),
        ("rsh host ${item}", "on the other side"),
        ("ssh host \"ls $(basename ${item})\"", "on the other side"),
        ("ssh -o ProxyCommand=\"nc ${item} 22\" host", "an option of `ssh`"),
        ("scp -oProxyCommand=${item} a host:", "an option of `scp`"),
        ("command -p eval ${item}", "`eval` would read"),
        ("time -p eval ${item}", "`eval` would read"),
        ("builtin eval ${item}", "`eval` would read"),
        ("eval \"$(echo ${item})\"", "`eval` would read"),
        ("watch ls ${item}", "`watch` would have"),
        ("sudo watch ls ${item}", "`watch` would have"),
        ("parallel echo ::: ${item}", "`parallel` would have"),
        ("flock f -c \"echo ${item}\"", "without `-c`"),
        ("script -qc \"echo ${item}\" /dev/null", "`script` would read"),
        ("runuser -u me -c \"echo ${item}\"", "`runuser` would read"),
        ("env -S \"echo ${item}\"", "without `-S`"),
        ("nodejs -e \"${item}\"", "`nodejs` would read"),
        ("perl5.36 -e \"${item}\"", "`perl5.36` would read"),
        ("python3.12 -c \"${item}\"", "`python3.12` would read"),
        ("ruby3.1 -e \"${item}\"", "`ruby3.1` would read"),
        ("lua5.4 -e \"${item}\"", "`lua5.4` would read"),
        ("php8.2 -r \"${item}\"", "`php8.2` would read"),
        ("tclsh -c \"${item}\"", "`tclsh` would read"),
        ("expect -c \"${item}\"", "`expect` would read"),
        ("Rscript -e \"${item}\"", "`Rscript` would read"),
        ("deno eval -p \"${item}\"", "`deno` would read"),
        ("bun -e \"${item}\"", "`bun` would read"),
        ("pwsh -c echo ${item}", "`pwsh` would read"),
        ("pwsh -NoProfile -Command \"${item}\"", "`pwsh` would read"),
        ("bash --rcfile /dev/null -c \"echo ${item}\"", "`bash` would read"),
        ("bash -euo pipefail -c \"echo ${item}\"", "`bash` would read"),
        ("bash <<<${item}", "`bash` would read"),
        ("bash <(echo ${item})", "`bash` would read"),
        (". <(echo ${item})", "`.` would read"),
        ("git -c alias.x=!${item} x", "`git` would run"),
        ("git submodule foreach \"echo ${item}\"", "`git` would run"),
        ("./${item} x", "part of a command's name"),
        ("bin/${item}.sh x", "part of a command's name"),
        ("$(echo ${item})", "part of a command's name"),
        ("timeout 5 ${item}", "part of a command's name"),
        ("timeout --signal KILL 5 ./${item}", "part of a command's name"),
        ("env X=1 ${item}", "part of a command's name"),
        ("nice -n 5 ${item}", "part of a command's name"),
        ("find . -exec ${item} {} +", "part of a command's name"),
        ("exec -a x ${item}", "part of a command's name"),
        ("sudo -u me -- ${item}", "part of a command's name"),
        ("env -i -u X ${item}", "part of a command's name"),
        ("xargs -a file ${item}", "part of a command's name"),
        ("2>/dev/null command -- eval ${item}", "`eval` would read"),
        ("'case' x in y; eval ${item}", "`eval` would read"),
        ("bash +o posix -c \"${item}\"", "`bash` would read"),
        ("/usr/bin/time -f %e ssh -l me host ${item}", "on the other side"),
        ("function f { eval ${item}; }", "`eval` would read"),
        ("export ${item}", "the name of a variable"),
        ("printf -v ${item} x", "the name of a variable"),
        ("echo ${item} | sh", "`sh` would read what is piped"),
        ("echo ${item} | tee log | sudo bash -s x", "`bash` would read what is piped"),
        ("echo ${item} |\n  sh -x", "`sh` would read what is piped"),
        ("{ echo a; echo ${item}; } | sh", "`sh` would read what is piped"),
        ("(echo ${item}) | (sh)", "`sh` would read what is piped"),
        ("echo \"$(echo ${item})\" | sh", "`sh` would read what is piped"),
        ("for x in 1; do\n  echo ${item}\ndone | sh", "`sh` would read what is piped"),
        ("if :; then echo ${item}; fi | sh", "`sh` would read what is piped"),
        ("x=$(echo ${item} | sh)", "`sh` would read what is piped"),
        ("echo ${item} | python3 -", "`python3` would read what is piped"),
        ("echo ${item} |& env X=1 sh", "`sh` would read what is piped"),
        ("echo ${item} | timeout 5 sh", "`sh` would read what is piped"),
        ("echo ${item} | bash /dev/stdin", "`bash` would read what is piped"),
        ("echo ${item} | { cat; exec sh; }", "`sh` would read what is piped"),
        ("echo ${item} | perl", "`perl` would read what is piped"),
        ("case x in x) echo ${item};; esac | sh", "`sh` would read what is piped"),
        ("echo ${item} | while :; do sh; done", "`sh` would read what is piped"),
        ("echo ${item} | sh 2>&1 >log", "`sh` would read what is piped"),
        ("echo ${item} | ssh host", "`ssh` would read what is piped"),
        ("echo ${item} | ssh host sh", "`ssh` would read what is piped"),
        ("echo ${item} | xargs -I{} sh -c \"echo {}\"", "`sh` would read what is piped"),
        ("echo ${item} | xargs sh -c", "`sh` would read what is piped"),
        ("echo ${item} | xargs ssh host ls", "`ssh` would read what is piped"),
    ] {
        let message = refused(text);
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn what_only_looks_alike_is_allowed() {
    for text in [
        "ssh -p 22 ${item.host} uptime",
        "echo eval ${item}",
        "grep -c ${item} file",
        "sh ./run.sh -c ${item}",
        "bash -c 'echo \"$1\"' bash ${item}",
        "python3 run.py ${item}",
        "echo '`' ${item} '`'",
        "echo \\` ${item}",
        "echo '<<EOF' ${item}",
        "echo $((1 << 2)) ${item}",
        "echo x >${item}",
        "echo a#b ${item}",
        "awk -v id=${item} '$1 == id' file",
        "awk -v id=${item} -F : -f prog.awk file",
        "awk '{ print $1 }' ${item}",
        "awk -f prog.awk ${item}",
        "sed 's/a/b/' ${item}",
        "sed -n -e p ${item}",
        "sed -i.bak -E 's/a/b/' -- ${item}",
        "timeout 5 ./work.sh ${item}",
        "timeout ${item} ./work.sh",
        "timeout -k ${item} 5 ./work.sh",
        "nice -n 5 nohup ./work.sh ${item} && command -v ${item}",
        "time -p ./work.sh ${item}",
        "env X=${item} ./work.sh ${item}",
        "sudo -u me ./work.sh ${item}",
        "flock file ./work.sh ${item}",
        "xargs -n1 echo ${item}",
        "X=${item} Y=a${item} ./work.sh",
        "export X=${item}",
        "npm run watch ${item}",
        "python3 run.py -c ${item}",
        "node run.js -p ${item}",
        "bash -euo pipefail -c 'echo \"$1\"' bash ${item}",
        "bash --rcfile /dev/null run.sh ${item}",
        "perl -ne 'print' ${item}",
        "git -c user.name=${item} commit -m ${item}",
        "git add -- ${item}",
        "[ $(grep -c ${item} file) -gt 1 ]",
        "x=$(./work.sh ${item})",
        "diff <(echo ${item}) ${item}",
        "find . -name ${item} -exec ls {} +",
        "echo ${item} | cat",
        "echo ${item} | grep -v sh",
        "echo ${item} | sh run.sh",
        "echo ${item} | sh -c 'read -r x; echo \"$x\"'",
        "printf '%s\\n' ${item} | ssh host 'read -r id; ls \"$id\"'",
        "echo ${item} | xargs -n1 sh -c 'echo \"$1\"' sh",
        "echo ${item} | xargs -I{} sh -c 'echo \"$1\"' sh {}",
        "echo ${item} | python3 -m json.tool",
        "echo ${item}; cat run.sh | sh",
        "echo ${item} && cat run.sh | sh",
        "cat run.sh | sh && echo ${item}",
    ] {
        assert!(Script::parse(text, HERE).is_ok(), "{text}: {}", refused(text));
    }
}

#[test]
fn no_text_is_a_panic() {
    let pieces = [
        "${item}",
        "'",
        "\"",
        "`",
        "$(",
        "$((",
        "((",
        ")",
        "))",
        "${",
        "}",
        "\\",
        "\n",
        "<<E\n",
        "E\n",
        " case x in ",
        ";;",
        "esac",
        "#",
        "$'",
        "é",
        " ",
        ">",
        "|",
    ];
    // Every text of three of these, and of four with the same one around it.
    for a in pieces {
        for b in pieces {
            for c in pieces {
                let _ = Script::parse(&format!("{a}{b}{c}"), HERE);
                let _ = Script::parse(&format!("echo {a}{b}{c}{a} ${{item}}"), HERE);
            }
        }
    }
}

/// A `printf` that leaves a file if an argument is part of the value and not all of it.
const WATCHED: &str = r#"printf() {
    for a; do
        case $a in
            *"one * two
 three"*) ;;
            *one*|*two*|*three*) : > split ;;
        esac
    done
}
"#;

/// What the texts are made of.
const PIECES: &[&str] = &[
    "${item}",
    "${item}",
    "'",
    "\"",
    "`",
    "$(",
    "((",
    "$((",
    ")",
    "))",
    "${X:-",
    "${X#",
    "}",
    "\\",
    "\n",
    " <<E\n",
    " <<'E'\n",
    " <<-\\E\n",
    "\nE\n",
    " case x in x) ",
    " ;; ",
    " esac",
    "#",
    "$'",
    "$\"",
    "é",
    " ",
    " ",
    " >o ",
    "|",
    "&&",
    ";",
    "(",
    "{ ",
    " }",
    "x=",
    "printf %s ",
    "printf %s ",
    " if :; then ",
    " fi",
    "[ ",
    " ]",
    "$$",
    "$",
    "f() ",
    " <<<",
    " <(",
    "| sh ",
    "sh -c ",
    "eval ",
    "command ",
    "time -p ",
    "env ",
    "xargs ",
    "awk ",
    "sed -e ",
    "!",
    "${",
    "1",
    "+",
];

#[test]
fn no_text_that_is_accepted_runs_or_splits_a_value() {
    let hostile = json!(
        "' \" ; touch pwned ; ) } ` $(touch pwned) `touch pwned` \nE\ntouch pwned\n a[$(touch pwned)]"
    );
    let count = std::env::var("RETRY_WORKFLOW_FUZZ").ok().and_then(|count| count.parse().ok());
    let folder = tempfile::tempdir().unwrap();
    // Always the same texts, unless there are to be more of them.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    let mut accepted = 0;
    while accepted < count.unwrap_or(100) {
        let mut text = String::from("printf %s ");
        for _ in 0..3 + next(10) {
            text.push_str(PIECES[next(PIECES.len())]);
        }
        let Ok(script) = Script::parse(&text, HERE) else { continue };
        if script.values.is_empty() {
            continue;
        }
        accepted += 1;
        for shell in ["sh", "/bin/bash"]
            .iter()
            .filter(|shell| **shell == "sh" || std::path::Path::new(shell).exists())
        {
            let mut command = Command::new(shell);
            command.arg("-c").arg(&script.text).current_dir(folder.path());
            command.env(variable(0), hostile.as_str().unwrap());
            command.stdin(std::process::Stdio::null());
            // Most of these texts are no commands at all; that is fine.
            let _ = command.output().unwrap();
            assert!(!folder.path().join("pwned").exists(), "{shell}: {text}\n{}", script.text);
            // What a command prints is split where nobody has quoted it.
            if script.text.contains("$(") {
                continue;
            }
            let mut command = Command::new(shell);
            command.arg("-c").arg(format!("{WATCHED}{}", script.text)).current_dir(folder.path());
            command.env(variable(0), "one * two\n three");
            command.stdin(std::process::Stdio::null());
            let _ = command.output().unwrap();
            assert!(!folder.path().join("split").exists(), "{shell}: {text}\n{}", script.text);
        }
    }
}
