#!/usr/bin/env bash
# Runs a command while a test cluster is served, with its address as a further argument: with-testcluster.sh PROGRAM [FLAG…] -- COMMAND [ARGUMENT…]
set -euo pipefail
serve=()
while [ "$1" != -- ]; do serve+=("$1"); shift; done
shift
said=$(mktemp)
"${serve[@]}" >"$said" &
server=$!
trap 'kill $server 2>/dev/null || true; rm -f "$said"' EXIT
until grep -q '^http' "$said"; do
  kill -0 $server || { cat "$said" >&2; exit 1; }
  sleep 0.2
done
export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
"$@" "$(grep -m1 '^http' "$said")"
