// Package deploy makes what a template of CloudFormation describes: resources in the model of AWS, functions in the model of
// Lambda, rules and schedules that send, roles whose policies count from then on.
//
// A type of resource that is not known here is an error, and so is a property that no model honors: what a template says and
// nothing does must not pass for tested. What may be passed over is written down, with its reason, in ignored.
//
//	a := deploy.NewAccount(deploy.Account{Cloud: c, EC2: machines, Runtime: runner, Code: zips})
//	region, err := a.Deploy(ctx, template, cloudformation.Environment{StackName: "joiner"})
//	url, err := region.Ref("PlanQueue")
//
// Source of what properties mean: AWS CloudFormation template reference.
package deploy
