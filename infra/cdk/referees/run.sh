#!/usr/bin/env bash
# Judges the committed templates by programs that are none of ours, installed into .cache at the versions below: cfn-lint (CloudFormation's
# schemas), checkov (good practice), cloudsplaining and parliament (identity policies; PyPI), and cloudformation-diff (npm), which says what an
# installation of the commit that is named in `base` would lose by an upgrade: with default options (upgrade), and with those that docs/tasks/upgrade.md
# names for it (upgrade-kept), by which it loses nothing. What they find is mended, or excused with a reason in excuses.json.
# Exit status: 0 nothing; 1 a finding; 77 what judges could not be had here, so that nothing was judged.
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=infra/cdk/referees
templates=infra/cdk/templates
out=.cache/referees
mkdir -p "$out"

unavailable() { echo "the templates were NOT judged: $*" >&2; exit 77; }

# installed NAME VERSION: the folder of a virtual environment that has it
installed() {
  local home=.cache/$1-$2
  if ! [ -e "$home/complete" ]; then
    echo "installing $1 $2" >&2
    rm -rf "$home"
    python3 -m venv "$home" && "$home/bin/pip" install --quiet --disable-pip-version-check "$1==$2" "setuptools<81" >&2 || unavailable "$1 $2 cannot be installed from PyPI"
    touch "$home/complete"
  fi
  echo "$home/bin"
}
parliament=$(installed parliament 1.6.4)
cfnlint=$(installed cfn-lint 1.58.0)
checkov=$(installed checkov 3.3.30)
cloudsplaining=$(installed cloudsplaining 0.7.0)
diff=.cache/cloudformation-diff-$(sha256sum "$here/package-lock.json" | cut -c1-12)
if ! [ -e "$diff/complete" ]; then
  echo "installing cloudformation-diff"
  rm -rf "$diff"
  mkdir -p "$diff"
  cp "$here/package.json" "$here/package-lock.json" "$diff/"
  (cd "$diff" && npm ci --silent --no-audit --no-fund) || unavailable "cloudformation-diff cannot be installed from npm"
  touch "$diff/complete"
fi

base=$(cat "$here/base")
git cat-file -e "$base^{commit}" 2>/dev/null || unavailable "commit $base, whose templates are compared with these, is not in this clone: git fetch --unshallow"
rm -rf "$out/before" "$out/kept"
mkdir "$out/before"
git archive "$base" "$templates" | tar -x -C "$out/before" --strip-components=3

# Each says by its exit status that it found something; whether that is excused is for judge.py to say.
jobs=()
judge() { "$@" & jobs+=($!); }
judge "$cfnlint/cfn-lint" --format json -I --include-checks I W E -- "$templates"/*.json >"$out/cfn-lint.json" 2>"$out/cfn-lint.log"
judge "$checkov/checkov" -d "$templates" --framework cloudformation -o json --compact --quiet --skip-download >"$out/checkov.json" 2>"$out/checkov.log"
judge "$parliament/python" "$here/parliament_findings.py" "$templates"/*.json >"$out/parliament.json" 2>"$out/parliament.log"
judge "$cloudsplaining/python" "$here/cloudsplaining_findings.py" "$templates"/*.json >"$out/cloudsplaining.json" 2>"$out/cloudsplaining.log"
cp "$here/diff.mjs" "$diff/"
judge node "$diff/diff.mjs" "$out/before" "$templates" >"$out/upgrade.json" 2>"$out/upgrade.log"
kept() {
  (cd infra/cdk && "${GO:-go}" run . kept "../../$out/kept" >&2)
  node "$diff/diff.mjs" "$out/before" "$out/kept"
}
judge kept >"$out/upgrade-kept.json" 2>"$out/upgrade-kept.log"
for job in "${jobs[@]}"; do wait "$job" || true; done
for referee in cfn-lint checkov parliament cloudsplaining upgrade upgrade-kept; do
  python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out/$referee.json" 2>/dev/null || { echo "$referee said nothing that can be read:"; cat "$out/$referee.log"; exit 1; }
done
python3 "$here/judge.py" "$here/excuses.json" cfn-lint="$out/cfn-lint.json" checkov="$out/checkov.json" parliament="$out/parliament.json" \
  cloudsplaining="$out/cloudsplaining.json" upgrade="$out/upgrade.json" upgrade-kept="$out/upgrade-kept.json"
