//! Tests with hostile values in every place of a command, run by the real `sh`.

mod differential;

use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Script, variable};
use crate::template::available::AvailableValues;
use crate::template::scope::Scope;

const HERE: AvailableValues = AvailableValues {
    item: true,
    map: false,
    error: false,
    last: true,
    captured: &[],
    postpones: false,
    label: "this step",
};

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

/// The stdout of `sh`, which must equal the stdout of `bash` if `bash` exists (on some systems it
/// is `sh`).
fn run(text: &str, item: &Value) -> String {
    let output = run_by("sh", text, item);
    if std::path::Path::new("/bin/bash").exists() {
        assert_eq!(run_by("/bin/bash", text, item), output, "{text}");
    }
    output
}

fn run_by(shell: &str, text: &str, item: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::parse(text, HERE).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
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
        Err(mut errors) => errors.remove(0).message,
    }
}

/// Commands that print their arguments, each in `<…>`, and the expected text around the value.
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
    ("printf '<%s>' ${HOME:+}${item}", "<", ">"),
    (
        "printf '%s.' \"$(case x in 'esac') :;; \"x\") if :; then printf '<%s>' ${item}; fi;; esac)\"",
        "<",
        ">.",
    ),
    ("printf '<%s>' \"${UNSET_NAME:-}${item}\"", "<", ">"),
    ("printf '<%s>' \\\n  ${item}", "<", ">"),
    ("sh -c 'printf \"<%s>\" \"$1\"' sh ${item}", "<", ">"),
    ("printf '<%s>' ${item} 2>/dev/null | cat", "<", ">"),
    ("true && printf '<%s>' ${item}", "<", ">"),
    ("printf '<%s>' \"\\${item.id} ${item}\"", "<${item.id} ", ">"),
    ("printf '<%s>' \\$\\{item\\} ${item}", "<${item}><", ">"),
    ("if [ -n x${item} ] && [ ${item} = ${item} ]; then printf '<%s>' ${item}; fi", "<", ">"),
    ("for x\nin ${item}\ndo printf '<%s>' \"$x\"; done", "<", ">"),
    ("if :; then { :; } else :; fi; printf -- '<%s>' ${item}", "<", ">"),
    ("IFS=x; printf '<%s>' ${item}", "<", ">"),
    ("x=1 y=${item} && { z=$y printf '<%s>' \"$y\"; } 2>&1", "<", ">"),
];

#[test]
fn a_value_is_one_argument_and_unchanged_in_every_place() {
    let check = |places: &[(&str, &str, &str)]| {
        for (text, before, after) in places {
            for value in HOSTILE {
                // A command substitution strips trailing newlines.
                assert_eq!(run(text, &json!(value)), format!("{before}{value}{after}"), "{text}");
            }
        }
    };
    std::thread::scope(|scope| {
        for places in PLACES.chunks(PLACES.len().div_ceil(4)) {
            scope.spawn(|| check(places));
        }
    });
}

