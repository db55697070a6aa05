#!/usr/bin/env bash
# Lists functions that nothing calls, in every module of the repository, and fails where one is not in tools/deadcode.csv.
#
#   tools/deadcode.sh          lists them
#   tools/deadcode.sh -prune   and takes exceptions that are not needed any more out of tools/deadcode.csv
#
# What ships (shared, functions and cmd) is looked at from its programs: a function that tests alone call is dead. Everything else is looked at
# from its programs and tests. Modules that contain Kubernetes' scheduler or Karpenter take long, and are left out without ALL=1.
# Exit status: 0 nothing; 1 a dead function, or an exception that is not needed any more.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}
module=github.com/joiner-sh/joiner
format='{{range .Funcs}}{{.Position.File}}:{{.Position.Line}} {{.Name}}{{println}}{{end}}'

dead() { # FOLDER FILTER ARGUMENT…: lines "path:line name", by paths below the root
  (
    cd "$1"
    [ "$1" = . ] && below="" || below="$1/" # it prints paths below where it runs
    "$go" tool -modfile="$root/tools/go.mod" deadcode -f "$format" -filter "$2" "${@:3}" | sed "/^$/d; s#^$root/##; t; s#^#$below#"
  )
}

found=$(
  dead . "^$module/(shared|functions|cmd)(/|\$)" ./functions/... ./cmd/...
  tools/modules.sh | while read -r folder size; do
    [ "$size" = small ] || continue
    case $folder in
    .) dead . "^$module/(testenv|infra)(/|\$)" -test ./... "$module/testenv/local/..." ;; # what testenv/local has for others is called from here
    testenv/local) ;;
    *) dead "$folder" "^$(sed -n 's/^module //p' "$folder/go.mod")(/|\$)" -test ./... ;;
    esac
  done
)
found=$(sed '/^$/d' <<<"$found")
if [ "${1:-}" = -prune ]; then
  keep=$(awk -F, 'FNR == NR { split($0, part, " "); sub(/:[0-9]+$/, "", part[1]); dead[part[1] "," part[2]] = 1; next }
    /^#/ || $1 == "file" || ($1 "," $2) in dead' <(echo "$found") tools/deadcode.csv)
  echo "$keep" >tools/deadcode.csv
fi
awk -F, '
  FNR == NR { if ($0 !~ /^#/ && $1 != "file") allowed[$1 " " $2] = 1; next }
  $0 != "" {
    split($0, part, " ")
    file = part[1]; sub(/:[0-9]+$/, "", file)
    if ((file " " part[2]) in allowed) needed[file " " part[2]] = 1
    else { print part[1] ": nothing calls " part[2]; bad = 1 }
  }
  END {
    for (one in allowed) if (!(one in needed)) { print "tools/deadcode.csv: " one " is called, or gone: tools/deadcode.sh -prune"; bad = 1 }
    exit bad
  }
' tools/deadcode.csv <(echo "$found")
