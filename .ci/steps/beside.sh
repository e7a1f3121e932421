# What stands beside the workspace, each with a target folder of its own.
# shellcheck shell=bash

declare_step loom "" "the breaker and the quota under the model checker"
# The flag changes every crate.
step_loom() {
    RUSTFLAGS="--cfg retry_loom" CARGO_TARGET_DIR=target/loom cmd nice cargo test -p retry-tests-loom
}

declare_step clients "servers" "failures of real clients against real servers"
# With their types known, and without. Lints what is compiled for tests, so that nothing is compiled twice.
step_clients() {
    local features
    export CARGO_TARGET_DIR=target/real-programs
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__"
    for features in typed untyped; do
        cmd cargo test --manifest-path tests/clients/Cargo.toml --no-default-features --features "$features"
    done
}

declare_step service "" "a program as users write them, which resolves and builds by itself"
step_service() {
    export CARGO_TARGET_DIR=target/real-programs RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/deny-warnings"
    cmd cargo test --manifest-path examples/service/Cargo.toml --locked
}

declare_step any-runtime "" "executors other than tokio's"
step_any_runtime() {
    export CARGO_TARGET_DIR=target/real-programs RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/deny-warnings"
    cmd cargo test --manifest-path tests/any-runtime/Cargo.toml --locked
}

declare_step cures "" "what messages propose compiles or is read"
step_cures() {
    CARGO_TARGET_DIR="$PWD/target/real-programs" cmd cargo run --manifest-path tests/cures/Cargo.toml --locked
}

declare_step browser "wasm" "calls in node and in a browser"
step_browser() {
    local manifest=tests/browser/Cargo.toml target=wasm32-unknown-unknown bindgen
    # The runner of these tests has to be the release of wasm-bindgen in the lock file.
    bindgen=$(sed -n '/^name = "wasm-bindgen"$/{n;s/^version = "\(.*\)"/\1/p}' tests/browser/Cargo.lock)
    cmd install_tool wasm-bindgen-cli --version "=$bindgen" --no-default-features --profile dev --bin wasm-bindgen-test-runner
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER=wasm-bindgen-test-runner RUSTC_WORKSPACE_WRAPPER="$PWD/.ci/deny-warnings"
    cmd cargo test --manifest-path "$manifest" --target "$target" --locked
    # The folder has the settings of the browser.
    (cd tests/browser && WASM_BINDGEN_USE_BROWSER=1 cmd cargo test --target "$target" --locked)
}
