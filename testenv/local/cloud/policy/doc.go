// Package policy decides as IAM does whether a request is allowed: identity policies, permissions boundaries, session policies, the
// policies of resources and the trust policies of roles, an explicit deny before all else. It is pure. What a request of a service
// asks of IAM, action by action and resource by resource, is package access.
//
//	d, err := policy.Parse(text, policy.Identity)
//	decision := policy.Decide(
//		policy.Request{Principal: policy.Role("arn:aws:iam::123456789012:role/reaper"), Action: "ec2:TerminateInstances", Resource: arn, Context: tags},
//		policy.Policies{Identity: []policy.Attached{{Name: "reap", Document: d}}})
//	// decision.Allowed, and by which statement
//
// Whatever of the policy language is not evaluated here is an error of Parse, never passed over: elements, operators, condition
// keys, kinds of principals. Sources: IAM user guide, "Policy evaluation logic", "IAM JSON policy elements reference", "Condition
// operators", "Multivalued context keys", "AWS global condition context keys", "Permissions boundaries for IAM entities"; what
// they leave open is in testenv/local/cloud/ASSUMPTIONS.md.
package policy
