package dynamodb

import (
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// maxPageBytes is how much Query and Scan read at once.
const maxPageBytes = 1 << 20

// What Select may ask for.
const (
	selectAll       = "ALL_ATTRIBUTES"
	selectProjected = "ALL_PROJECTED_ATTRIBUTES"
	selectSpecific  = "SPECIFIC_ATTRIBUTES"
	selectCount     = "COUNT"
)

// page is one answer of Query or Scan in the making.
type page struct {
	in         PageInput
	filter     *expression.Condition
	projection *expression.Projection

	table *table
	index *index // nil when the table itself is read
	view  *view
	// wide fetches whole items for a local index that does not hold all that was asked.
	wide bool

	out       PageOutput
	readBytes int
	fetched   float64 // units for items fetched from the table because an index does not hold them
	last      row
	full      bool
}

// parsePage checks what can be checked without the table. The expressions share env.
func parsePage(in PageInput, env *expression.Env) (*page, error) {
	p := &page{in: in}
	if in.FilterExpression != nil {
		f, err := expression.ParseCondition("FilterExpression", *in.FilterExpression, env)
		if err != nil {
			return nil, err
		}
		p.filter = f
	}
	if in.ProjectionExpression != nil {
		projection, err := expression.ParseProjection(*in.ProjectionExpression, env)
		if err != nil {
			return nil, err
		}
		p.projection = projection
	}
	return p, nil
}

// checkInput refuses what no table could answer.
func (in PageInput) checkInput() error {
	if err := in.refuse(); err != nil {
		return err
	}
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return err
	}
	if err := checkEnum("select", in.Select, selectSpecific, selectCount, selectAll, selectProjected); err != nil {
		return err
	}
	switch {
	case in.Limit != nil && *in.Limit < 1:
		return outside("limit", *in.Limit, "Member must have value greater than or equal to 1")
	case in.Select == selectSpecific && in.ProjectionExpression == nil:
		return invalidf("One or more parameter values were invalid: Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	case in.ProjectionExpression != nil && in.Select == selectCount:
		return invalidf("Cannot specify the ProjectionExpression when choosing to get only the Count")
	case in.ProjectionExpression != nil && (in.Select == selectAll || in.Select == selectProjected):
		return invalidf("Cannot specify the ProjectionExpression when choosing to get %s", in.Select)
	case in.Select == selectProjected && in.IndexName == nil:
		return invalidf("One or more parameter values were invalid: ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
	}
	return nil
}

// open finds the table or index and the state of it that the request sees.
func (p *page) open(m *Model, now time.Time) error {
	t, err := m.usable(p.in.TableName)
	if err != nil {
		return err
	}
	p.table = t
	p.view = t.reads(now, p.in.ConsistentRead)
	if p.in.IndexName != nil {
		if err := p.openIndex(now); err != nil {
			return err
		}
	}
	if p.filter != nil {
		if err := t.checkKeyPaths(p.filter.Paths()); err != nil {
			return err
		}
	}
	if p.projection != nil {
		return t.checkKeyPaths(p.projection.Paths)
	}
	return nil
}

func (p *page) openIndex(now time.Time) error {
	name := *p.in.IndexName
	ix := p.table.index(name)
	switch {
	case ix == nil:
		return invalidf("The table does not have the specified index: %s", name)
	case p.in.ConsistentRead && !ix.local:
		return invalidf("Consistent reads are not supported on global secondary indexes")
	}
	p.index, p.view = ix, ix.replica.catchUp(now)
	if ix.projection.ProjectionType == projectAll {
		return nil
	}
	if p.in.Select == selectAll && !ix.local {
		return invalidf("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global "+
			"secondary index %s because its projection type is not ALL", name)
	}
	p.wide = p.in.Select == selectAll
	if p.projection == nil {
		return nil
	}
	for _, path := range p.projection.Paths {
		if ix.holds(p.table, path.Top()) {
			continue
		}
		if !ix.local {
			return invalidf("One or more parameter values were invalid: Global secondary index %s does not project [%s]", name, path.Top())
		}
		p.wide = true
	}
	return nil
}

// checkStart refuses a start key that is not the key of a row of this view.
func (p *page) checkStart(prefix string) error {
	start := p.in.ExclusiveStartKey
	if start == nil {
		return nil
	}
	wanted := p.keyOf(start)
	attributes := p.table.key.attributes()
	if p.index != nil {
		attributes = append(attributes, p.index.key.attributes()...)
	}
	names := map[string]bool{}
	for _, a := range attributes {
		names[a.name] = true
	}
	if len(wanted) != len(start) || len(wanted) != len(names) {
		return invalidf("The provided starting key is invalid%s", prefix)
	}
	for _, a := range attributes {
		if start[a.name].Kind != a.kind {
			return invalidf("The provided starting key is invalid%s", prefix)
		}
	}
	return nil
}

// keyOf returns the key by which a row of the view is found again: of the index and of the table.
func (p *page) keyOf(item attribute.Item) attribute.Item {
	key := p.table.key.of(item)
	if p.index != nil {
		for name, v := range p.index.key.of(item) {
			key[name] = v
		}
	}
	return key
}

// add takes the next row into the page unless the page is full.
func (p *page) add(r row) {
	item := r.item
	size := item.SizeBytes()
	if p.out.ScannedCount > 0 && p.readBytes+size > maxPageBytes {
		p.full = true
		return
	}
	if p.wide {
		item = p.table.items.get(p.table.key.of(item))
		p.fetched += readUnits(item.SizeBytes(), p.in.ConsistentRead)
	}
	p.readBytes += size
	p.out.ScannedCount++
	p.last = r
	if p.filter.Matches(item) {
		p.out.Count++
		if p.in.Select != selectCount {
			p.out.Items = append(p.out.Items, p.projection.Of(item))
		}
	}
	p.full = p.in.Limit != nil && p.out.ScannedCount >= *p.in.Limit
}

// finish completes the answer.
func (p *page) finish() *PageOutput {
	if p.full {
		p.out.LastEvaluatedKey = p.keyOf(p.last.item)
	}
	if p.out.Items == nil && p.in.Select != selectCount {
		p.out.Items = []attribute.Item{}
	}
	used := units{}
	n := readUnits(p.readBytes, p.in.ConsistentRead) // of all that was read together
	if p.index == nil {
		used.table = n
	} else {
		used.add(p.index, n)
		used.table = p.fetched
	}
	p.table.meter.read(used)
	p.out.ConsumedCapacity = used.report(p.table.name, p.in.ReturnConsumedCapacity, undirected)
	return &p.out
}
