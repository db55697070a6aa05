// Package testenv holds what proves Joiner on one machine: models of AWS on the real wire protocols, a real Kubernetes
// control plane, a Lambda runtime that runs the real binaries, and the rules of the house (floors_test.go).
//
// Nothing that ships imports anything below this folder.
package testenv
