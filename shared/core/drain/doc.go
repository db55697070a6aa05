// Package drain says what the next step of emptying a claim's node is: cordon it, evict these pods, wait until then,
// end its instance, or nothing more. It remembers nothing: whatever was done shows in the claim's record, on the node,
// and in what EC2 says.
//
//	step := drain.Next(drain.View{Claim: claim, Node: &occupied, Replaced: true, NowUnix: now}, drain.Settings{})
//
// A drain is a sequence of such steps, each decided by what is read anew:
//
//	Draining     node without the taint of a drain                → Cordon
//	             pods that must leave and may be asked to now     → Evict
//	             pods that must leave and may not, or are leaving → Wait
//	             empty for a moment, volumes still attached       → Wait
//	             empty for a moment, volumes gone                 → Terminate
//	Terminating  EC2 says that the instance is shutting down       → Wait
//	             EC2 says that it was terminated                  → Done
//	             anything else                                    → Terminate
//
// Pods leave in tiers, each when the one before is empty: ordinary pods, ordinary daemons, critical pods, critical
// daemons. Nobody waits for pods that have ended, that the kubelet runs by itself, that tolerate the taint of a drain,
// or that ought to have gone a minute ago. A pod with do-not-disrupt is waited for.
//
// With a deadline, a pod is deleted from the deadline less its own grace on, with what is left until the deadline and
// at least a second, whatever tier it is in and whatever forbids its eviction: it has as much of its grace as there can
// be. At the deadline the instance ends. A node that has not been Ready for half an hour has its deadline then.
//
// Ages of pods, of conditions and of deletions are measured by the API server's clock alone, everything else by the
// ledger's.
package drain
