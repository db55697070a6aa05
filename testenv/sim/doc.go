// Package sim plays hours of a whole control plane in seconds: the production flows over the models of package world,
// under one clock and one seed.
//
// Every invocation is a process whose operations, reads too, all pass a bus. A process runs alone until it asks for one,
// then it is parked; the engine draws how long the operation takes on its way there and back, what goes wrong with it,
// and who runs next. So the order of things, every fault and every delay follow from the seed, and the same seed makes the
// same run to the last byte. Time passes only between operations, and jumps over what is idle.
//
// Beside faults, of which auditors hear and which give rules about time their time anew, people and tenants do what they may: they lower
// limits between a plan and its launch, forbid evictions, stop disruption, apply DaemonSets, ask for very much, and in one run of twenty
// are another cluster on the same control plane. Nobody excuses that: all that is promised holds beside it.
//
// DrawDevices has pods claim GPUs (dynamic resource allocation), which a driver on each node publishes some time after
// the node joined, or late.
//
// What AWS leaves open (package reading) is a choice of the world as far as it reaches the flows: whether a launch that came to nothing uses
// up its token, how soon EC2 shows an instance and knows a launch template and an instance profile, how a warning names its instance. DrawReadings
// draws it; else it is what the environment says. The other doubts are settled below the flows' ports, by adapters and by policies that no
// world has.
//
// Auditors judge the world's log as it grows. The last minutes of a run are without faults: everything must come right in
// them.
package sim
