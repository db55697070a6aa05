// Package local is the root of what runs AWS and EKS on one computer, without Docker and without an account: models
// of AWS's services behind one port, CloudFormation and IAM, Lambda's runtime, a real Kubernetes control plane, and
// instances that become its nodes. README.md says how to start each, and the programs below example do.
package local
