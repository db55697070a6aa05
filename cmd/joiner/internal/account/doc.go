// Package account looks at an AWS account and a region of it: what is there by which name, and the quotas, roles and
// keys that decide whether Joiner can be deployed and can launch. It only reads, by the permissions of the caller's
// configuration.
//
//	a, err := account.New(ctx, config)
//	findings, err := a.Quotas(ctx)
package account
