// Package rights holds the table of what each program may do by the templates of infra/cdk, and what it must not be
// able to do: questions are decided by the policies of a region with two clusters, as the model of AWS decides them.
//
//	row{"compromised watcher", "reads the ledger", ofCluster("watcher"), "dynamodb:GetItem", ledger, nil, false}
//
// The adapters are also run by these policies, under both readings of what AWS leaves open.
package rights
