// Package eks is a model of Amazon EKS as seen by those who use a cluster:
// describing it and deciding who may enter. Clusters are registered from Go with
// a real endpoint and certificate authority; access entries are made on the wire
// or from Go, and Lookup is what a token webhook asks. It decides nothing about
// tokens: that is package sts.
//
//	m := eks.New(eks.Options{})
//	arn := m.AddCluster(eks.Cluster{Name: "dev", Version: "1.36", Endpoint: url, CertificateAuthority: pem})
//	m.AddAccessEntry(eks.AccessEntry{Cluster: "dev", PrincipalARN: role, Groups: []string{"joiner"}})
//	c.Register("eks", eks.NewHandler(m))
package eks
