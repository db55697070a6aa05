// Package model holds the nouns that every part of Joiner uses, as plain data: what a cluster is (Pod, Node, Pool,
// Class), what can be bought (InstanceTypeInfo, InstanceType, Offer), what we asked for (Claim, Intent) and what a
// decision says (Snapshot in, Plan out).
//
// Nothing here does anything. Values are read-only once they are part of a Snapshot; whoever wants to try something
// forks first. Quantities are integers: CPU in milli-CPU, memory and storage in bytes, everything else counted; money
// in millionths of a US dollar per hour. Times are Unix seconds, 0 meaning "not yet" or "unknown".
//
// Translation from Kubernetes objects is adapter/ekscluster's, from EC2's answers adapter/ec2catalog's; algebra on
// requirements and resources is core/requirement's and core/resource's.
package model
