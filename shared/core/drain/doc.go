// Package drain says what the next step of emptying a claim's node is: cordon it, evict these pods, wait until then, end
// its machine, or nothing more. It remembers nothing: whatever was done shows in the claim's record, on the node, and in
// what EC2 says.
//
//	step := drain.Next(drain.View{Claim: claim, Node: &occupied, Replaced: true, NowUnix: now}, drain.Settings{})
package drain
