#!/usr/bin/env bash
# The suites where AWS's documentation is read the other way: testenv/readings.sh [-flag of go test…]
#
# All of them under the other reading of every doubt at once, then the contract suites under the other reading of each one, and under each
# default where all others are read the other way. What is read in two ways: testenv/cloud/reading. The default readings are those of every
# other target.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
failed=()
under() { # readings, then what to test
  echo "== $1"
  JOINER_READINGS=$1 "$go" test -timeout 50m -parallel 16 "${@:2}" || failed+=("$1")
}
under all=other "$@" ./testenv/cloud/... ./testenv/rights/ ./testenv/conform/ ./testenv/cloudformation/... ./testenv/world/ ./testenv/sim/ ./shared/adapter/... ./shared/flow/...
under all=other "$@" -p 1 ./testenv/stack/ ./testenv/e2e/
for doubt in $("$go" run ./testenv/cloud/reading/list); do
  under "$doubt=other" "$@" ./testenv/conform/ ./testenv/rights/ ./shared/adapter/ec2fleet/
  under "all=other,$doubt=default" "$@" ./testenv/rights/ ./shared/adapter/ec2fleet/
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed under: %s\n' "${failed[@]}"
  exit 1
fi
