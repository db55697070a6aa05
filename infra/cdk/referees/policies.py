"""Identity policies of CloudFormation templates as IAM gets them: with intrinsic functions filled in by names that stand for what they give."""

import json
import os
import re

PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "us-west-2", "AWS::AccountId": "123456789012", "AWS::StackId": "stack", "AWS::URLSuffix": "amazonaws.com"}
ARNS = {
    "AWS::SQS::Queue": "arn:aws:sqs:us-west-2:123456789012:%s", "AWS::DynamoDB::Table": "arn:aws:dynamodb:us-west-2:123456789012:table/%s",
    "AWS::S3::Bucket": "arn:aws:s3:::%s", "AWS::Lambda::Function": "arn:aws:lambda:us-west-2:123456789012:function:%s",
    "AWS::IAM::Role": "arn:aws:iam::123456789012:role/%s", "AWS::Events::Rule": "arn:aws:events:us-west-2:123456789012:rule/%s",
}


def filled(value, kinds):
    """A value of a template with its intrinsic functions filled in; kinds are the types of its resources."""
    if isinstance(value, list):
        return [filled(item, kinds) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (name, of), = value.items()
        if name == "Fn::GetAtt":
            return ARNS[kinds[of[0]]] % of[0]
        if name == "Ref":
            return PSEUDO.get(of, of)
        if name == "Fn::Sub":
            text = of if isinstance(of, str) else of[0]
            return re.sub(r"\$\{([^}]+)\}", lambda m: PSEUDO.get(m[1]) or filled({"Fn::GetAtt": m[1].split(".")}, kinds), text)
        if name in ("Fn::Select", "Fn::Split", "Fn::ImportValue"):
            return "11111111-2222-3333-4444-555555555555"
    return {key: filled(item, kinds) for key, item in value.items()}


def policies(paths):
    """Each policy of the roles of templates: the template's name, the role's logical id, the document."""
    for path in paths:
        with open(path) as file:
            resources = json.load(file)["Resources"]
        kinds = {name: resource["Type"] for name, resource in resources.items()}
        for name, resource in resources.items():
            if resource["Type"] == "AWS::IAM::Role":
                for policy in resource["Properties"].get("Policies", []):
                    yield os.path.basename(path)[:-len(".json")], name, filled(policy["PolicyDocument"], kinds)
