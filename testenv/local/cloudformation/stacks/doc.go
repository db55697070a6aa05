// Package stacks keeps stacks and change sets as CloudFormation does, and speaks its wire protocol: what `cdk`, the AWS CLI and the SDKs ask is answered, and
// what a template describes is made, changed and taken away by package deploy, in the background, one event after another.
//
// Modeled are the order within a stack, exports and who imports them, termination protection, the policies of deletion and replacement, rollback, names
// that exist already, deletions that fail and CloudFormation's limits. What single services check is theirs: a table that is protected, a bucket that is not
// empty, a reservation of concurrency that the account has no room for, an event source's range of concurrency.
//
// Not modeled: nested stacks, imports of resources, drift, stack sets, transforms. The execution role that a stack is deployed with has to let
// CloudFormation take it on; what it may do is not asked resource by resource.
//
//	m := stacks.New(stacks.Options{Account: account, Object: cloud.S3.Get})
//	cloud.Register("cloudformation", stacks.NewHandler(m))
//
// Sources: AWS CloudFormation API reference; user guide, "Stack status codes", "DeletionPolicy attribute", "UpdateReplacePolicy attribute", "CloudFormation quotas".
package stacks
