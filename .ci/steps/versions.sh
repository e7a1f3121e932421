# The crates as they are published, and with other versions of Rust and of their dependencies.
# shellcheck shell=bash

# The Rust that the manifest of a crate states, which clippy cannot know for syntax.
stated_rust() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "${folder_of[$1]}/Cargo.toml" Cargo.toml | head -n1
}

stated_versions=$(for crate in "${crates[@]}"; do stated_rust "$crate"; done | sort -Vu)
for rust in $stated_versions; do
    need "rust-$rust" "" "has_rust $rust" "rustup toolchain install $rust --profile minimal"
done

# Features that bring a client need that client's Rust.
# shellcheck disable=SC2086 # one need for each version
declare_step stated "$(printf 'rust-%s ' $stated_versions)" "each crate with the Rust that its manifest states"
step_stated() {
    local rust crate packages
    # The crates of one version together: by themselves, each would check its dependencies again.
    for rust in $stated_versions; do
        packages=()
        for crate in "${crates[@]}"; do
            [ "$(stated_rust "$crate")" != "$rust" ] || packages+=(-p "$crate")
            [ "$crate$(stated_rust "$crate")" != "retry-runtime$rust" ] || packages+=(
                --features "$(printf 'retry-runtime/%s,' overrides testing metrics http any-runtime tower)"
            )
        done
        if [ ${#packages[@]} -gt 0 ]; then
            CARGO_TARGET_DIR=target/stated cmd nice cargo "+$rust" check --quiet "${packages[@]}"
        fi
    done
}

packed=target/packed
declare_step pack "" "the crates as they would be published, with both licences in each"
# Leaves a workspace of the packages in target/packed.
step_pack() {
    local package name licence
    rm -rf "$packed" target/packing
    mkdir -p "$packed"
    cmd cargo publish --workspace --dry-run --quiet --no-verify --allow-dirty --target-dir target/packing
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n\n[patch.crates-io]\n' >"$packed/Cargo.toml"
    for package in target/packing/package/tmp-crate/*.crate; do
        tar -xzf "$package" -C "$packed"
        name=$(basename "$package" .crate)
        printf '%s = { path = "%s" }\n' "${name%-*}" "$name" >>"$packed/Cargo.toml"
        # In the repository, the licences of a crate are links: packed, each is the text itself.
        for licence in LICENSE-APACHE LICENSE-MIT; do
            if [ -L "$packed/$name/$licence" ] || ! cmp "$licence" "$packed/$name/$licence"; then
                refuse "the package $name does not hold the text of $licence"
            fi
        done
    done
    cp Cargo.lock "$packed"
    for name in "${!folder_of[@]}"; do
        [ -d "$(echo "$packed/$name"-[0-9]*)" ] || refuse "cargo does not publish the crate $name"
    done
    [ "$(find "$packed" -mindepth 1 -maxdepth 1 -type d | wc -l)" = ${#folder_of[@]} ] ||
        refuse "cargo publishes more than the crates in retry-* and jobs/retry-*"
    touch "$notes/packed"
}
# The packages of this run, for the steps that use them.
pack_once() {
    if [ ! -e "$notes/packed" ]; then
        step_pack
    fi
}

declare_step lowest "nightly" "each package with the lowest versions of its dependencies that its manifest admits"
# A lock file may hold these versions. The dependencies of a package's tests would raise them, and are
# left out.
step_lowest() {
    local lowest=target/lowest package name other
    pack_once
    for package in "$packed"/retry-*/; do
        name=$(basename "$package")
        rm -rf "$lowest"
        mkdir -p "$lowest"
        cp -r "$packed"/retry-* "$lowest"
        {
            awk '/^\[/ { is_left_out = /dev-dependencies/ } !is_left_out' "$package/Cargo.toml"
            printf '\n[workspace]\nresolver = "3"\n\n[patch.crates-io]\n'
            for other in "$packed"/retry-*/; do
                other=$(basename "$other")
                [ "$other" = "$name" ] || printf '%s = { path = "../%s" }\n' "${other%-*}" "$other"
            done
        } >"$lowest/$name/Cargo.toml"
        rm -f "$lowest/$name/Cargo.lock"
        cmd cargo +nightly generate-lockfile --quiet -Z direct-minimal-versions --manifest-path "$lowest/$name/Cargo.toml"
        cmd nice cargo check --quiet --all-features --manifest-path "$lowest/$name/Cargo.toml" --target-dir target/stated
    done
}

declare_step packed "" "the packages build together"
# With what the workspace has built.
step_packed() {
    pack_once
    cmd cargo check --quiet --workspace --manifest-path "$packed/Cargo.toml" --target-dir target
}
