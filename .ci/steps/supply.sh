# Dependencies, hostile input, the image, and these scripts.
# shellcheck shell=bash

declare_step deny "cargo-deny" "cargo-deny: licences, sources, duplicates, advisories"
# `test` checks licences and sources as well.
step_deny() {
    cmd cargo deny check licenses bans sources
    # The database is on another server, which cannot be installed: what is missing then is said.
    if cmd cargo deny fetch db; then
        cmd cargo deny check advisories
    else
        skip "cargo deny check advisories (their database cannot be reached)"
    fi
}

# The newest tag of a release up to this commit; nothing before the first one.
last_release() {
    git tag --merged HEAD --list 'v[0-9]*' --sort=-version:refname | sed -n 1p
}
declare_step semver "$(if [ -n "$(last_release 2>"$notes/has")" ]; then echo cargo-semver-checks; fi)" \
    "cargo-semver-checks: the public API since the last release"
step_semver() {
    local tag
    tag=$(last_release)
    if [ -n "$tag" ]; then
        cmd cargo semver-checks --workspace --baseline-rev "$tag"
    else
        skip "cargo semver-checks (no tag such as v0.1.0 was found: there is no release to compare with)"
    fi
}

declare_step fuzz "nightly cargo-fuzz" "some seconds of fuzzing, from the inputs that are kept"
# `test` runs the kept inputs. New ones go into the target folder, failures into fuzz/artifacts.
step_fuzz() {
    local target
    # A macro leaks lists of delays on purpose: its process is short-lived.
    export ASAN_OPTIONS=detect_leaks=0
    for target in attribute file workflow; do
        mkdir -p "target/fuzz-corpus/$target"
        cmd cargo +nightly fuzz run "$target" "target/fuzz-corpus/$target" "fuzz/corpus/$target" \
            -- -max_total_time=20 -max_len=1024
    done
}

declare_step image "" "the Dockerfile: built and run if docker works here, and linted if hadolint is here"
# `tests/tests/project/distribution.rs` checks it everywhere.
step_image() {
    if command -v hadolint >"$notes/has"; then
        cmd hadolint Dockerfile
    fi
    if docker info >"$notes/has" 2>&1; then
        cmd docker build --tag retry-workflow:ci .
        cmd docker run --rm retry-workflow:ci --version
        cmd docker run --rm --volume "$PWD/examples/jobs/import:/work:ro" retry-workflow:ci check import.yml
    else
        skip "the image was not built: docker does not work here ($(tail -n1 "$notes/has"))"
    fi
}

declare_step shell "shellcheck" "shellcheck, for these scripts"
step_shell() {
    cmd shellcheck --external-sources --check-sourced .ci/run .ci/release
}
