#!/usr/bin/env bash
# What make test runs, in every module: testenv/test.sh [-flag of go test…]
#
# Packages whose tests start control planes go one at a time beside the others, which give way to them: those wait for clocks
# most of the time, and fail where a server answers late; the others compute. The other modules follow the others.
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
for module in tools infra/cdk testenv/bench/oracle testenv/bench/upstream testenv/bench/upstream/e2e testenv/test/dashboard; do
  (cd "$module" && nice -n 10 "$go" test "${flags[@]}" ./...) || failed=1
done
(cd testenv/bench/referee && nice -n 10 "$go" test "${flags[@]}" -short ./...) || failed=1 # the long form starts control planes
wait $! || failed=1
cat "$said"
exit $failed
