# What steps need beside the pinned toolchain and a C compiler.
# shellcheck shell=bash

# A need: its name, the variable that forbids its tests to skip themselves (a need without one is needed
# by the whole step), the check that it is there, and the command that installs it.
declare -A variable_of=() check_of=() install_of=()
need() {
    variable_of[$1]=$2
    check_of[$1]=$3
    install_of[$1]=$4
}

# Debian installs some programs into folders that are not on everybody's path. They are looked up each
# time: an installation makes new ones.
has() {
    local program folder found
    local more_folders=(/usr/sbin /usr/lib/postgresql/*/bin /usr/lib*/faketime /usr/lib/*/faketime)
    for program in "$@"; do
        found=$(command -v "$program") || found=
        for folder in "${more_folders[@]}"; do
            [ -n "$found" ] || [ ! -e "$folder/$program" ] || found=$folder
        done
        [ -n "$found" ] || return 1
    done
}
# A server of the developer's own replaces an installed Postgres.
has_postgres() {
    [ -n "${RETRY_TEST_POSTGRES:-}" ] || has initdb
}
has_chromium() {
    [ -n "${RETRY_TEST_CHROMIUM:-}" ] || has chromium
}
# rustup would install a missing toolchain without being asked.
has_rust() {
    RUSTUP_AUTO_INSTALL=0 cargo "+$1" --version >"$notes/has" 2>&1
}
has_wasm() {
    has node chromedriver chromium && rustup target list --installed >"$notes/has" 2>&1 &&
        grep -qx wasm32-unknown-unknown "$notes/has"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}
# No server is to be started while it is installed: a policy forbids it meanwhile.
apt_install() {
    local policy=/usr/sbin/policy-rc.d ours='' status=0
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$notes/policy"
        as_root install -m 755 "$notes/policy" "$policy" || return
        ours=1
    fi
    [ -e "$notes/updated" ] || as_root apt-get update -qq || status=$?
    touch "$notes/updated"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" || status=$?
    [ -z "$ours" ] || as_root rm -f "$policy"
    return "$status"
}
install_wasm() {
    apt_install nodejs chromium chromium-driver && rustup target add wasm32-unknown-unknown
}
# Into the target folder, not into the developer's home.
install_tool() {
    CARGO_TARGET_DIR=target/tools cargo install --quiet --root target/tools "$@"
}

need postgres RETRY_TEST_REQUIRE_POSTGRES has_postgres "apt_install postgresql"
need pgbouncer RETRY_TEST_REQUIRE_PGBOUNCER "has pgbouncer" "apt_install pgbouncer"
need curl RETRY_TEST_REQUIRE_CURL "has curl" "apt_install curl"
# libfaketime sets the wall clock while jobs run; it is for Linux.
need faketime RETRY_TEST_REQUIRE_FAKETIME "has libfaketimeMT.so.1" "apt_install faketime"
[ "$(uname)" = Linux ] || need faketime "" true true
need promtool RETRY_TEST_REQUIRE_PROMTOOL "has promtool prometheus" "apt_install prometheus"
need chromium RETRY_TEST_REQUIRE_BROWSER has_chromium "apt_install chromium"
need servers RETRY_TEST_REQUIRE_CLIENTS \
    "has initdb redis-server mariadbd nats-server mosquitto rabbitmq-server memcached" \
    "apt_install postgresql redis-server mariadb-server nats-server mosquitto rabbitmq-server memcached"
need wasm "" has_wasm install_wasm
need shellcheck "" "has shellcheck" "apt_install shellcheck"
need nightly "" "has_rust nightly" "rustup toolchain install nightly --profile minimal"
need cargo-deny "" "has cargo-deny" "install_tool cargo-deny"
need cargo-semver-checks "" "has cargo-semver-checks" "install_tool --locked cargo-semver-checks"
need cargo-fuzz "" "has cargo-fuzz" "install_tool cargo-fuzz"

is_there() {
    local words
    read -ra words <<<"${check_of[$1]}"
    "${words[@]}"
}

# How a person installs it.
installed_by() {
    case "${install_of[$1]}" in
    "apt_install "*) printf 'apt-get install %s' "${install_of[$1]#* }" ;;
    "install_tool "*) printf 'cargo install %s' "${install_of[$1]#* }" ;;
    install_wasm) printf 'apt-get install nodejs chromium chromium-driver; rustup target add wasm32-unknown-unknown' ;;
    *) printf '%s' "${install_of[$1]}" ;;
    esac
}

# Looks at everything that these steps need before any of them runs. What is missing is installed, if that
# is asked for; what is then still missing is an error, unless skips are allowed.
check_needs() {
    local name need words missing=() users
    declare -A used_by=()
    # With the first command, rustup installs the pinned toolchain, to which targets are added.
    cargo --version >"$notes/has"
    for name in "$@"; do
        for need in ${needs_of[$name]}; do
            [ -n "${check_of[$need]:-}" ] || refuse "the step \`$name\` needs \`$need\`, which needs.sh does not have"
            used_by[$need]+=" $name"
        done
    done
    for need in "${!used_by[@]}"; do
        if ! is_there "$need" && [ -n "$install" ]; then
            printf '\n=== installing: %s\n' "$need"
            read -ra words <<<"${install_of[$need]}"
            "${words[@]}" || printf 'not installed: %s\n' "$need" >&2
        fi
        if ! is_there "$need"; then
            missing+=("$need")
        elif [ -n "${variable_of[$need]}" ]; then
            export "${variable_of[$need]}=1"
        fi
    done
    for need in ${missing[@]+"${missing[@]}"}; do
        users=${used_by[$need]# }
        if [ -z "$allow_skips" ]; then
            printf 'missing: %s, for: %s\n    %s\n' "$need" "$users" "$(installed_by "$need")" >&2
        elif [ -n "${variable_of[$need]}" ]; then
            unset "${variable_of[$need]}"
            skip "tests of: $users, that need $need ($(installed_by "$need"))"
        else
            for name in $users; do
                touch "$notes/left-out-$name"
                skip "$name needs $need ($(installed_by "$need"))"
            done
        fi
    done
    if [ -z "$allow_skips" ] && [ ${#missing[@]} -gt 0 ]; then
        refuse "nothing was run: install these, or write --install, or --allow-skips"
    fi
}
