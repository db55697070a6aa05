#!/usr/bin/env bash
# Vulnerabilities that the shipped programs can reach, by govulncheck: tools/vuln.sh
#
# Exits 0 where there are none, 3 where there are some, and 75 where the database cannot be reached (its address is GOVULNDB, by
# default https://vuln.go.dev): then nothing is known, which is not the same as none.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
GOFLAGS=-tags=lambda.norpc "$go" tool -modfile=tools/go.mod govulncheck -db "${GOVULNDB:-https://vuln.go.dev}" ./functions/... ./cmd/... 2>&1 | tee "$said"
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ] && grep -qE 'fetching vulnerabilities|no such host|dial tcp|connection refused|i/o timeout' "$said"; then
	echo "vuln: the database cannot be reached, so that nothing is known: run this where it can, or set GOVULNDB to a mirror" >&2
	exit 75
fi
exit "$code"
