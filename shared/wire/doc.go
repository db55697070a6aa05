// Package wire says what crosses a process boundary and how: the hints that go through the queue, and snapshots as they
// lie in the object store, a full snapshot followed by deltas, a region's instance catalog, and what AWS says of
// instances in events of EventBridge, which others define and this only reads.
//
// It decides the encodings, their versions and their size limits, and refuses with fault.Invalid what does not keep to
// them; no input makes a decoder panic or take memory beyond its limits. It leaves to others who sends what when
// (flow/publish, flow/catalog), where bytes are kept (adapter/s3snapshot, adapter/s3catalog, adapter/sqsqueue), and
// what the nouns mean (package model).
//
// A hint is JSON. A full snapshot is the whole cluster, a delta the objects changed since the sequence number before
// it; both are gzip over a JSON head and, because pods are many and alike, binary columns of pods that refer to a
// dictionary of shapes:
//
//	full, err := wire.EncodeSnapshot(snapshot) // seq 7
//	next, err := wire.EncodeDelta(delta)       // seq 8
//	before, err := wire.DecodeSnapshot(full)
//	change, err := wire.DecodeDelta(next)
//	after, err := wire.Apply(before, change)   // seq 8; before is as it was
//
// A catalog is the same way a JSON head with the facts of each type and binary columns of offerings, which are many and
// alike.
//
// Versions: a reader ignores fields it does not know, so adding one needs no new version. A change that an old reader
// would misread gets the next version number, and readers are deployed before the first writer.
package wire
