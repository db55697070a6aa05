// Package top has the command joiner top: a cluster's nodes with their pods, load and price, and the pods that are
// pending, in a terminal. It shows what the console shows, of the same data.
//
//	command := top.New()
package top
