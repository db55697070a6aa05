#!/usr/bin/env bash
# Builds the site of docs into dist/docs: tools/docs/build.sh [mkdocs build's flags]
#
# mkdocs-material comes from PyPI (tools/docs/requirements.txt, with hashes) and Mermaid from npm, both into .cache the first time. After that the
# build needs no network, and neither does the site.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tools/docs
mermaid=11.12.0
mermaid_sha256=93492e4d609be83653a41c435f4cbd7e74419f7fa6b4fc90a8c983195f64af82

home=.cache/docs-$(sha256sum "$here/requirements.txt" | cut -c1-12)
if ! [ -e "$home/complete" ]; then
  echo "installing mkdocs-material" >&2
  rm -rf "$home"
  python3 -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements.txt"
  touch "$home/complete"
fi
script=.cache/docs-mermaid-$mermaid/mermaid.min.js
if ! [ -e "$script" ]; then
  echo "installing mermaid $mermaid" >&2
  command -v npm >/dev/null || { echo "npm is not on the PATH; install Node.js 22 or 24" >&2; exit 1; }
  rm -rf "${script%/*}"
  mkdir -p "${script%/*}"
  package=$(cd "${script%/*}" && npm pack --silent "mermaid@$mermaid")
  echo "$mermaid_sha256  ${script%/*}/$package" | sha256sum --check --quiet
  tar -xzf "${script%/*}/$package" -C "${script%/*}" --strip-components=2 package/dist/mermaid.min.js
  rm "${script%/*}/$package"
fi
JOINER_MERMAID=$PWD/$script NO_MKDOCS_2_WARNING=1 "$home/bin/mkdocs" build --strict "$@"
echo "dist/docs/index.html"
