# The command `retry-workflow` in an image.
#
#   docker build --tag retry-workflow .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" retry-workflow run import.yml
#
# The job's store is in the mounted folder, so that another container resumes it. Commands of a workflow
# run in the image: with `FROM retry-workflow`, an image of your own adds the programs that they call.

FROM rust:1.95.0-slim-bookworm AS build
# The toolchain of the image, without the components that rust-toolchain.toml adds to it.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /source
COPY . .
RUN cargo build --release --locked -p retry-workflow-cli

FROM debian:bookworm-slim
# `tini` collects the processes that commands leave behind; curl's waits are those that items honour.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates curl tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home worker \
    && install -d -o worker /work
COPY --from=build /source/target/release/retry-workflow /usr/local/bin/retry-workflow
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/retry-workflow/
USER 10001
WORKDIR /work
ENTRYPOINT ["tini", "--", "retry-workflow"]
CMD ["--help"]
