// Package publish is the watcher's flow: it keeps the state of a cluster, publishes it, and says when there is
// something to look at.
//
// It decides when changes become a delta or a new full snapshot, which changes open a batch (a pod that nothing can
// hold, a node of ours that is starting, a pool, class or CapacityBuffer that changed, room of buffers that may be
// taken), when a batch closes, and when to send a hint again for what still waits; of Nodes and NodeClaims that
// somebody deletes it tells those who empty them, once for all of a moment. It decides nothing about scaling. It leaves
// the encoding to package wire, objects, manifest and queue to its ports, and who leads to the program: only the leader
// publishes, under an epoch of its own, and a leader whose epoch is over learns so from the manifest and stops.
//
// For a batch the order is delta, manifest, hint: whoever gets the hint finds the state it names. While one of them
// fails the newest state is kept and tried again with growing pauses; nothing is lost, what gathered meanwhile goes in
// one delta and one hint.
//
// Cost: a cluster without changes causes nothing but a heartbeat each ten seconds (260,000 small writes a month, about
// $0.16), and one without instances of ours one each thirty. Changes nobody waits for are published at most each five
// seconds: at worst 520,000 puts and as many manifest writes a month (about $3), in practice far fewer. A batch costs
// one put, one write and one message.
//
//	f := publish.New(publish.Config{Cluster: "prod", Owner: "watcher-0", Publisher: store, Manifests: ledger, Queue: queue,
//		Now: time.Now, Wait: wait})
//	f.Observe(change)   // from the watch, leading or not
//	err := f.Lead(ctx)  // while holding the lease
package publish
