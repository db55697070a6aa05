#!/usr/bin/env bash
# Judges every policy of the committed templates by parliament, an independent linter of IAM policies (PyPI), installed into .cache:
# actions that do not exist, resources that do not go with them, conditions that actions do not know. Fails on what it finds beyond
# the list below.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=1.6.4
home=.cache/parliament-$version
if ! [ -e "$home/complete" ]; then
  echo "installing parliament $version"
  python3 -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check "parliament==$version" "setuptools<81"
  touch "$home/complete"
fi
"$home/bin/python" infra/cdk/lint.py infra/cdk/templates/*.json
