#!/usr/bin/env bash
# Installs what the tests in a browser take, as far as it is not there: Playwright and axe by npm, and as root on Debian chromium.
set -euo pipefail
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "npm is not on the PATH; install Node.js 22 or 24" >&2; exit 1; }
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed
fi
command -v chromium chromium-browser google-chrome >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get install -y --no-install-recommends chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }; } >/dev/null && exit 0
fi
echo "there is no chromium on the PATH; install one" >&2
exit 1
