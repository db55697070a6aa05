#!/usr/bin/env bash
# The suites where AWS's documentation is read the other way: testenv/readings.sh [-flag of go test's binaries…]
#
# All of them under the other reading of every doubt at once, then the contract suites under the other reading of each one, and under each
# default where all others are read the other way. What is read in two ways: testenv/local/cloud/reading. The default readings are those of every
# other target. JOINER_READINGS_PART=plain, stack or each: that part alone. Says how long each took.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
failed=()
ran() { echo "   $SECONDS s"; }
under() { # readings, then what to test
  SECONDS=0
  echo "== $1"
  JOINER_READINGS=$1 "$go" test -timeout 50m "${@:2}" || failed+=("$1")
  ran
}
part() { [ "${JOINER_READINGS_PART:-$1}" = "$1" ]; }

if part plain; then
  under all=other -parallel 16 "$@" github.com/joiner-sh/joiner/testenv/local/cloud/... github.com/joiner-sh/joiner/testenv/local/rights ./testenv/test/rights/ ./testenv/test/conform/ github.com/joiner-sh/joiner/testenv/local/cloudformation/... ./testenv/sim/world/ ./testenv/sim/ ./testenv/sim/explore/ ./shared/adapter/... ./shared/flow/...
fi
if part stack; then # which say themselves how many scenarios go at a time
  under all=other "$@" -p 1 ./testenv/test/stack/ ./testenv/test/e2e/
fi

# One by one, by binaries that are linked once.
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
each() { # readings, then packages
  local package name
  SECONDS=0
  echo "== $1"
  for package in "${@:2}"; do
    name=$(basename "$package")
    if ! (cd "$package" && JOINER_READINGS=$1 "$binaries/$name.test" -test.timeout 20m -test.parallel 16 "${flags[@]}") >"$binaries/$name.out" 2>&1; then
      cat "$binaries/$name.out"
      failed+=("$1 $package")
    fi
  done
  ran
}
if part each; then
  flags=("${@/#-/-test.}")
  "$go" test -c -o "$binaries/" ./testenv/test/conform/ ./testenv/test/rights/ ./shared/adapter/ec2fleet/
  for doubt in $("$go" run github.com/joiner-sh/joiner/testenv/local/cloud/reading/list); do
    each "$doubt=other" testenv/test/conform testenv/test/rights shared/adapter/ec2fleet
    each "all=other,$doubt=default" testenv/test/rights shared/adapter/ec2fleet
  done
fi
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed under: %s\n' "${failed[@]}"
  exit 1
fi
