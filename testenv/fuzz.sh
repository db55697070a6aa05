#!/usr/bin/env bash
# Runs every fuzz test of the project for a while each: testenv/fuzz.sh 30s
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do
  for name in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "== $(dirname "$file") $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "./$(dirname "$file")"
  done
done
