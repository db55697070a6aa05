"""What parliament says of the identity policies of templates, as JSON: python parliament_findings.py TEMPLATE.json..."""

import json
import sys

import parliament
from policies import policies

judged, findings = 0, []
for template, role, document in policies(sys.argv[1:]):
    judged += 1
    for finding in parliament.analyze_policy_string(json.dumps(document)).findings:
        findings.append({"template": template, "resource": role, "rule": finding.issue, "text": str(finding.detail)})
json.dump({"judged": judged, "findings": findings}, sys.stdout)
