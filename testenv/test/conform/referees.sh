#!/usr/bin/env bash
# What others say of our model of AWS, as far as it takes no server: decisions about drawn policies by another evaluator of IAM policies (npm),
# and inputs as long as they may be by the constraints that botocore publishes (PyPI), at the versions below, installed into .cache.
# Exit status: 0 nothing differs; 1 something does; 77 what judges could not be had here, so that nothing was judged.
set -euo pipefail
cd "$(dirname "$0")/../../.."
botocore=1.43.11 # of the AWS CLI that run.sh installs
simulate=0.1.173

unavailable() { echo "the model of AWS was NOT judged: $*" >&2; exit 77; }
command -v node >/dev/null && command -v npm >/dev/null || unavailable "another evaluator of policies needs node and npm"

peer=$PWD/.cache/iam-simulate-$simulate
if ! [ -e "$peer/complete" ]; then
  echo "installing @cloud-copilot/iam-simulate $simulate"
  mkdir -p "$peer"
  npm install --no-audit --no-fund --silent --prefix "$peer" "@cloud-copilot/iam-simulate@$simulate" || unavailable "@cloud-copilot/iam-simulate cannot be installed from npm"
  touch "$peer/complete"
fi
home=$PWD/.cache/botocore-$botocore
if ! [ -e "$home/complete" ]; then
  echo "installing botocore $botocore"
  rm -rf "$home"
  python3 -m venv "$home" && "$home/bin/pip" install --quiet --disable-pip-version-check "botocore==$botocore" || unavailable "botocore cannot be installed from PyPI"
  touch "$home/complete"
fi

record=$home/exchanges.jsonl
said=$home/said.log
trap 'rm -f "$record" "$said"' EXIT
rm -f "$record"
# ran TEST...: whether these tests were run and passed
ran() {
  "${GO:-go}" test -count=1 -v "$@" >"$said" 2>&1 || { cat "$said"; return 1; }
  grep -E 'differ$|judged:' "$said" || true
  grep -q -- '^--- PASS' "$said" || { cat "$said"; return 1; } # skipped
}
failed=0
JOINER_IAM_PEER=$peer ran -run TestAgainstAnotherEvaluator github.com/joiner-sh/joiner/testenv/local/cloud/policy || failed=1
JOINER_RECORD_EXCHANGES=$record ran -run TestA63InputsAtTheirLimitsAreTaken ./testenv/test/conform/ || failed=1
data=$(echo "$home"/lib/python3*/site-packages/botocore/data)
JOINER_RECORD_EXCHANGES=$record JOINER_BOTOCORE_DATA=$data ran -run TestRecordedExchanges ./testenv/test/conform/shape/ || failed=1
exit "$failed"
