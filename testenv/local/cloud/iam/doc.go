// Package iam is a model of the part of AWS Identity and Access Management that
// has to do with instance profiles: which there are, which role each holds, and
// how they are made. The profiles themselves are the EC2 model's, because it is
// EC2 that refuses a launch whose profile does not exist; this package serves
// them on the wire protocol of IAM (version 2010-05-08). Profiles have paths and
// tags, hold at most one role, and are deleted once they hold none.
//
// What callers may do is decided by the policies of the front door (wire.GuardOf),
// and by ec2.Model.Deny. Who may assume a role is the business of package sts.
//
//	m := ec2.New(ec2.Options{Clock: clock.System()})
//	m.AddInstanceProfile("nodes", "node-role")
//	c.Register("iam", iam.NewHandler(m))
package iam
