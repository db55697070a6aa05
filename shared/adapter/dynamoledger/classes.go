package dynamoledger

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// Classes are what is known of EC2NodeClasses.
type Classes struct{ Claims }

// PutClass writes a class record on condition of its version, and returns it with the next one. Conflict where the
// stored record is at another.
func (c Classes) PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error) {
	next := record
	next.Version++
	entry, err := withDoc(key(clusterPK(cluster), classSK+record.Name), "record of EC2NodeClass "+record.Name, next)
	if err != nil {
		return record, err
	}
	if err := c.write(ctx, c.putNext(entry, "ver", record.Version, nothingIsThere)); err != nil {
		return record, translate(err, "write the record of EC2NodeClass %s at version %d", record.Name, record.Version)
	}
	return next, nil
}

// DeleteClass removes a class record on condition of its version. One that is not there is no error; Conflict where it
// is at another version.
func (c Classes) DeleteClass(ctx context.Context, cluster string, record model.ClassRecord) error {
	err := c.remove(ctx, key(clusterPK(cluster), classSK+record.Name), "attribute_not_exists(PK) OR #ver = :ver",
		item{":ver": number(record.Version)})
	return translate(err, "delete the record of EC2NodeClass %s at version %d", record.Name, record.Version)
}
