#!/usr/bin/env bash
# Every test of the module and of testenv/local: testenv/test.sh [-flag of go test…]
#
# Packages whose tests start control planes go one at a time beside the others, which give way to them: those wait for clocks
# most of the time, and fail where a server answers late; the others compute.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
flags=(-timeout 50m "$@")

imports='{{.ImportPath}} {{.TestImports}} {{.XTestImports}}'
all=(./... github.com/joiner-sh/joiner/testenv/local/...)
planes=$("$go" list -f "$imports" "${all[@]}" | grep 'joiner/testenv/local/kube[] ]' | cut -d' ' -f1)
others=$("$go" list "${all[@]}" | grep -vxF "$planes")
[ -n "$planes" ] && [ -n "$others" ] || { echo "test.sh: no packages found" >&2; exit 1; }

"$go" build "${all[@]}" # what both compile, once
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# shellcheck disable=SC2086 # lists of packages
"$go" test "${flags[@]}" -p 1 $planes >"$said" 2>&1 &
failed=0
# shellcheck disable=SC2086
nice -n 10 "$go" test "${flags[@]}" $others || failed=1
wait $! || failed=1
cat "$said"
exit $failed
