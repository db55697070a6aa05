// Package sts is the model of identity: who holds which access key, which
// roles there are and who may assume them, and the STS actions over that. It
// stands in for the small part of IAM the environment needs, and for the
// TokenReview webhook with which EKS turns a presigned GetCallerIdentity URL
// into a Kubernetes user. Clusters that EKS does not run have the same webhook
// by aws-iam-authenticator (Authenticator), and OIDC providers of their own.
//
// It decides who signed a request (it implements sigv4.Keys for the front
// door) and who may become whom. It evaluates no permission policies: an
// identity that is known may call every action of every service.
//
//	m := sts.NewModel(sts.Options{Clock: clock.System(), Account: "123456789012"})
//	m.AddRole(sts.Role{Name: "cluster-a", TrustedARNs: []string{functionRoleARN}})
//	creds, err := m.Assume(functionRoleARN, "provision", time.Hour)
package sts
