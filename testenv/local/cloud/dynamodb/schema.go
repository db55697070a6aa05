package dynamodb

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// The limits of indexes.
const (
	maxGlobalIndexes = 20
	maxLocalIndexes  = 5
	maxIncluded      = 100
)

const (
	payPerRequest = "PAY_PER_REQUEST"
	provisioned   = "PROVISIONED"
)

// parseKey reads a key schema by the declared attribute types.
func parseKey(elements []KeySchemaElement, kinds map[string]attribute.Kind) (keySchema, error) {
	var k keySchema
	for i, e := range elements {
		want := []string{"HASH", "RANGE"}
		switch {
		case i > 1:
			return k, invalidf("One or more parameter values were invalid: Too many KeySchema elements: %d", len(elements))
		case e.KeyType != want[i]:
			return k, invalidf("Invalid KeySchema: Element %d must be a %s key", i, want[i])
		case i == 1 && e.AttributeName == k.hash.name:
			return k, invalidf("Both the Hash Key and the Range Key element in the KeySchema have the same name")
		}
		a := keyAttribute{name: e.AttributeName, kind: kinds[e.AttributeName]}
		if a.kind == attribute.Absent {
			return k, invalidf("One or more parameter values were invalid: Some index key attributes are not defined in "+
				"AttributeDefinitions. Keys: [%s], AttributeDefinitions: [%s]", e.AttributeName, strings.Join(sortedNames(kinds), ", "))
		}
		if i == 0 {
			k.hash = a
		} else {
			k.sort = a
		}
	}
	if k.hash.name == "" {
		return k, absent("keySchema")
	}
	return k, nil
}

