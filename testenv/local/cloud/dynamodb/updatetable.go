package dynamodb

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// UpdateTable changes billing, protection, class and global indexes. A new index is complete at once.
func (m *Model) UpdateTable(_ context.Context, in UpdateTableInput) (*TableOutput, error) {
	if in.StreamSpecification != nil {
		return nil, invalidf("StreamSpecification is not modelled")
	}
	if err := checkEnum("billingMode", in.BillingMode, provisioned, payPerRequest); err != nil {
		return nil, err
	}
	now, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	if t.status(now) != "ACTIVE" {
		return nil, errInUse("Attempt to change a resource which is still in use: Table is being %s: %s", t.status(now), t.name)
	}
	for _, u := range in.GlobalSecondaryIndexUpdates {
		if err := t.updateIndex(u, in.AttributeDefinitions); err != nil {
			return nil, err
		}
	}
	t.updateSettings(in)
	return &TableOutput{TableDescription: m.describe(t, now)}, nil
}

func (t *table) updateSettings(in UpdateTableInput) {
	s := &t.settings
	if in.BillingMode != "" {
		s.billing = in.BillingMode
	}
	if in.ProvisionedThroughput != nil {
		s.throughput = *in.ProvisionedThroughput
	}
	if s.billing == payPerRequest {
		s.throughput = ProvisionedThroughput{}
	}
	if in.DeletionProtectionEnabled != nil {
		s.protected = *in.DeletionProtectionEnabled
	}
	if in.TableClass != "" {
		s.class = in.TableClass
	}
	if in.SSESpecification != nil {
		s.key = in.SSESpecification.KMSMasterKeyId
	}
}

func (t *table) updateIndex(u IndexUpdate, definitions []AttributeDefinition) error {
	switch {
	case u.Create != nil:
		return t.createIndex(*u.Create, definitions)
	case u.Delete != nil:
		return t.deleteIndex(u.Delete.IndexName)
	case u.Update != nil:
		ix := t.index(u.Update.IndexName)
		if ix == nil {
			return invalidf("The table does not have the specified index: %s", u.Update.IndexName)
		}
		if u.Update.ProvisionedThroughput != nil {
			ix.throughput = *u.Update.ProvisionedThroughput
		}
		return nil
	}
	return invalidf("One or more parameter values were invalid: One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
}

// createIndex adds an index and fills it; attributes new to the table must be declared.
func (t *table) createIndex(in IndexInput, definitions []AttributeDefinition) error {
	defined := slices.Clone(t.defined)
	for _, d := range definitions {
		if !slices.Contains(defined, d) {
			defined = append(defined, d)
		}
	}
	kinds, err := parseDefinitions(defined)
	if err != nil {
		return err
	}
	ix, err := parseIndex(in, false, t.key, kinds)
	if err != nil {
		return err
	}
	if t.index(ix.name) != nil {
		return errInUse("Attempting to create an index which already exists")
	}
	t.defined, t.indexes = defined, append(t.indexes, ix)
	if err := t.checkAllUsed(kinds); err != nil {
		t.indexes = t.indexes[:len(t.indexes)-1]
		return err
	}
	t.eachItem(func(item attribute.Item) {
		if part := ix.project(t, item); part != nil {
			ix.replica.view.put(part)
		}
	})
	return nil
}

func (t *table) deleteIndex(name string) error {
	ix := t.index(name)
	if ix == nil || ix.local {
		return errNoTable()
	}
	t.indexes = slices.DeleteFunc(t.indexes, func(other *index) bool { return other == ix })
	used := map[string]bool{}
	for _, k := range t.keys() {
		for _, a := range k.attributes() {
			used[a.name] = true
		}
	}
	t.defined = slices.DeleteFunc(slices.Clone(t.defined), func(d AttributeDefinition) bool { return !used[d.AttributeName] })
	return nil
}

// keys returns the key of the table and of every index.
func (t *table) keys() []keySchema {
	keys := []keySchema{t.key}
	for _, ix := range t.indexes {
		keys = append(keys, ix.key)
	}
	return keys
}

func (t *table) eachItem(visit func(attribute.Item)) {
	for _, p := range t.items.order {
		for _, r := range p.rows {
			visit(r.item)
		}
	}
}
