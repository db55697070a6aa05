#!/usr/bin/env bash
# The contract suites against our model of AWS, against moto, and the ledger's against DynamoDB Local: independent implementations, installed
# from PyPI and Maven Central into .cache at the versions the list of known differences speaks of. Then what referees.sh does.
set -euo pipefail
cd "$(dirname "$0")/../../.."
moto=5.2.1
awscli=1.45.11
dynamodb=2.6.0
home=.cache/conform-moto-$moto-awscli-$awscli
if ! [ -x "$home/bin/moto_server" ]; then
  echo "installing moto $moto and the AWS CLI $awscli"
  python3 -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check "moto[server]==$moto" "awscli==$awscli"
fi
local=.cache/conform-dynamodb-$dynamodb
if command -v mvn >/dev/null && command -v java >/dev/null; then
  if ! [ -e "$local/complete" ]; then
    echo "installing DynamoDB Local $dynamodb"
    mkdir -p "$local"
    cat >"$local/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>joiner</groupId><artifactId>conform</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId><version>$dynamodb</version></dependency>
  </dependencies>
</project>
POM
    mvn -q -B -f "$local/pom.xml" dependency:copy-dependencies -DoutputDirectory=lib
    touch "$local/complete"
  fi
else
  echo "skipped: the ledger's contract on DynamoDB Local needs java and mvn"
  local=
fi

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# Any answer at all says that the server is up.
await() {
  for _ in $(seq 300); do
    if python3 -c 'import sys, urllib.request, urllib.error
try: urllib.request.urlopen(sys.argv[1])
except urllib.error.HTTPError: pass' "$1" 2>/dev/null; then
      return
    fi
    sleep 0.2
  done
  echo "no answer from $1"
  exit 1
}
servers=()
trap 'kill "${servers[@]}"' EXIT
port=$(free_port)
"$home/bin/moto_server" -H 127.0.0.1 -p "$port" >"$home/server.log" 2>&1 &
servers+=($!)
await "http://127.0.0.1:$port/moto-api/"
elsewhere=
if [ -n "$local" ]; then
  ledger=$(free_port)
  # It writes a file of its own into the directory it runs in.
  (cd "$local" && exec java -cp "lib/*" com.amazonaws.services.dynamodbv2.local.main.ServerRunner -inMemory -disableTelemetry -port "$ledger") >"$local/server.log" 2>&1 &
  servers+=($!)
  await "http://127.0.0.1:$ledger/"
  elsewhere=dynamodb-local=http://127.0.0.1:$ledger
fi
JOINER_AWS_CLI=$PWD/$home/bin/aws JOINER_MOTO_ENDPOINT=http://127.0.0.1:$port JOINER_DYNAMODB_ENDPOINTS=$elsewhere \
  go test -count=1 -v ./testenv/test/conform/ ./testenv/test/proof/ ./shared/adapter/dynamoledger/ | tee "$home/result.log" | grep -E '^(=== RUN|---|ok|FAIL|PASS|\s+---)' | grep -v '=== RUN' || true
if grep -q '^FAIL' "$home/result.log" || [ "$(grep -c '^ok' "$home/result.log")" != 3 ]; then
  exit 1
fi
./testenv/test/conform/referees.sh || [ $? = 77 ] # which says that it could not be had
# What the adapters say to our model of AWS and what that answers, and all that it answers in its own tests, held against the
# models botocore publishes.
record=$PWD/$home/exchanges.jsonl
data=$(echo "$PWD/$home"/lib/python3*/site-packages/botocore/data)
judge() { # whose tests to write down
  rm -f "$record"
  JOINER_RECORD_EXCHANGES=$record go test -count=1 "$@"
  JOINER_RECORD_EXCHANGES=$record JOINER_BOTOCORE_DATA=$data go test -count=1 -run TestRecordedExchanges ./testenv/test/conform/shape/
  rm -f "$record"
}
judge ./shared/adapter/...
JOINER_SHAPES_OF_ANSWERS=1 judge github.com/joiner-sh/joiner/testenv/local/cloud/ec2 github.com/joiner-sh/joiner/testenv/local/cloud/iam github.com/joiner-sh/joiner/testenv/local/cloud/sts github.com/joiner-sh/joiner/testenv/local/cloud/ssm github.com/joiner-sh/joiner/testenv/local/cloud/sqs github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb github.com/joiner-sh/joiner/testenv/local/cloud/pricing
echo "passed: $(grep -c -- '--- PASS' "$home/result.log"), skipped: $(grep -c -- '--- SKIP' "$home/result.log" || true); differences of moto that are known: testenv/test/conform/KNOWN_DIFFERENCES.md"
