#!/usr/bin/env bash
# Runs golangci-lint in every module of the repository, by .golangci.yml: tools/lint.sh
#
# Modules that contain Kubernetes' scheduler or Karpenter get those linters alone that need not read what they import; with ALL=1 they get
# the others too, which takes minutes each.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}

(cd tools/lint && "$go" build -o "$root/bin/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint)
tools/modules.sh | while read -r folder size; do
  flags=()
  if [ "$size" = large ]; then
    flags=(--enable-only ineffassign,unconvert,unused)
  fi
  (cd "$folder" && "$root/bin/golangci-lint" run "${flags[@]}" ./...) || { echo "golangci-lint: in $folder, see above" >&2; exit 1; }
done
