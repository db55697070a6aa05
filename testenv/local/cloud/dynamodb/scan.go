package dynamodb

import (
	"context"
	"slices"
)

// maxSegments is how many ways a parallel scan may be split.
const maxSegments = 1_000_000

// Scan reads all items of a table or index, or one segment of them, in an order of its own.
func (m *Model) Scan(_ context.Context, in ScanInput) (*PageOutput, error) {
	if err := in.checkInput(); err != nil {
		return nil, err
	}
	if err := in.checkSegments(); err != nil {
		return nil, err
	}
	missing := ""
	if in.FilterExpression == nil {
		missing = "FilterExpression is null"
	}
	anyExpression := in.FilterExpression != nil || in.ProjectionExpression != nil
	env, err := newEnv(in.ExpressionAttributeNames, in.ExpressionAttributeValues, anyExpression, missing)
	if err != nil {
		return nil, asWire(err)
	}
	p, err := parsePage(in.PageInput, env)
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
	if err := p.scan(in); err != nil {
		return nil, err
	}
	return p.finish(), nil
}

func (in ScanInput) checkSegments() error {
	switch {
	case in.Segment == nil && in.TotalSegments == nil:
		return nil
	case in.TotalSegments == nil:
		return invalidf("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case in.Segment == nil:
		return invalidf("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case *in.TotalSegments < 1 || *in.TotalSegments > maxSegments:
		return outside("totalSegments", *in.TotalSegments, "Member must have value between 1 and 1000000")
	case *in.Segment < 0:
		return outside("segment", *in.Segment, "Member must have value greater than or equal to 0")
	case *in.Segment >= *in.TotalSegments:
		return invalidf("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d",
			*in.Segment, *in.TotalSegments)
	}
	return nil
}

func (p *page) scan(in ScanInput) error {
	if err := p.checkStart(": The provided key element does not match the schema"); err != nil {
		return err
	}
	partitions := p.view.order
	if in.TotalSegments != nil {
		partitions = segmentOf(partitions, *in.Segment, *in.TotalSegments)
	}
	var first *partition
	if in.ExclusiveStartKey != nil {
		first = p.view.partitionOf(in.ExclusiveStartKey)
		if in.TotalSegments != nil && first.segment(*in.TotalSegments) != *in.Segment {
			return invalidf("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "+
				"TotalSegments: %d Segment: %d", *in.TotalSegments, *in.Segment)
		}
		at, _ := slices.BinarySearchFunc(partitions, first, comparePartitions)
		partitions = partitions[at:]
	}
	for _, part := range partitions {
		rows := part.rows
		if first != nil && part.hash == first.hash {
			rows = after(rows, p.view.row(in.ExclusiveStartKey), true)
		}
		for _, r := range rows {
			if p.add(r); p.full {
				return nil
			}
		}
	}
	return nil
}

// segmentOf returns the partitions of one segment; they lie together because segments divide the scan order.
func segmentOf(partitions []*partition, segment, total int) []*partition {
	first, _ := slices.BinarySearchFunc(partitions, segment, func(p *partition, s int) int { return p.segment(total) - s })
	end, _ := slices.BinarySearchFunc(partitions, segment+1, func(p *partition, s int) int { return p.segment(total) - s })
	return partitions[first:end]
}
