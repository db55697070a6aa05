// Package nodes holds tests of what instances become by the user data that Joiner writes for them: nodes of the
// capacity that was planned with, labels, taints, and reservations, for each AMI family.
package nodes
