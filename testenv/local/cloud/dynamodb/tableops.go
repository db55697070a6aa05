package dynamodb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// CreateTable makes a table. It is CREATING in the answer and ACTIVE after the duration set for tables.
func (m *Model) CreateTable(_ context.Context, in CreateTableInput) (*TableOutput, error) {
	name, err := tableName(in.TableName)
	if err != nil {
		return nil, err
	}
	t, err := parseTable(in)
	if err != nil {
		return nil, err
	}
	now, end := m.begin()
	defer end()
	if m.tables[name] != nil {
		return nil, errInUse("Table already exists: %s", name)
	}
	t.name, t.created, t.activeAt = name, now, now.Add(m.durations.Table)
	t.id = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s@%d", m.arn(t), now.UnixNano())).String()
	t.setReadLag(m.lags.Read)
	t.meter = &m.meter
	m.tables[name] = t
	d := m.describe(t, now)
	d.TableStatus = "CREATING"
	return &TableOutput{TableDescription: d}, nil
}

// named returns the table whatever its state.
func (m *Model) named(parameter string) (*table, error) {
	name, err := tableName(parameter)
	if err != nil {
		return nil, err
	}
	t := m.tables[name]
	if t == nil {
		return nil, errTableNotFound(name)
	}
	return t, nil
}

// DescribeTable describes a table in any state.
func (m *Model) DescribeTable(_ context.Context, in TableInput) (*DescribeTableOutput, error) {
	now, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	return &DescribeTableOutput{Table: m.describe(t, now)}, nil
}

// DeleteTable deletes a table with its items. It is DELETING for the duration set for tables.
func (m *Model) DeleteTable(_ context.Context, in TableInput) (*TableOutput, error) {
	now, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	switch {
	case t.settings.protected:
		return nil, invalidf("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	case t.status(now) == "CREATING":
		return nil, errInUse("Attempt to change a resource which is still in use: Table is being created: %s", t.name)
	case t.goneAt.IsZero():
		t.goneAt = now.Add(m.durations.Table)
	}
	d := m.describe(t, now)
	d.TableStatus = "DELETING"
	m.advance(now)
	return &TableOutput{TableDescription: d}, nil
}

// ListTables lists names in order, at most 100 at once.
func (m *Model) ListTables(_ context.Context, in ListTablesInput) (*ListTablesOutput, error) {
	limit := 100
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > 100 {
		return nil, outside("limit", limit, "Member must have value between 1 and 100")
	}
	_, end := m.begin()
	defer end()
	names := []string{}
	for name := range m.tables {
		if name > in.ExclusiveStartTableName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) <= limit {
		return &ListTablesOutput{TableNames: names}, nil
	}
	return &ListTablesOutput{TableNames: names[:limit], LastEvaluatedTableName: names[limit-1]}, nil
}

func (t *table) status(now time.Time) string {
	switch {
	case !t.goneAt.IsZero():
		return "DELETING"
	case now.Before(t.activeAt):
		return "CREATING"
	}
	return "ACTIVE"
}

func (m *Model) arn(t *table) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", m.region, m.account, t.name)
}

// describe counts items as they are now; the service counts some hours behind.
func (m *Model) describe(t *table, now time.Time) TableDescription {
	d := TableDescription{
		AttributeDefinitions: t.defined, TableName: t.name, KeySchema: t.key.elements(), TableStatus: t.status(now),
		CreationDateTime: epochSeconds(t.created), ProvisionedThroughput: ThroughputDescription{ProvisionedThroughput: t.settings.throughput},
		TableArn: m.arn(t), TableId: t.id, DeletionProtectionEnabled: t.settings.protected,
	}
	d.ItemCount, d.TableSizeBytes = t.items.count()
	if t.settings.billing == payPerRequest {
		d.BillingModeSummary = &BillingModeSummary{BillingMode: payPerRequest, LastUpdateToPayPerRequestDateTime: epochSeconds(t.created)}
		d.WarmThroughput = &WarmThroughput{ReadUnitsPerSecond: 12000, WriteUnitsPerSecond: 4000, Status: "ACTIVE"}
	}
	if key := t.settings.key; key != "" {
		d.SSEDescription = &SSEDescription{SSEType: "KMS", Status: "ENABLED", KMSMasterKeyArn: key}
	}
	if t.settings.class != "" {
		d.TableClassSummary = &TableClassSummary{TableClass: t.settings.class}
	}
	for _, ix := range t.indexes {
		described := m.describeIndex(t, ix, now)
		if ix.local {
			d.LocalSecondaryIndexes = append(d.LocalSecondaryIndexes, described)
		} else {
			d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, described)
		}
	}
	return d
}

func (m *Model) describeIndex(t *table, ix *index, now time.Time) IndexDescription {
	d := IndexDescription{
		IndexName: ix.name, KeySchema: ix.key.elements(), Projection: ix.projection,
		IndexArn: m.arn(t) + "/index/" + ix.name,
	}
	d.ItemCount, d.IndexSizeBytes = ix.replica.catchUp(now).count()
	if !ix.local {
		d.IndexStatus = t.status(now)
		d.ProvisionedThroughput = &ThroughputDescription{ProvisionedThroughput: ix.throughput}
	}
	return d
}

func epochSeconds(t time.Time) float64 {
	return float64(t.UnixMilli()) / 1000
}
