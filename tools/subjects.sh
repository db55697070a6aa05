#!/usr/bin/env bash
# Holds the subjects of new commits to CONTRIBUTING.md: `package: change what changes`, in the imperative.
#
#   tools/subjects.sh        the commits since the one that tools/subjects.base names
#   tools/subjects.sh -      lines "HASH SUBJECT" of standard input
#
# What it can tell without a dictionary: no package; a first word in the third person or the past tense ("adds", "added", "made"), a gerund, or
# a word that begins no command ("the", "what", "two"). Exit status: 0 nothing; 1 a subject that does not do.
set -euo pipefail
cd "$(dirname "$0")/.."

subjects() {
  local base
  base=$(cat tools/subjects.base)
  if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
    echo "subjects of commits were NOT checked: commit $base is not in this clone" >&2
    return
  fi
  git log --no-merges --format='%h %s' "$base..HEAD"
}

if [ "${1:-}" = - ]; then cat; else subjects; fi | awk '
BEGIN {
  # Base forms that look like another one.
  split("address pass process access miss press guess express compress suppress focus bias canvas bypass discuss assess dismiss cross embed shed seed feed need speed bleed breed proceed exceed succeed bring ring sing string swing cling sling wring sting ping", words, " ")
  for (i in words) base[words[i]] = 1
  split("made was were wrote took went gave told kept built ran held sent brought thought had did got saw knew came became began broke chose drew drove fell felt lost meant paid said sold spoke stood taught threw understood won done gone taken written given known shown grew hid heard led slept spent swept caught fought sought", words, " ")
  for (i in words) past[words[i]] = 1
  split("a an the this that these those its his her our their what who whom whose whoever whatever which why where when how if whether one two three four five six seven eight nine ten no none nobody nothing each every all any some other others another more most less least many few it they we you of in on at by for from with without and or but as than", words, " ")
  for (i in words) other[words[i]] = 1
}
/^[0-9a-f]+ Revert "/ { next }
NF {
  hash = $1
  subject = substr($0, length(hash) + 2)
  why = ""
  if (!match(subject, /^[A-Za-z0-9_.\/][A-Za-z0-9_.\/, -]*: /)) why = "names no package: `package: change what changes`"
  else {
    rest = substr(subject, RLENGTH + 1)
    split(rest, parts, /[^A-Za-z-]/)
    word = parts[1]
    if (word in base) next
    if (word in past || word ~ /[^e]ed$/) why = "\"" word "\" is the past tense"
    else if (word in other || word == "") why = "\"" word "\" begins no command"
    else if (word ~ /ing$/) why = "\"" word "\" is no command"
    else if (word ~ /[a-z]s$/ && word !~ /ss$/) why = "\"" word "\" is the third person or a plural"
  }
  if (why != "") { printf "%s: %s: %s\n", hash, subject, why; bad = 1 }
}
END {
  if (bad) { print "Write the subject in the imperative, as `pack: break price ties by name` (CONTRIBUTING.md)."; exit 1 }
}'
