// Package s3snapshot keeps snapshots and decision records in an S3 bucket.
//
// It decides the layout of keys, that no object is ever written over, and what of a snapshot is kept in memory between
// calls. It leaves the encoding to package wire, and when to write which object to flow/publish.
//
//	snap/<cluster>/<epoch>/full snapshot-<seq>                a whole cluster
//	snap/<cluster>/<epoch>/seg-<seq>                 what changed since seq-1
//	decisions/<cluster>/<day>/<id>.json.gz           a decision record
//	decisions/<cluster>/<day>/disrupt-<id>.json.gz   one about disruption
//	removals/<cluster>/<day>/<claim>.json.gz         the record of an instance's end
//
// Numbers in keys have 20 digits, so that keys sort as their numbers do. Every object carries the SHA-256 of its
// content as metadata: writing the same bytes again succeeds, other bytes under a key that exists are a Conflict, and
// so a watcher that lost its lease cannot change what a function may have read.
//
//	store := s3snapshot.New(s3.NewFromConfig(config), "joiner-snapshots")
//	key, err := store.PutSnapshot(ctx, "prod", 3, 1, full)
//	snapshot, err := store.SnapshotAt(ctx, manifest)
package s3snapshot
