package dynamoledger

import (
	"context"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Registry is which clusters are attached, and what people stopped.
type Registry struct{ *table }

// Register writes a cluster's registration, replacing an older one.
func (r Registry) Register(ctx context.Context, reg model.Registration) error {
	entry, err := withDoc(key(registryPK, reg.Cluster), "registration of cluster "+reg.Cluster, reg)
	if err != nil {
		return err
	}
	return translate(r.write(ctx, r.put(entry, "", nil)), "register cluster %s", reg.Cluster)
}

// Clusters returns every registration that can be read, by name. Where some cannot the others are returned beside an
// error, Invalid with the code model.CodeUnreadCluster, that names them: one spoilt item stops no other cluster.
func (r Registry) Clusters(ctx context.Context) ([]model.Registration, error) {
	items, err := r.query(ctx, registryPK, "", false)
	if err != nil {
		return nil, err
	}
	registrations := make([]model.Registration, 0, len(items))
	var unread []string
	for _, entry := range items {
		if err := appendDecoded(entry, &registrations); err != nil {
			unread = append(unread, err.Error())
		}
	}
	if len(unread) > 0 {
		err = fault.New(fault.Invalid, model.CodeUnreadCluster,
			"%d of %d registrations in table %s cannot be read, and nothing"+
				" is done for their clusters (joiner attach CLUSTER --take-over writes one again): %s",
			len(unread), len(items), r.name, strings.Join(unread, "; "))
	}
	return registrations, err
}

// Cluster returns one registration; NotFound where the cluster was never attached, Invalid with the code
// model.CodeUnreadCluster where it cannot be read.
func (r Registry) Cluster(ctx context.Context, name string) (model.Registration, error) {
	var reg model.Registration
	entry, err := r.registration(ctx, name)
	if err != nil {
		return reg, err
	}
	if err := decodeWhole(entry, &reg); err != nil {
		return reg, fault.Wrap(fault.Invalid, model.CodeUnreadCluster, err,
			"read registration of cluster %s (joiner attach %s --take-over writes it again)", name, name)
	}
	return reg, nil
}

// registration reads the item of a registration. NotFound where there is none.
func (r Registry) registration(ctx context.Context, cluster string) (item, error) {
	out, err := r.getItem(ctx, key(registryPK, cluster))
	if err != nil {
		return nil, translate(err, "read registration of cluster %s", cluster)
	}
	if out.Item == nil {
		return nil, fault.New(fault.NotFound, "", "cluster %s is not attached", cluster)
	}
	return out.Item, nil
}

// Unregister deletes a cluster's registration. NotFound where there is none; Conflict where it is of another ARN than
// the one given, or somebody wrote it meanwhile.
func (r Registry) Unregister(ctx context.Context, reg model.Registration) error {
	entry, err := r.registration(ctx, reg.Cluster)
	if err != nil {
		return err
	}
	var found model.Registration
	if err := decode(entry, &found); err != nil {
		return err
	}
	if found.ARN != reg.ARN {
		return fault.New(fault.Conflict, "AnotherCluster", "cluster %s is registered as %q and not as %q",
			reg.Cluster, found.ARN, reg.ARN)
	}
	err = r.remove(ctx, key(registryPK, reg.Cluster), "#doc = :doc", item{":doc": entry["doc"]})
	return translate(err, "delete the registration of cluster %s", reg.Cluster)
}
