#!/usr/bin/env bash
# What an account and a cluster need once before Joiner is deployed, as joiner preflight names it: CDK's bootstrap stack, the add-on for
# Pod Identity, the service-linked role for spot, a kubeconfig, and the tag karpenter.sh/discovery of the subnets and the security group
# that the cluster was made with, where nothing has it. What is there already is left alone. Each command is printed before it runs.
#
#	CLUSTER=shop AWS_REGION=eu-central-1 tools/prepare.sh
set -euo pipefail
cd "$(dirname "$0")/.."
: "${CLUSTER:?the name of the EKS cluster}" "${AWS_REGION:?the region of the cluster}"
export AWS_REGION AWS_DEFAULT_REGION=$AWS_REGION # version 1 of the CLI knows the second alone

do_it() {
	echo "+ $*" >&2
	"$@"
}

account=$(aws sts get-caller-identity --query Account --output text)
if ! aws ssm get-parameter --name /cdk-bootstrap/hnb659fds/version >/dev/null 2>&1; then
	do_it infra/cdk/node_modules/.bin/cdk bootstrap "aws://$account/$AWS_REGION" # where no app is, which would want functions' zips
fi

if [ "$(aws eks describe-cluster --name "$CLUSTER" --query cluster.computeConfig.enabled --output text)" != True ] &&
	! aws eks describe-addon --cluster-name "$CLUSTER" --addon-name eks-pod-identity-agent >/dev/null 2>&1; then
	do_it aws eks create-addon --cluster-name "$CLUSTER" --addon-name eks-pod-identity-agent >/dev/null
fi

if ! aws iam get-role --role-name AWSServiceRoleForEC2Spot >/dev/null 2>&1; then
	do_it aws iam create-service-linked-role --aws-service-name spot.amazonaws.com >/dev/null
fi

network() { aws eks describe-cluster --name "$CLUSTER" --query "cluster.resourcesVpcConfig.$1" --output text | tr '\t' '\n' | grep -v '^None$' || true; }
tagged() { aws ec2 "describe-$1" --filters "Name=tag:karpenter.sh/discovery,Values=$CLUSTER" --query "$2" --output text; }
# tag KIND QUERY ID… tags what is named unless something of the kind has the tag, and waits until EC2 shows it.
tag() {
	local kind=$1 query=$2 i
	shift 2
	if [ "$#" -eq 0 ] || [ -n "$(tagged "$kind" "$query")" ]; then
		return
	fi
	do_it aws ec2 create-tags --tags "Key=karpenter.sh/discovery,Value=$CLUSTER" --resources "$@"
	for i in $(seq 30); do
		[ -z "$(tagged "$kind" "$query")" ] || return 0
		sleep 1
	done
	echo "EC2 does not show the tag of $* after $i seconds" >&2
	return 1
}
group=$(network clusterSecurityGroupId)
# shellcheck disable=SC2046 # one word each
tag subnets 'Subnets[].SubnetId' $(network 'subnetIds[]')
# shellcheck disable=SC2046
tag security-groups 'SecurityGroups[].GroupId' ${group:-$(network 'securityGroupIds[]')}

do_it aws eks update-kubeconfig --name "$CLUSTER"
