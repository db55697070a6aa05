package dynamodb

import (
	"context"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// Query reads items that share a partition key, in order of their sort key.
func (m *Model) Query(_ context.Context, in QueryInput) (*PageOutput, error) {
	if err := in.checkInput(); err != nil {
		return nil, err
	}
	if in.KeyConditionExpression == nil {
		return nil, invalidf("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	env, err := newEnv(in.ExpressionAttributeNames, in.ExpressionAttributeValues, true, "")
	if err != nil {
		return nil, asWire(err)
	}
	p, err := parsePage(in.PageInput, env)
	if err != nil {
		return nil, asWire(err)
	}
	condition, err := expression.ParseKeyCondition(*in.KeyConditionExpression, env)
	if err != nil {
		return nil, asWire(err)
	}
	if err := env.Unused(); err != nil {
		return nil, asWire(err)
	}
	now, end := m.begin()
	defer end()
	if err := p.open(m, now); err != nil {
		return nil, err
	}
	if err := p.query(condition, in.ScanIndexForward == nil || *in.ScanIndexForward); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

func (p *page) query(condition *expression.KeyCondition, forward bool) error {
	if err := p.checkStart(""); err != nil {
		return err
	}
	hash, sortTerm, err := p.view.key.terms(condition)
	if err != nil {
		return err
	}
	if err := p.checkFilterAvoidsKey(); err != nil {
		return err
	}
	rows := p.view.partitionOf(attribute.Item{p.view.key.hash.name: hash}).rows
	if sortTerm != nil {
		rows = within(rows, *sortTerm)
	}
	if p.in.ExclusiveStartKey != nil {
		if err := p.checkStartWithin(hash, sortTerm); err != nil {
			return err
		}
		rows = after(rows, p.view.row(p.in.ExclusiveStartKey), forward)
	}
	if !forward {
		rows = slices.Clone(rows)
		slices.Reverse(rows)
	}
	for _, r := range rows {
		if p.add(r); p.full {
			break
		}
	}
	return nil
}

// terms splits a key condition into the partition key value and the term on the sort key, nil when there is none.
func (k keySchema) terms(condition *expression.KeyCondition) (hash attribute.Value, sortTerm *expression.KeyTerm, err error) {
	var hashTerm *expression.KeyTerm
	for _, term := range condition.Terms {
		switch term.Attribute {
		case k.hash.name:
			hashTerm = &term
		case k.sort.name:
			sortTerm = &term
		}
	}
	if hashTerm == nil {
		return hash, nil, invalidf("Query condition missed key schema element: %s", k.hash.name)
	}
	if len(condition.Terms) == 2 && sortTerm == nil || len(condition.Terms) > 2 {
		if k.sort.name != "" {
			return hash, nil, invalidf("Query condition missed key schema element: %s", k.sort.name)
		}
		return hash, nil, invalidf("Query key condition not supported")
	}
	if hashTerm.Op != "=" {
		return hash, nil, invalidf("Query key condition not supported")
	}
	if err := k.hash.checkTerm(*hashTerm); err != nil {
		return hash, nil, err
	}
	if sortTerm != nil {
		if err := k.sort.checkTerm(*sortTerm); err != nil {
			return hash, nil, err
		}
	}
	return hashTerm.Values[0], sortTerm, nil
}

func (a keyAttribute) checkTerm(term expression.KeyTerm) error {
	for _, v := range term.Values {
		if v.Kind != a.kind {
			return invalidf("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
		if kind, empty := emptyScalar(v); empty {
			return invalidf("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", kind, a.name)
		}
	}
	return nil
}

// checkFilterAvoidsKey refuses a filter on the key a query goes by.
func (p *page) checkFilterAvoidsKey() error {
	if p.filter == nil {
		return nil
	}
	for _, path := range p.filter.Paths() {
		if slices.Contains(p.view.key.names(), path.Top()) {
			return invalidf("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", path.Top())
		}
	}
	return nil
}

// checkStartWithin refuses a start key outside what the key condition allows.
func (p *page) checkStartWithin(hash attribute.Value, sortTerm *expression.KeyTerm) error {
	start, key := p.in.ExclusiveStartKey, p.view.key
	if !attribute.Equal(start[key.hash.name], hash) {
		return invalidf("The provided starting key is outside query boundaries based on provided conditions")
	}
	if sortTerm != nil && sortTerm.Position(start[key.sort.name]) != 0 {
		return invalidf("The provided starting key does not match the range key predicate")
	}
	return nil
}

// within returns the run of rows whose sort key satisfies the term.
func within(rows []row, term expression.KeyTerm) []row {
	first := sort.Search(len(rows), func(i int) bool { return term.Position(rows[i].sort) >= 0 })
	end := sort.Search(len(rows), func(i int) bool { return term.Position(rows[i].sort) > 0 })
	return rows[first:end]
}

// after returns the rows beyond start in the direction of reading, whether start is still there or not.
func after(rows []row, start row, forward bool) []row {
	at, found := slices.BinarySearchFunc(rows, start, compareRows)
	if !forward {
		return rows[:at]
	}
	if found {
		at++
	}
	return rows[at:]
}
