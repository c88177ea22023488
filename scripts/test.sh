#!/usr/bin/env bash
# Passes when everything holds: formatting, lints, the build of every feature set, and all tests.
# Builds go to one folder outside the clone (CARGO_TARGET_DIR overrides it), so that clones share them.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/loom/target}"
export CARGO_INCREMENTAL=0
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-never}"

step() {
    printf '\n== %s (%ss)\n' "$1" "$SECONDS"
}

# curl runs the examples of the README.
if ! command -v curl >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -q && apt-get install -y -q --no-install-recommends curl
fi
for tool in cargo cc c++ curl; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (install Rust with rustup, and gcc, g++ and curl)" >&2; exit 1; }
done

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "the bare engine"
cargo clippy -p loom-engine --no-default-features --lib --locked -- -D warnings

step "tests"
cargo test --workspace --locked --no-fail-fast

step "agents: the official clients of the Model Context Protocol"
clients="$CARGO_TARGET_DIR/mcp-clients"
loom="$CARGO_TARGET_DIR/debug/loom"
if command -v python3 >/dev/null; then
    if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv
    fi
    [ -x "$clients/bin/python" ] || python3 -m venv "$clients"
    "$clients/bin/pip" install -q --disable-pip-version-check -r tests/mcp/requirements.txt
    "$clients/bin/python" tests/mcp/client.py "$loom"
    step "calculations beside DuckDB"
    [ -x "$CARGO_TARGET_DIR/duckdb/bin/python" ] || python3 -m venv "$CARGO_TARGET_DIR/duckdb"
    "$CARGO_TARGET_DIR/duckdb/bin/pip" install -q --disable-pip-version-check -r tests/datasets/requirements.txt
    plans="$(mktemp -d)"
    # Built with the tests: built for itself, it would have all it is made of built again, with fewer features.
    "$CARGO_TARGET_DIR/debug/examples/plans" "$plans" 1 200
    "$CARGO_TARGET_DIR/duckdb/bin/python" tests/datasets/duckdb_compare.py "$plans"
    rm -r "$plans"
    step "generated calls of every operation"
    [ -x "$CARGO_TARGET_DIR/schemathesis/bin/python" ] || python3 -m venv "$CARGO_TARGET_DIR/schemathesis"
    "$CARGO_TARGET_DIR/schemathesis/bin/pip" install -q --disable-pip-version-check -r tests/api/requirements.txt
    tests/api/fuzz.sh "$loom" "$CARGO_TARGET_DIR/schemathesis/bin/st"
else
    echo "skipped: python3 is not installed"
fi
if ! command -v npm >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -q && apt-get install -y -q --no-install-recommends nodejs npm
fi
if command -v npm >/dev/null; then
    mkdir -p "$clients/npm" && cp tests/mcp/package.json "$clients/npm/"
    (cd "$clients/npm" && npm install --silent --no-audit --no-fund)
    node tests/mcp/client.mjs "$loom" "$clients/npm/node_modules"
else
    echo "skipped: node and npm are not installed"
fi

step "fuzz"
if command -v cargo-fuzz >/dev/null; then
    for target in fuzz/fuzz_targets/*.rs; do
        target="$(basename "$target" .rs)"
        found="$(mktemp -d)"
        # How long each target runs; the readers are many.
        case "$target" in
            read_*) seconds="${LOOM_FUZZ_READER_SECONDS:-10}" ;;
            *) seconds="${LOOM_FUZZ_SECONDS:-30}" ;;
        esac
        # New inputs go to a folder of their own.
        CARGO_TARGET_DIR="$CARGO_TARGET_DIR/fuzz" cargo fuzz run -s none "$target" "$found" "fuzz/corpus/$target" -- \
            -max_total_time="$seconds" -timeout=30 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1
        rm -r "$found"
    done
else
    echo "skipped: cargo-fuzz is not installed; the corpora were replayed by the tests"
fi

step "done"
