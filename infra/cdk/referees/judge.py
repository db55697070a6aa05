"""Holds findings of referees against the excuses: python judge.py EXCUSES.json REFEREE=OUTPUT.json...

Fails on a finding that no excuse matches, on an excuse that matches no finding any more, on one without a reason, and where a referee judged
nothing. An excuse names a referee, an expression that matches the whole of "TEMPLATE.RESOURCE RULE: TEXT", and why.
"""

import json
import os
import re
import sys


def of_cfn_lint(output):
    found = [{"template": os.path.basename(one["Filename"])[:-len(".json")], "resource": (one["Location"]["Path"] + ["", ""])[1], "rule": one["Rule"]["Id"],
              "text": one["Message"]} for one in output]
    return None, found


def of_checkov(output):
    output = output if isinstance(output, list) else [output]
    judged = sum(one["summary"]["passed"] + one["summary"]["failed"] for one in output)
    return judged, [{"template": os.path.basename(check["file_path"])[:-len(".json")], "resource": check["resource"].split(".")[-1], "rule": check["check_id"],
                     "text": check["check_name"]} for one in output for check in one["results"]["failed_checks"]]


def plain(output):
    return output["judged"], output["findings"]


def main():
    with open(sys.argv[1]) as file:
        excuses = json.load(file)
    failed = 0
    for argument in sys.argv[2:]:
        referee, path = argument.split("=", 1)
        with open(path) as file:
            judged, findings = {"cfn-lint": of_cfn_lint, "checkov": of_checkov}.get(referee, plain)(json.load(file))
        known = excuses.pop(referee, [])
        used = set()
        for one in findings:
            text = f'{one["template"]}.{one["resource"]} {one["rule"]}: {one["text"]}'
            match = [i for i, excuse in enumerate(known) if re.fullmatch(excuse["finding"], text)]
            used.update(match)
            if not match:
                failed += 1
                print(f"{referee}: {text}")
        for i, excuse in enumerate(known):
            if len(excuse.get("why", "")) < 20:
                failed += 1
                print(f'{referee}: the excuse {excuse["finding"]!r} has no reason')
            if i not in used:
                failed += 1
                print(f'{referee}: the excuse {excuse["finding"]!r} is of nothing that is found any more: take it out')
        if judged == 0:
            failed += 1
            print(f"{referee}: it judged nothing")
        print(f'{referee}: {"" if judged is None else f"{judged} judged, "}{len(findings)} findings, {len(known)} excuses')
    for referee in excuses:
        failed += 1
        print(f"excuses of {referee}: there is no such referee")
    sys.exit(1 if failed else 0)


main()
