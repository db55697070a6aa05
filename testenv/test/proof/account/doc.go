// Package account is a whole modeled account of AWS in one process, without a port: what `joiner proof` is tried in.
//
// Time stands still until somebody waits: Sleep of its clock moves it on, and so does a long poll of a queue. A run of all
// probes takes seconds. Beside the models of testenv/local/cloud it has what those leave out and probes need: roles with inline
// policies and tags, sessions with policies of their own, rules of EventBridge that are made over the wire, the limits of Lambda.
package account
