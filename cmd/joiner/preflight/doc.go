// Package preflight looks at an AWS account and an EKS cluster for what Joiner's stacks and chart find there, before
// anything is deployed: what would make a deployment or a launch fail, and the command that mends each. What still
// counts afterwards joiner doctor looks at by the same checks.
//
//	site, err := preflight.New(ctx, config, plan, connect)
//	findings := check.Run(ctx, site.Checks(), check.Settings{})
//
// It only reads, by the permissions of the caller's configuration; Rights lists them.
package preflight
