# The workspace: its tests, its lints, its features.
# shellcheck shell=bash

declare_step quickstart "" "the README's quickstart"
step_quickstart() {
    # The other command there, of the first example, fails as the page shows; `examples/tests/run.rs`
    # checks its output.
    documented_cmd cargo run -p quickstart
}

declare_step test "postgres pgbouncer curl faketime promtool chromium" "the command for all tests"
step_test() {
    documented_cmd cargo test --workspace
}

declare_step starved "postgres pgbouncer curl faketime" "by hand: the behaviour of jobs, their stores and the command, with a seventh of each processor"
# A test that waits for a time instead of a condition fails here sooner than elsewhere.
step_starved() {
    local step=$BASHPID tests=(cargo test -p retry-workflow -p retry-workflow-postgres -p retry-workflow-cli --test behaviour)
    cmd "${tests[@]}" --no-run
    # Two loops per processor, which end with this step; three times the weight of the tests each.
    for _ in $(seq $((2 * $(getconf _NPROCESSORS_ONLN)))); do
        nice -n 5 sh -c "while kill -0 $step; do :; done" 2>"$notes/gone" &
    done
    cmd nice -n 10 "${tests[@]}" --no-fail-fast
}

declare_step format "" "rustfmt, for the workspace and what stands beside it"
step_format() {
    local manifest
    cmd cargo fmt --all --check
    for manifest in benches benches/weight examples/service tests/any-runtime tests/browser tests/clients tests/cures; do
        cmd cargo fmt --manifest-path "$manifest/Cargo.toml" --check
    done
}

declare_step lint "" "clippy, for the workspace with all features, the benchmarks and the fuzz targets"
step_lint() {
    cmd cargo clippy --workspace --all-targets --all-features -- -D warnings
    # The comparison with other libraries is run by hand.
    CARGO_TARGET_DIR=target cmd cargo clippy --manifest-path benches/Cargo.toml --all-targets --features board -- -D warnings
    RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/deny-warnings" CARGO_TARGET_DIR=target cmd cargo check --manifest-path fuzz/Cargo.toml --locked
}

declare_step docs "" "rustdoc without warnings"
step_docs() {
    RUSTDOCFLAGS="-D warnings" cmd cargo doc --workspace --no-deps --all-features
}

declare_step features "" "each crate without its default features, and with each feature alone"
# With all features, `lint` checks it.
step_features() {
    local crate feature features
    export RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/deny-warnings"
    for crate in "${crates[@]}"; do
        cmd cargo check --quiet -p "$crate" --no-default-features
        # The names before `=` under [features].
        features=$(sed -n '/^\[features\]/,/^\[/{/^default *=/d;s/^\([a-z][a-z0-9_-]*\) *=.*/\1/p}' "${folder_of[$crate]}/Cargo.toml")
        for feature in $features; do
            cmd cargo check --quiet -p "$crate" --no-default-features --features "$feature"
        done
    done
}

declare_step client-errors "" "the errors of other crates by their types, which \`test\` leaves out"
# That `test` leaves out nothing else, `tests/tests/project/features.rs` checks.
step_client_errors() {
    cmd cargo test -p retry-runtime --all-features --lib classify
}

declare_step prometheus "promtool" "the alerts in a real Prometheus, an hour in half a minute"
step_prometheus() {
    cmd cargo test --workspace --test grafana -- --ignored in_prometheus
}

declare_step sqlite "" "jobs resolve beside other crates that bring SQLite; asks the registry"
step_sqlite() {
    cmd cargo test -p retry-tests --test project -- --ignored beside
}

declare_step readme "" "the examples of the README build with the features that stand beside them"
step_readme() {
    cmd cargo test -p retry-tests --test project -- --ignored readme
}

declare_step weight "" "a call site weighs no more than docs/BENCHMARKS.md says"
step_weight() {
    cmd cargo test -p retry-tests --test project -- --ignored weighs
}

declare_step public-api "" "the public API is the one of tests/data/public-api"
step_public_api() {
    cmd cargo test -p retry-tests --features public-api --test public_api
}
