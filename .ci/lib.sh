# The mechanism of `.ci/run`: steps, their times, and what is skipped.
# shellcheck shell=bash

# The published crates, each with its folder. The step `pack` compares them with what cargo packs.
declare -A folder_of=()
crates=()
for manifest in retry-*/Cargo.toml jobs/retry-*/Cargo.toml; do
    folder=${manifest%/Cargo.toml}
    crates+=("${folder##*/}")
    folder_of[${folder##*/}]=$folder
done

# A step: its name, the names of what it needs (see needs.sh), and one line about it. Its function is
# `step_NAME`, with `_` for `-`, and runs in a shell of its own with `set -e`.
steps=()
declare -A needs_of=() about=()
declare_step() {
    steps+=("$1")
    needs_of[$1]=$2
    about[$1]=$3
}

list_steps() {
    local name
    for name in "${steps[@]}"; do
        printf '%-14s %s\n' "$name" "${about[$name]}"
        [ -z "${needs_of[$name]}" ] || printf '%-14s needs %s\n' '' "${needs_of[$name]}"
    done
}

# Every declared step is in the whole run, or by hand.
every_step_is_in() {
    local name
    for name in "${steps[@]}"; do
        [[ " $* " = *" $name "* ]] || refuse "the step \`$name\` is in no lane of .ci/run"
    done
}

# Runs a command of a step, prints it, and notes its time.
cmd() {
    local from=$SECONDS
    printf '\n=== %s\n' "$*"
    "$@" || return
    printf '%6d s  %s\n' $((SECONDS - from)) "$*" >>"$notes/took"
}

# Runs a command that README.md or CONTRIBUTING.md shows: their readers run it too.
documented_cmd() {
    grep -qE "^$* *(#.*)?$" README.md CONTRIBUTING.md ||
        refuse "neither README.md nor CONTRIBUTING.md shows \`$*\`, which .ci/run runs for them"
    cmd "$@" </dev/null
}

skip() {
    printf '\n=== skipped: %s\n' "$*"
    printf '  %s\n' "$*" >>"$notes/skipped"
}

# Runs steps one after the other, and ends this lane with the first failure of either lane.
#
# The function of a step must not run under `||`, `&&` or `if`: there, bash ignores `set -e`.
run_steps() {
    local name status
    for name in "$@"; do
        if [ -e "$notes/left-out-$name" ]; then
            continue
        elif [ -s "$notes/failed" ]; then
            [ ! -e "$notes/other" ] || cat "$notes/other"
            refuse "stopped before \`$name\`: the step \`$(cat "$notes/failed")\` has failed"
        fi
        set +e
        (set -e && "step_${name//-/_}")
        status=$?
        set -e
        if [ "$status" != 0 ]; then
            printf '%s\n' "$name" >"$notes/failed"
            printf '\nfailed: %s (again: .ci/run %s)\n' "$name" "$name" >&2
            exit 1
        fi
    done
}

# Runs the rooms with these numbers that the other lane has not taken.
run_rooms() {
    local room
    for room in "$@"; do
        if mkdir "$notes/room-$room" 2>"$notes/taken"; then
            # shellcheck disable=SC2086 # a list of steps
            run_steps ${rooms[$room]}
        elif [ ! -d "$notes/room-$room" ]; then
            refuse "cannot take a room: $(cat "$notes/taken")"
        fi
    done
}

summary() {
    local slow
    slow=$(awk '$1 >= 5' "$notes/took" | sort -rn)
    [ -z "$slow" ] || printf '\nwhat took 5 s and more:\n%s\n' "$slow"
    printf '\n%6d s in all\n' "$SECONDS"
    if [ -s "$notes/skipped" ]; then
        printf '\nall that ran has passed, but this was skipped:\n'
        cat "$notes/skipped"
    else
        printf '\nall passed, and nothing was skipped\n'
    fi
}
