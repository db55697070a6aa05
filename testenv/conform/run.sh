#!/usr/bin/env bash
# The contract suites against our model of AWS, and against moto: an independent implementation, installed from PyPI into
# .cache at the version the list of known differences speaks of.
set -euo pipefail
cd "$(dirname "$0")/../.."
moto=5.2.1
awscli=1.45.11
home=.cache/conform-moto-$moto-awscli-$awscli
if ! [ -x "$home/bin/moto_server" ]; then
  echo "installing moto $moto and the AWS CLI $awscli"
  python3 -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check "moto[server]==$moto" "awscli==$awscli"
fi
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$home/bin/moto_server" -H 127.0.0.1 -p "$port" >"$home/server.log" 2>&1 &
server=$!
trap 'kill $server' EXIT
for _ in $(seq 100); do
  if python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/moto-api/')" 2>/dev/null; then
    break
  fi
  sleep 0.2
done
JOINER_AWS_CLI=$PWD/$home/bin/aws JOINER_MOTO_ENDPOINT=http://127.0.0.1:$port go test -count=1 -v ./testenv/conform/ | tee "$home/result.log" | grep -E '^(=== RUN|---|ok|FAIL|PASS|\s+---)' | grep -v '=== RUN' || true
grep -q '^ok' "$home/result.log"
echo "passed: $(grep -c -- '--- PASS' "$home/result.log"), skipped: $(grep -c -- '--- SKIP' "$home/result.log" || true); differences of moto that are known: testenv/conform/KNOWN_DIFFERENCES.md"
