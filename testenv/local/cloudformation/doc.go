// Package cloudformation reads templates of AWS CloudFormation as CDK synthesizes them: what resources there are, in which order
// they are made, and what their properties come to once the intrinsic functions are resolved. It is pure: nothing is deployed here.
// Whoever deploys says what a resource is called and has for attributes (Values); where the template gives every resource a name
// of its own, Named says so without anything being deployed.
//
// A section, a function or a type of resource this package does not know is an error, never passed over.
//
//	t, err := cloudformation.Parse(text)
//	s, err := t.With(cloudformation.Environment{Account: "123456789012", Region: "us-west-2", StackName: "joiner"}, nil)
//	properties, err := s.Properties("PlanQueue") // of the queue, without a function left in it
//	arn, err := s.Attribute("PlanQueue", "Arn")
//
// Source of what the functions mean: AWS CloudFormation template reference, "Intrinsic function reference" and "Pseudo
// parameters reference".
package cloudformation
