#!/usr/bin/env bash
# Prints the folder of every module of the repository that has Go code, and "small" or "large" behind it: tools/modules.sh
#
# A large module contains Kubernetes' scheduler or Karpenter. With ALL=1 every one is small.
set -euo pipefail
cd "$(dirname "$0")/.."
large="testenv/bench/peer testenv/bench/oracle testenv/bench/referee testenv/bench/upstream testenv/bench/upstream/e2e"
git ls-files -- 'go.mod' '*/go.mod' | while read -r file; do
  folder=$(dirname "$file")
  [ -n "$(git ls-files -- "$folder/*.go" | head -1)" ] || continue # it pins programs of others
  [[ " $large " == *" $folder "* && -z "${ALL:-}" ]] && size=large || size=small
  echo "$folder $size"
done
