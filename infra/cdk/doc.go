// Command cdk describes what Joiner is made of on AWS: one stack for an account and region, called joiner, and a small one
// for each cluster, called joiner-cluster-NAME. It is the only place where that is written down: the tests' model of AWS, the
// table of permissions and the command line read names and settings from the templates it makes, which lie normalized in templates.
//
//	cd infra/cdk && npm ci
//	npx cdk deploy --all -c cluster=NAME
//
// Whatever people choose they choose by context (-c KEY=VALUE, or cdk.json); options.go has the list. Nothing is looked up:
// synthesis needs no network and no account.
//
// Programs that are none of ours check the templates: see referees.
//
// Resources are CloudFormation's own, with names that stay, so that a template says exactly what its source says.
package main
