#!/usr/bin/env bash
# Holds every operation of a running server against its own openapi.json with generated calls: no 5xx, no answer that
# breaks its schema. Then once more with a viewer's key, after which everything that is stored is as before.
# usage: fuzz.sh LOOM SCHEMATHESIS [EXAMPLES]
set -euo pipefail
loom="$1" schemathesis="$2" examples="${3:-200}"
folder="$(mktemp -d)"
server=""
stop() { [ -z "$server" ] || { kill "$server" && wait "$server" || true; }; server=""; }
trap 'stop; rm -rf "$folder"' EXIT

start() {
    "$loom" serve --data "$folder/data" --listen 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
    server=$!
    for _ in $(seq 200); do
        base="$(sed -n 's/^listening on //p' "$folder/out")"
        [ -z "$base" ] || return 0
        kill -0 "$server" || { cat "$folder/log" >&2; return 1; }
        sleep 0.05
    done
    return 1
}
generated() {
    "$schemathesis" run "$base/openapi.json" --url "$base" --phases=fuzzing -n "$examples" --continue-on-failure \
        --checks not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance \
        --no-color "$@" | tail -n 25
}
# What is stored, without the counts of reads, which a viewer's reads may raise.
stored() {
    for op in namespace.list collection.list token.list erasure.status; do
        "$loom" --data "$folder/data" call "$op" '{}' --json
    done
    "$loom" --data "$folder/data" list --deleted --json
}

"$loom" --data "$folder/data" call knowledge.add '{"source_uri": "a", "content": "# Harbour\n\nThe harbour opens at six."}' >/dev/null
start
generated
stop

token="$("$loom" --data "$folder/data" token create viewer --role '*=viewer' | head -n 1)"
before="$(stored | sha256sum)"
export LOOM_AUTH=token LOOM_RATE_LIMIT_PER_MINUTE=0
start
examples=$((examples / 4)) generated --header "authorization: Bearer $token"
stop
unset LOOM_AUTH
[ "$before" = "$(stored | sha256sum)" ] || { echo "a viewer changed what is stored" >&2; exit 1; }
echo "a viewer changed nothing"
