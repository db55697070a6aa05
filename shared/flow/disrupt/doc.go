// Package disrupt is the disruption function: each minute, and when something changed, it decides what of a cluster to disrupt voluntarily,
// records that as commands, and moves commands on: its nodes are tainted and looked at again, replacements are asked of
// provision, and once those are ready the claims are Draining, which is where interruption takes over. What does not hold is
// undone. It calls no EC2 at all.
package disrupt
