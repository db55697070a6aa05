// Package handover runs Karpenter's own controller, built from its module at the version ../go.mod names, on the stack of testenv: it launches a
// cluster's nodes, Joiner takes them over, and hands them back. Nodes and pods are to stay what they are.
//
//	make handover
package handover
