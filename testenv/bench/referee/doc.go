// Package referee has Karpenter's AWS provider, taken as a library at the version go.mod names, judge what Joiner says to AWS. It is a
// module of its own: nothing of the product imports it.
//
// Both run against the same model of AWS (testenv/local/cloud), over its wire, with the same EC2NodeClass, NodePool and pod
// (scenarios/*.yaml), and what each sends is written down. Compared are
//
//   - rights: what our requests ask of IAM is decided by the controller's policy that Karpenter publishes (karpenter-policy.json), and
//     what Karpenter's requests ask by the policies that our templates give a cluster's programs;
//   - requests: launch templates, fleets and dry runs, field by field;
//   - user data: parsed, setting by setting;
//   - machines: capacity, overhead, labels and prices of every instance type both know, and the tables that Karpenter generates.
//
// Each difference stands in DIFFERENCES.md with its reason. A difference that does not stand there fails, and so does a row that nothing
// differs by any more.
//
//	make referee
package referee
