#!/usr/bin/env bash
# Runs every fuzz test of the project, so long in all: testenv/fuzz.sh 10m
#
# Each runs in the folder of its package, in a process that may have so much memory and no more: what allocates beyond it
# dies, and an input that takes more than ten seconds counts as a hang. What fails is kept under testdata/fuzz of the
# package, where `go test` tries it again from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

address_space_kib=$((4 << 20))
export GOMEMLIMIT=1GiB

total=${1:-10m}
case $total in
*h) seconds=$((${total%h} * 3600)) ;;
*m) seconds=$((${total%m} * 60)) ;;
*s) seconds=${total%s} ;;
*) echo "fuzz.sh: $total: want a number of h, m or s" >&2 && exit 2 ;;
esac

tests=()
while read -r file; do
  while read -r name; do
    tests+=("$(dirname "$file") $name")
  done < <(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file")
done < <(git ls-files '*_test.go' | xargs grep -l '^func Fuzz')
each=$((seconds / ${#tests[@]}))
((each > 0)) || each=1
echo "${#tests[@]} fuzz tests, ${each} s each"

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
cache=$(go env GOCACHE)/fuzz
for test in "${tests[@]}"; do
  read -r folder name <<<"$test"
  program=$programs/${folder//\//-}
  if [ ! -e "$program" ]; then
    (cd "$folder" && go test -c -fuzz . -o "$program" .)
  fi
done

failed=()
for test in "${tests[@]}"; do
  read -r folder name <<<"$test"
  echo "== $folder $name"
  if ! (
    ulimit -v "$address_space_kib" 2>/dev/null || echo "the memory of a process cannot be limited here" >&2
    cd "$folder"
    "$programs/${folder//\//-}" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${each}s" -test.fuzzminimizetime 50x \
      -test.fuzzcachedir "$cache/$folder" 2>&1 | awk '/^fuzz: elapsed: / { last = $0; next } /^PASS$/ { next } { print } END { print last }'
    exit "${PIPESTATUS[0]}"
  ); then
    failed+=("$folder $name")
  fi
done
if ((${#failed[@]})); then
  printf 'FAILED: %s\n' "${failed[@]}" >&2
  exit 1
fi
