// Package ecr models Amazon ECR: repositories, the token by which clients log in, and the front of its registry, which lets in who has the token and
// refuses what names no repository. What is behind the front is somebody else's registry: any that speaks OCI's distribution protocol.
//
//	m := ecr.New(ecr.Options{})
//	cloud.Register("ecr", ecr.NewHandler(m))
//	m.ServeRegistry("127.0.0.1:5000", behind)
//
// Sources: Amazon ECR API reference; Amazon ECR user guide, "Private registry authentication"; OCI distribution specification.
package ecr