func sortedNames(kinds map[string]attribute.Kind) []string {
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// elements renders a key schema.
func (k keySchema) elements() []KeySchemaElement {
	elements := []KeySchemaElement{{AttributeName: k.hash.name, KeyType: "HASH"}}
	if k.sort.name != "" {
		elements = append(elements, KeySchemaElement{AttributeName: k.sort.name, KeyType: "RANGE"})
	}
	return elements
}

func parseDefinitions(definitions []AttributeDefinition) (map[string]attribute.Kind, error) {
	kinds := map[string]attribute.Kind{}
	for _, d := range definitions {
		kind, _ := attribute.ParseKind(d.AttributeType)
		if !kind.IsOrdered() {
			return nil, outside("attributeDefinitions.member.attributeType", d.AttributeType, "Member must satisfy enum value set: [B, N, S]")
		}
		if _, twice := kinds[d.AttributeName]; twice {
			return nil, invalidf("One or more parameter values were invalid: Duplicate AttributeName in AttributeDefinitions: %s", d.AttributeName)
		}
		kinds[d.AttributeName] = kind
	}
	return kinds, nil
}

// parseIndex makes an index of its declaration.
func parseIndex(in IndexInput, local bool, table keySchema, kinds map[string]attribute.Kind) (*index, error) {
	if err := checkName("indexName", in.IndexName); err != nil {
		return nil, err
	}
	key, err := parseKey(in.KeySchema, kinds)
	if err != nil {
		return nil, err
	}
	if local && key.hash != table.hash {
		return nil, invalidf("One or more parameter values were invalid: Index KeySchema does not have the same leading hash key as table KeySchema "+
			"for index: %s. index hash key: %s, table hash key: %s", in.IndexName, key.hash.name, table.hash.name)
	}
	if local && key.sort.name == "" {
		return nil, invalidf("One or more parameter values were invalid: Index KeySchema does not have a range key for index: %s", in.IndexName)
	}
	p := in.Projection
	switch {
	case p.ProjectionType == "":
		return nil, invalidf("One or more parameter values were invalid: Unknown ProjectionType: null")
	case p.ProjectionType == projectInclude && len(p.NonKeyAttributes) == 0:
		return nil, invalidf("One or more parameter values were invalid: ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.ProjectionType != projectInclude && len(p.NonKeyAttributes) > 0:
		return nil, invalidf("One or more parameter values were invalid: ProjectionType is %s, but NonKeyAttributes is specified", p.ProjectionType)
	case len(p.NonKeyAttributes) > maxIncluded:
		return nil, outside("projection.nonKeyAttributes", len(p.NonKeyAttributes), "Member must have length less than or equal to 100")
	}
	if err := checkEnum("projection.projectionType", p.ProjectionType, projectAll, projectInclude, projectKeys); err != nil {
		return nil, err
	}
	ix := &index{name: in.IndexName, key: key, projection: p, local: local, replica: replica{view: newView(key, table)}}
	if in.ProvisionedThroughput != nil {
		ix.throughput = *in.ProvisionedThroughput
	}
	return ix, nil
}

// parseTable makes a table of its declaration; name and times are the caller's.
func parseTable(in CreateTableInput) (*table, error) {
	kinds, err := parseDefinitions(in.AttributeDefinitions)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(in.KeySchema, kinds)
	if err != nil {
		return nil, err
	}
	settings, err := parseSettings(in)
	if err != nil {
		return nil, err
	}
	t := &table{key: key, defined: in.AttributeDefinitions, settings: settings, tags: map[string]string{}, items: newView(key, key)}
	if err := t.addIndexes(in.LocalSecondaryIndexes, true, kinds); err != nil {
		return nil, err
	}
	if err := t.addIndexes(in.GlobalSecondaryIndexes, false, kinds); err != nil {
		return nil, err
	}
	for _, tag := range in.Tags {
		t.tags[tag.Key] = tag.Value
	}
	return t, t.checkAllUsed(kinds)
}

func (t *table) addIndexes(declared []IndexInput, local bool, kinds map[string]attribute.Kind) error {
	limit, what := maxGlobalIndexes, "GlobalSecondaryIndex"
	if local {
		limit, what = maxLocalIndexes, "LocalSecondaryIndex"
	}
	if len(declared) > limit {
		return invalidf("One or more parameter values were invalid: %s count exceeds the per-table limit of %d", what, limit)
	}
	for _, in := range declared {
		ix, err := parseIndex(in, local, t.key, kinds)
		if err != nil {
			return err
		}
		if t.index(ix.name) != nil {
			return invalidf("One or more parameter values were invalid: Duplicate index name: %s", ix.name)
		}
		t.indexes = append(t.indexes, ix)
	}
	return nil
}

// checkAllUsed refuses declared attributes that are in no key.
func (t *table) checkAllUsed(kinds map[string]attribute.Kind) error {
	used := map[string]attribute.Kind{}
	for _, k := range t.keys() {
		for _, a := range k.attributes() {
			used[a.name] = a.kind
		}
	}
	if len(used) == len(kinds) {
		return nil
	}
	return invalidf("One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: [%s], keys used: [%s]",
		strings.Join(sortedNames(kinds), ", "), strings.Join(sortedNames(used), ", "))
}

func parseSettings(in CreateTableInput) (tableSettings, error) {
	s := tableSettings{billing: in.BillingMode, protected: in.DeletionProtectionEnabled, class: in.TableClass}
	if s.billing == "" {
		s.billing = provisioned
	}
	if err := checkEnum("billingMode", s.billing, provisioned, payPerRequest); err != nil {
		return s, err
	}
	if err := checkEnum("tableClass", s.class, "STANDARD", "STANDARD_INFREQUENT_ACCESS"); err != nil {
		return s, err
	}
	switch {
	case in.StreamSpecification != nil && in.StreamSpecification.StreamEnabled:
		return s, invalidf("StreamSpecification is not modelled")
	case s.billing == payPerRequest && in.ProvisionedThroughput != nil:
		return s, invalidf("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case s.billing == provisioned && in.ProvisionedThroughput == nil:
		return s, invalidf("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	case in.ProvisionedThroughput != nil:
		s.throughput = *in.ProvisionedThroughput
	}
	return s, nil
}