#[test]
fn every_value_is_an_argument_of_its_own() {
    let item = json!({ "a": "x y", "b": null, "c": [1, "2"] });
    let text = "printf '<%s>' ${item.a} ${item.b} ${item.c} ${item.a}${item.a} ${last.output}";
    assert_eq!(run(text, &item), "<x y><><[1,\"2\"]><x yx y><>");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list")]
fn a_value_that_a_shell_would_parse_is_refused() {
    for (text, why) in [
        ("${item}", "not a command"),
        ("\"${item}\" x", "not a command"),
        ("true; ${item} x", "not a command"),
        ("true && ! ${item}", "not a command"),
        ("X=1 ${item}", "not a command"),
        ("if true; then ${item}; fi", "not a command"),
        ("if :; then { :; } else ${item}; fi", "not a command"),
        ("for x do ${item}; done", "not a command"),
        ("x=$(${item})", "not a command"),
        (">/dev/null ${item}", "not a command"),
        ("./${item} x", "part of its name"),
        ("bin/${item}.sh x", "part of its name"),
        ("$(echo ${item})", "the output of a command with `${item}` is not allowed here"),
        ("command -p ${item}", "not a command"),
        ("exec ${item}", "not a command"),
        ("exec -a ${item} x", "an option before it is not fixed"),
        ("\"$SHELL\" -c ${item}", "is known only when it runs"),
        ("e=eval; $e ${item}", "is known only when it runs"),
        ("\"$(echo eval)\" ${item}", "is known only when it runs"),
        ("command \"$x\" ${item}", "is known only when it runs"),
        ("set -- eval; \"$@\" ${item}", "is known only when it runs"),
        ("\"${x:-/eval}\" ${item}", "is known only when it runs"),
        ("./$(date +%F).sh \"$(echo ${item})\"", "is known only when it runs"),
        ("$VENV/bin/python ${item}", "as in `\"$VENV/bin/python\" ./work.py"),
        ("/bin/?h -c ${item}", "could become several words"),
        ("{eval,x} ${item}", "could become several words"),
        ("ev?l ${item}", "could become several words"),
        ("x+=1 eval ${item}", "`eval` may parse"),
        ("x[0]=1 eval ${item}", "`eval` may parse"),
        ("x[1 + 2]=1 eval ${item}", "such as `x[1 + 2]=3`"),
        ("x[${item}]=1", "no such assignment"),
        ("x+=${item}", "no such assignment"),
        ("x=(a ${item})", "an array"),
        ("eval echo ${item}", "`eval` may parse"),
        ("\"e\\\nval\" echo ${item}", "`eval` may parse"),
        ("$'eval' echo ${item}", "`$'…'`"),
        ("$\"eval\" echo ${item}", "`eval` may parse"),
        ("x=1 case a in b; eval ${item}", "`eval` may parse"),
        ("eval \"$(echo ${item})\"", "`eval` may parse"),
        ("command -p eval ${item}", "`eval` may parse"),
        ("command -- eval ${item}", "`eval` may parse"),
        ("2>/dev/null command -- eval ${item}", "`eval` may parse"),
        ("builtin eval ${item}", "`eval` may parse"),
        ("time -p eval ${item}", "`eval` may parse"),
        ("'case' x in y; eval ${item}", "`eval` may parse"),
        ("function f { work ${item}; }", "`function`"),
        ("trap '${item}' EXIT", "`trap` may parse"),
        (". ./lib.sh ${item}", "`.` may parse"),
        ("command . <(echo ${item})", "`.` may parse"),
        ("source <(echo ${item})", "`source` may parse"),
        ("let x=${item}", "`let` may parse"),
        ("export X=${item}", "`export` may parse"),
        ("export ${item}", "`export` may parse"),
        ("declare X=$(echo ${item})", "`declare` may parse"),
        ("local x=${item}", "`local` may parse"),
        ("read ${item}", "`read` may parse"),
        ("wait -p ${item}", "`wait` may parse"),
        ("declare -i x; x=${item}", "no value is safe in a script with `declare -i`"),
        ("f() { local -n x=y; }; x=${item}", "no value is safe"),
        ("set -k; printf %s X=${item}", "no value is safe in a script with `set -k`"),
        ("printf x ${item} | read RANDOM", "no value is safe"),
        ("alias p=eval\np ${item}", "with `alias`"),
        ("coproc work ${item}", "`coproc`"),
        ("PATH=${item} x", "more with `PATH`"),
        ("LD_PRELOAD=${item} x", "more with `LD_PRELOAD`"),
        ("RANDOM=${item}", "more with `RANDOM`"),
        ("for OPTIND in ${item}; do :; done", "more with `OPTIND`"),
        ("for ${item} in x; do :; done", "the name of a variable"),
        ("function ${item} { :; }", "`function`"),
        ("[ ${item} ${last.output} ]", "might take it for an operator"),
        ("[ -v ${item} ]", "might take it for an operator"),
        ("[ $(echo ${item}) = x ]", "might take it for an operator"),
        ("[ {-v,${item}} ]", "might take it for an operator"),
        ("test -n ${item} -a x = x", "might take it for an operator"),
        ("[[ ${item} == x ]]", "`[[ … ]]`"),
        ("[[ a && -v ${item} ]]", "`[[ … ]]`"),
        ("[[ 1 -eq $(echo ${item}) ]]", "`[[ … ]]`"),
        ("printf ${item}", "as its format"),
        ("printf -v ${item} x", "begins with an option"),
        ("printf {-v,x} ${item}", "a format that is not fixed"),
        ("printf '%s%n' x ${item}", "`%n`"),
        ("sh -c 'echo ${item}'", "`sh` would read it as code"),
        ("/bin/bash -ec \"echo ${item}\"", "`bash` would read it as code"),
        ("bash -o pipefail -c -x \"echo ${item}\"", "`bash` would read it as code"),
        ("bash +o posix -c \"${item}\"", "`bash` would read it as code"),
        ("timeout 5 bash -c \"echo ${item}\"", "`bash` would read it as code"),
        ("xargs -n1 sh -c 'echo ${item}'", "`sh` would read it as code"),
        ("timeout 5 ${item}", "not a command"),
        ("timeout 5 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("timeout -k 9 --signal=INT 5 ${item}", "not a command"),
        ("timeout -vk9 --signal INT 5 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("/usr/bin/env -i -u X A=1 \"B=$x\" \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("env ${item}", "not a command"),
        ("env -S \"x ${item}\"", "or `env -S`"),
        ("env -S\"x ${item}\"", "or `env -S`"),
        ("env -S 'sh -c' ${item}", "or `env -S`"),
        ("env -ivS'sh -c' ${item}", "or `env -S`"),
        ("env --split-string='sh -c' ${item}", "or `env -S`"),
        ("env --sp='sh -c' ${item}", "or `env -S`"),
        ("/usr/bin/env --split-string 'sh -c' ${item}", "as in `--option=argument`"),
        ("env -a x \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("sudo --prompt x \"$SHELL\" -c ${item}", "as in `--option=argument`"),
        ("sudo --host x \"$SHELL\" -c ${item}", "as in `--option=argument`"),
        ("xargs --max-chars 9 \"$SHELL\" -c ${item}", "as in `--option=argument`"),
        ("xargs --max-chars=9 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("timeout -k $GRACE 9 ./work.sh ${item}", "an option before it is not fixed"),
        ("timeout -k \"$@\" 9 ./work.sh ${item}", "an option before it is not fixed"),
        ("timeout -k\"$GRACE\" 9 ./work.sh ${item}", "an option before it is not fixed"),
        ("timeout \"--$x=9\" 9 ./work.sh ${item}", "an option before it is not fixed"),
        ("sudo -u \"$OWNER\" \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("/usr/local/bin/timeout 9 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("env PATH=${item} ./work.py", "more with `PATH`"),
        ("env \"LD_PRELOAD=${item}\" ./work.py", "more with `LD_PRELOAD`"),
        ("nice -n 5 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("nice -n ${item} ./work.py", "an option before it is not fixed"),
        ("nice -5 $run ${item}", "is known only when it runs"),
        ("nohup \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("find . | xargs -0 -n 1 -I{} \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("sudo -u ada -- \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("sudo -nu ada A=${item} ${last.output}", "not a command"),
        ("doas -u ada \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("time -p \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("/usr/bin/time -f %e \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("exec nohup \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("command timeout 5 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("setsid -w \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("stdbuf -oL -e 0 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("ionice -c 2 -n7 \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("chroot /srv \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("nohup timeout 5 nice env \"$SHELL\" -c ${item}", "is known only when it runs"),
        ("timeout 5 ./$(date +%F).sh ${item}", "is known only when it runs"),
        ("sh ${item} ${last.output}", "write `--` before it"),
        ("sh \"$x\"${item} ${last.output}", "write `--` before it"),
        ("echo `echo ${item}`", "with backticks"),
        ("echo \"`echo ${item}`\"", "with backticks"),
        ("echo $'${item}'", "`$'…'`"),
        ("cat <<EOF\n$(echo ${item})\nEOF", "a here-document"),
        ("cat <<${item}\nEOF", "a here-document"),
        ("echo $((${item} + 1))", "`$((…))`"),
        ("echo $(($(echo ${item}) + 1))", "`$((…))`"),
        ("((x = ${item}))", "`((…))`"),
        ("echo $[${item}]", "`$[…]`"),
        ("echo ${X:-${item}}", "inside another"),
        ("echo ${X:$(echo ${item})}", "inside another"),
        ("echo x >&${item}", "a file descriptor"),
        ("echo x >/dev/${item}", "would open a network connection"),
        ("echo x >/dev/$x${item}", "would open a network connection"),
        ("echo x >$(echo ${item})", "would open a network connection"),
        ("echo x &>y ${item}", "`&>` means different"),
        ("echo \"${X:-'a'}\" ${item}", "quotes inside `${…}`"),
        ("echo $'it\\'s' ${item}", "`$'…'`"),
        ("x=$(cat <<EOF\n)\nEOF\n) y ${item}", "a here-document"),
        ("cat <<EOF\n'${item}'\nEOF", "a here-document"),
        ("cat <<'EOF'\n${item}\nEOF", "a here-document"),
        ("eval $\\\n(echo ${item})", "inside an operator"),
        ("eval \"$\\\n(echo ${item})\"", "inside an operator"),
        ("cat <\\\n<EOF ${item}", "inside an operator"),
        ("echo $(time -p case x in x) echo ${item};; esac)", "a `case` after `time`"),
        ("echo $(function f { case x in x) :;; esac; }) ${item}", "`function`"),
        ("echo ${item", "has no `}`"),
    ] {
        let message = refused(text);
        assert!(message.contains(why), "{text}: {message}");
    }
}

#[test]
fn a_rare_construct_anywhere_refuses_all_placeholders_of_a_script() {
    for (rare, what) in [
        ("cat <<EOF\nit's\nEOF", "a here-document"),
        ("cat <<'EOF'\na\nEOF", "a here-document"),
        ("cat 3<<-\\A <<B\nA\nB", "a here-document"),
        ("((x = 1))", "`((…))`"),
        ("for ((;;)); do :; done", "`((…))`"),
        ("x=$((x + 1))", "`$((…))`"),
        ("x=\"$((x + 1))\"", "`$((…))`"),
        ("[[ -f x && $y = z ]]", "`[[ … ]]`"),
        ("IFS=$'\\n'", "`$'…'`"),
        ("x=`date`", "backticks"),
        ("x=\"`date`\"", "backticks"),
        ("x=(a b)", "an array"),
        ("function f { :; }", "`function`"),
        ("coproc x", "`coproc`"),
        ("alias p=x", "`alias`"),
        ("x=${x:-\"y\"}", "quotes inside `${…}`"),
        ("declare -i x", "`declare -i`"),
        ("f() { (set -k); }", "`set -k`"),
    ] {
        assert!(Script::parse(rare, HERE).is_ok(), "{rare}: {}", refused(rare));
        for text in [
            format!("./a ${{item}} '${{last.output}}'\n{rare}"),
            format!("{rare}\n./a ${{item}} '${{last.output}}'"),
            format!("./a ${{item}}\n({rare}\n)\n./b \"${{last.output}}\""),
        ] {
            let errors = Script::parse(&text, HERE).expect_err(&text);
            let [item, last] = &errors[..] else { panic!("{text}: {errors:?}") };
            assert_eq!((&*item.part, &*last.part), ("${item}", "${last.output}"), "{text}");
            for error in &errors {
                let with = format!("a script with {what}");
                assert!(error.message.contains(&with), "{text}: {}", error.message);
            }
        }
    }
    let message = refused("x=$((x + 1)); ./work.sh ${item.id}");
    assert_eq!(
        message,
        "`${item.id}` is not allowed here: a script with `$((…))` cannot have placeholders: write \
         `env: { ID: \"${item.id}\" }` for the step and `\"$ID\"` in the script, but neither \
         `$((ID))` nor `[[ \"$ID\" -gt 1 ]]`, which would run the value"
    );
    // Whatever is unknown is still unknown there.
    assert!(refused("cat <<EOF\n${itme.id}\nEOF").contains("did you mean `${item.id}`?"));
    assert!(refused("cat <<EOF\n${item\nEOF").contains("has no `}`"));
}

#[test]
fn commands_that_only_resemble_unsafe_ones_are_allowed() {
    for text in [
        "echo eval ${item}",
        "grep -c ${item} file",
        "sh ./run.sh -c ${item}",
        "sh -- ${item}",
        "sh ./${item}.sh",
        "bash -c 'echo \"$1\"' bash ${item}",
        "bash -euo pipefail -c 'echo \"$1\"' bash ${item}",
        "bash --rcfile /dev/null run.sh ${item}",
        "echo '`' ${item} '`'",
        "echo \\` ${item}",
        "echo '<<EOF' ${item} '$((1))' \"((\" \\<\\< a[[ '[[' \"$'\" # ((",
        "sh <<<${item} && echo function \"coproc\" ${item}",
        "echo x >${item}",
        "echo x >> ./out/${item}.txt 2>&1",
        "command -v ${item} >/dev/null && nohup ./work.sh ${item}",
        "echo a#b ${item}",
        "timeout ${item} ./work.sh",
        "time -p ./work.sh ${item}",
        "timeout -k 5 --signal INT 9 nice -n 5 \"$VENV/bin/python\" ./work.py ${item}",
        "sudo --user ada X=1 \"Y=${item}\" ./work.sh ${item}",
        "find . -print0 | xargs -0 -n1 --max-procs 4 -I{} ./work.sh {} ${item}",
        "sudo -u \"$OWNER\" ./work.sh ${item}",
        "sudo --user=\"$OWNER\" --preserve-env=A,B --non-interactive ./work.sh ${item}",
        "timeout -k \"$GRACE\" 60 ./work.sh ${item}",
        "nice -n \"$N\" ./work.sh ${item}; env -C\"/a\" -uS ./work.sh ${item}",
        "find . | xargs --null -P \"$(nproc)\" --max-chars=9 ./work.sh ${item}",
        "./env ${item}; bin/time ${item}; /srv/timeout ${item}",
        "env; env -i; nohup",
        "env X=${item} ./work.sh ${item}",
        "X=${item} Y=a${item} ./work.sh",
        "X=${item}; export X",
        "PATH=/bin:$PATH ./work.sh ${item}",
        "npm run watch ${item}",
        "[ \"$(grep -c ${item} file)\" -gt 1 ]",
        "[ ! -e ${item} ] || [ $x != ${item} ]",
        "x=$(./work.sh ${item})",
        "diff <(echo ${item}) ${item}",
        "while read -r x; do :; done < <(./work.sh ${item})",
        "find . -name ${item} -exec ls {} +",
        "\"$VENV/bin/python\" x ${item}; \"${VENV}\"/bin/python ${item}",
        "\"$(date +%F)/run.sh\" ${item}; \"$SHELL\" -c 'echo a'; $RUN",
        "set -- ${item}; ./work.sh \"$@\"",
        "if a; then\n  case $x in\n    (a|b) ./c ${item} ;;\n  esac\nelse\n  ./d ${item}\nfi",
    ] {
        assert!(Script::parse(text, HERE).is_ok(), "{text}: {}", refused(text));
    }
}

#[test]
fn arguments_of_other_interpreters_are_left_to_the_author() {
    for text in [
        "ssh host ls ${item}",
        "awk \"/${item}/\" file",
        "python3 -c \"${item}\"",
        "echo ${item} | sh",
        "git -c alias.x=!${item} x",
    ] {
        assert!(Script::parse(text, HERE).is_ok(), "{text}: {}", refused(text));
    }
}

#[test]
fn a_redirection_target_cannot_be_a_connection() {
    for (text, value, connects) in [
        ("echo >${item}", "/dev/tcp/localhost/80", true),
        ("echo <>${item}", "/dev/udp/localhost/80", true),
        ("echo >${item}", "/dev/null", false),
        ("echo >${item}", "/dev/tcp", false),
        ("echo >${item}${last.output}", "/dev/tcp", true),
        ("echo >${item}/x", "", true),
        ("echo >\"$x\"${item}", "/dev/tcp/localhost/80", true),
        ("echo ${item}", "/dev/tcp/localhost/80", false),
    ] {
        let script = Script::parse(text, HERE).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(script.connects(0, value), connects, "{text} {value}");
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
    // Every text of three of these pieces, and of four where the first one is repeated at the end.
    for a in pieces {
        for b in pieces {
            for c in pieces {
                let _ = Script::parse(&format!("{a}{b}{c}"), HERE);
                let _ = Script::parse(&format!("echo {a}{b}{c}{a} ${{item}}"), HERE);
            }
        }
    }
}
