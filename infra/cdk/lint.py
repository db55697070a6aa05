"""Judges every identity policy of CloudFormation templates by parliament: python lint.py TEMPLATE.json...

Intrinsic functions are filled in by names that stand for what they give. Findings parliament is known to be wrong or out of date
about are listed in KNOWN with the reason; one that is listed and not found any more fails, too.
"""

import json
import re
import sys

import parliament

PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-west-2", "AWS::AccountId": "123456789012", "AWS::StackId": "stack"}

# Why what parliament says is not so, by an expression that matches it.
KNOWN = {
    r"RESOURCE_MISMATCH: (?=.*'ec2:(CreateFleet|RunInstances)')(?!.*'(ssm|iam):)":
        "a launch touches resources of many kinds, each of which has a statement with its own condition; parliament asks for all in one",
    r"RESOURCE_MISMATCH: \[\{'action': 'ssm:GetParameter'": "AWS's public parameters have no account in their ARNs",
    r"UNKNOWN_CONDITION_FOR_ACTION: Unknown condition lambda:SourceFunctionArn": "a key of every call that a function's code makes (Lambda developer guide, Granting permissions to VPC resources)",
    r"RESOURCE_STAR: \['ec2:AssignPrivateIpAddresses', 'ec2:CreateNetworkInterface', 'ec2:DeleteNetworkInterface', 'ec2:UnassignPrivateIpAddresses'\]":
        "Lambda attaches functions to a VPC by these before there is any interface to name",
}


def filled(value):
    """A value of a template with its intrinsic functions filled in."""
    if isinstance(value, list):
        return [filled(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, of), = value.items()
        if name == "Fn::GetAtt":
            return ARNS[KINDS[of[0]]] % of[0]
        if name == "Ref":
            return PSEUDO.get(of, of)
        if name == "Fn::Sub":
            return re.sub(r"\$\{([^}]+)\}", lambda m: PSEUDO.get(m[1]) or filled({"Fn::GetAtt": m[1].split(".")}), of if isinstance(of, str) else of[0])
        if name in ("Fn::Select", "Fn::Split", "Fn::ImportValue"):
            return "11111111-2222-3333-4444-555555555555"
    return {key: filled(item) for key, item in value.items()}


ARNS = {
    "AWS::SQS::Queue": "arn:aws:sqs:us-west-2:123456789012:%s", "AWS::DynamoDB::Table": "arn:aws:dynamodb:us-west-2:123456789012:table/%s",
    "AWS::S3::Bucket": "arn:aws:s3:::%s", "AWS::Lambda::Function": "arn:aws:lambda:us-west-2:123456789012:function:%s",
    "AWS::IAM::Role": "arn:aws:iam::123456789012:role/%s", "AWS::Events::Rule": "arn:aws:events:us-west-2:123456789012:rule/%s",
}
KINDS = {}


def policies(template):
    """Every policy of a template, with where it is."""
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        for policy in properties.get("Policies", []) if resource["Type"] == "AWS::IAM::Role" else []:
            yield name, policy["PolicyDocument"]


def main():
    used, failed, judged = set(), 0, 0
    for path in sys.argv[1:]:
        with open(path) as file:
            template = json.load(file)
        KINDS.clear()
        KINDS.update({name: resource["Type"] for name, resource in template["Resources"].items()})
        for name, document in policies(template):
            judged += 1
            policy = parliament.analyze_policy_string(json.dumps(filled(document)))
            for finding in policy.findings:
                text = f"{finding.issue}: {finding.detail}"
                why = next((key for key in KNOWN if re.match(key, text)), None)
                if why:
                    used.add(why)
                    continue
                failed += 1
                print(f"{path}: {name}: {text} {finding.location.get('string', '') if isinstance(finding.location, dict) else ''}")
    for key in KNOWN.keys() - used:
        failed += 1
        print(f"KNOWN lists {key!r}, which is not found any more")
    print(f"{judged} policies judged, {failed} findings beyond the known ones")
    sys.exit(1 if failed else 0)


main()
