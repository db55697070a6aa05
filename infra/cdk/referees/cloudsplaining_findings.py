"""What cloudsplaining says of the identity policies of templates, as JSON: python cloudsplaining_findings.py TEMPLATE.json..."""

import json
import sys

from cloudsplaining.scan.policy_document import PolicyDocument
from policies import policies

RISKS = {
    "PrivilegeEscalation": lambda p: [risk["type"] for risk in p.allows_privilege_escalation],
    "DataExfiltration": lambda p: p.allows_data_exfiltration_actions,
    "ResourceExposure": lambda p: p.permissions_management_without_constraints,
    "CredentialsExposure": lambda p: p.credentials_exposure,
    "ServiceWildcard": lambda p: p.service_wildcard,
    "InfrastructureModification": lambda p: p.infrastructure_modification,
}

judged, findings = 0, []
for template, role, document in policies(sys.argv[1:]):
    judged += 1
    policy = PolicyDocument(document)
    for risk, found in RISKS.items():
        actions = sorted(found(policy))
        if actions:
            findings.append({"template": template, "resource": role, "rule": risk, "text": " ".join(actions)})
json.dump({"judged": judged, "findings": findings}, sys.stdout)
