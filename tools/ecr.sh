#!/usr/bin/env bash
# The watcher's image into the repository joiner-watcher of the account's own registry (ECR), which is made where it is not there. No
# container engine is needed: the image is made of the programs alone, and the registry's token is asked of AWS. What the chart
# wants to know of it is written to dist/image.yaml, for helm's --values.
#
#	AWS_REGION=eu-central-1 tools/ecr.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?the version, which is the tag}
: "${AWS_REGION:?the region of the registry}"
export AWS_REGION AWS_DEFAULT_REGION=$AWS_REGION # version 1 of the CLI knows the second alone

repository=$(aws ecr describe-repositories --repository-names joiner-watcher --query 'repositories[0].repositoryUri' --output text 2>/dev/null ||
	aws ecr create-repository --repository-name joiner-watcher --query repository.repositoryUri --output text)
REGISTRY_USER=AWS REGISTRY_PASSWORD=$(aws ecr get-login-password)
export REGISTRY_USER REGISTRY_PASSWORD
digest=$(cd tools && "${GO:-go}" run ./image -out ../dist/watcher -push "$repository:$version" amd64=../dist/amd64/watcher arm64=../dist/arm64/watcher)
printf 'image:\n  repository: %s\n  digest: %s\n  tag: "%s"\n' "$repository" "$digest" "$version" >dist/image.yaml
echo "$repository@$digest"
