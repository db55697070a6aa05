package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Manifests are where clusters' snapshots are, as their watchers say.
type Manifests struct{ *table }

// NextEpoch counts the cluster's epoch up by one for a new leading watcher and returns it. Whoever led before cannot
// move the manifest once the new leader has.
func (m Manifests) NextEpoch(ctx context.Context, cluster, owner string) (int64, error) {
	input := m.update(key(watchPK(cluster), epochSK), "SET #owner = :owner ADD #epoch :one", "",
		item{":owner": text(owner), ":one": number(1)})
	input.ReturnValues = types.ReturnValueUpdatedNew
	out, err := m.client.UpdateItem(ctx, input)
	if err != nil {
		return 0, translate(err, "increment the epoch of cluster %s", cluster)
	}
	return numberOf(out.Attributes, "epoch"), nil
}

// AdvanceManifest moves the snapshot manifest. Conflict where it is of a later epoch, or of the same and further on. It
// reports whether the manifest there was had been flagged by Lost, and leaves no flag.
func (m Manifests) AdvanceManifest(ctx context.Context, manifest model.Manifest) (lost bool, err error) {
	entry, err := withDoc(key(watchPK(manifest.Cluster), manifestSK), "manifest of cluster "+manifest.Cluster, manifest)
	if err != nil {
		return false, err
	}
	entry["epoch"], entry["headSeq"] = number(manifest.Epoch), number(manifest.HeadSeq)
	entry["heartbeat"] = number(manifest.HeartbeatAt)
	input := alone(m.put(entry,
		"attribute_not_exists(PK) OR #epoch < :epoch OR (#epoch = :epoch AND #headSeq <= :head)",
		item{":epoch": number(manifest.Epoch), ":head": number(manifest.HeadSeq)}))
	input.ReturnValues = types.ReturnValueAllOld
	out, err := m.client.PutItem(ctx, input)
	if err != nil {
		return false, translate(err, "write the manifest of cluster %s at %d/%d", manifest.Cluster, manifest.Epoch,
			manifest.HeadSeq)
	}
	return flagged(out.Attributes), nil
}

// Heartbeat says that the watcher of the epoch lived at unix. Conflict where the manifest is of a later epoch; NotFound
// where there is no manifest yet. It reports whether the manifest is flagged by Lost, and leaves the flag.
func (m Manifests) Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (lost bool, err error) {
	input := m.update(key(watchPK(cluster), manifestSK), "SET #heartbeat = :at", "#epoch = :epoch",
		item{":epoch": number(epoch), ":at": number(unix)})
	input.ReturnValues, input.ReturnValuesOnConditionCheckFailure = types.ReturnValueAllNew, returnOld
	out, err := m.client.UpdateItem(ctx, input)
	if there, failed := unmet(err); failed && there == nil {
		return false, fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	}
	if err != nil {
		return false, translate(err, "write a heartbeat for epoch %d of cluster %s", epoch, cluster)
	}
	return flagged(out.Attributes), nil
}

// Lost flags the manifest as one that names an object which is gone. A manifest that has moved on, or is flagged, is
// left alone, which is no error. The flag goes with the next write of the manifest.
func (m Manifests) Lost(ctx context.Context, manifest model.Manifest) error {
	_, err := m.client.UpdateItem(ctx, m.update(key(watchPK(manifest.Cluster), manifestSK), "SET #lost = :head",
		"#epoch = :epoch AND #headSeq = :head AND attribute_not_exists(#lost)",
		item{":epoch": number(manifest.Epoch), ":head": number(manifest.HeadSeq)}))
	if _, moved := unmet(err); moved {
		return nil
	}
	return translate(err, "record that an object of manifest %d/%d of cluster %s is missing",
		manifest.Epoch, manifest.HeadSeq, manifest.Cluster)
}

// Manifest reads the cluster's snapshot manifest; nil where its watcher never published. It asks for no more than a
// watcher may read.
func (m Manifests) Manifest(ctx context.Context, cluster string) (*model.Manifest, error) {
	items, _, err := m.batchGet(ctx, []item{key(watchPK(cluster), manifestSK)})
	if err != nil {
		return nil, err
	}
	var seen model.Ledger
	for _, entry := range items {
		setManifest(&seen, cluster, entry)
	}
	if seen.ManifestFault != "" {
		return nil, fault.New(fault.Invalid, "Malformed", "%s", seen.ManifestFault)
	}
	return seen.Manifest, nil
}
