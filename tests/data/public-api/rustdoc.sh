#!/bin/sh
# rustdoc, with what is unstable.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
