package dynamodb

import (
	"context"
	"maps"
	"slices"
)

// UpdateTimeToLive switches expiry on or off, at most once in an hour.
func (m *Model) UpdateTimeToLive(_ context.Context, in UpdateTimeToLiveInput) (*UpdateTimeToLiveOutput, error) {
	spec := in.TimeToLiveSpecification
	if spec.AttributeName == "" {
		return nil, absent("timeToLiveSpecification.attributeName")
	}
	now, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	e := &t.expiry
	switch {
	case spec.Enabled && e.enabled:
		return nil, invalidf("TimeToLive is already enabled")
	case !spec.Enabled && !e.enabled:
		return nil, invalidf("TimeToLive is already disabled")
	case !spec.Enabled && e.attribute != spec.AttributeName:
		return nil, invalidf("TimeToLive is active on a different AttributeName: current AttributeName is %s", e.attribute)
	case !e.changedAt.IsZero() && now.Sub(e.changedAt) < settleTime:
		return nil, invalidf("Time to live has been modified multiple times within a fixed interval")
	}
	e.set(t, now, spec.Enabled, spec.AttributeName)
	return &UpdateTimeToLiveOutput{TimeToLiveSpecification: spec}, nil
}

// DescribeTimeToLive tells whether items expire and by which attribute.
func (m *Model) DescribeTimeToLive(_ context.Context, in TableInput) (*DescribeTimeToLiveOutput, error) {
	_, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	if !t.expiry.enabled {
		return &DescribeTimeToLiveOutput{TimeToLiveDescription{TimeToLiveStatus: "DISABLED"}}, nil
	}
	return &DescribeTimeToLiveOutput{TimeToLiveDescription{TimeToLiveStatus: "ENABLED", AttributeName: t.expiry.attribute}}, nil
}

// DescribeContinuousBackups tells whether point-in-time recovery was asked for.
func (m *Model) DescribeContinuousBackups(_ context.Context, in TableInput) (*ContinuousBackupsOutput, error) {
	_, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	return t.describeBackups(), nil
}

// UpdateContinuousBackups records whether point-in-time recovery is asked for.
func (m *Model) UpdateContinuousBackups(_ context.Context, in UpdateContinuousBackupsInput) (*ContinuousBackupsOutput, error) {
	if in.PointInTimeRecoverySpecification == nil {
		return nil, absent("pointInTimeRecoverySpecification")
	}
	_, end := m.begin()
	defer end()
	t, err := m.named(in.TableName)
	if err != nil {
		return nil, err
	}
	t.backups = in.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	return t.describeBackups(), nil
}

func (t *table) describeBackups() *ContinuousBackupsOutput {
	out := &ContinuousBackupsOutput{ContinuousBackupsDescription{ContinuousBackupsStatus: "ENABLED"}}
	out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus = "DISABLED"
	if t.backups {
		out.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus = "ENABLED"
	}
	return out
}

// TagResource sets tags of a table.
func (m *Model) TagResource(_ context.Context, in TagResourceInput) (*Empty, error) {
	_, end := m.begin()
	defer end()
	t, err := m.named(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	for _, tag := range in.Tags {
		t.tags[tag.Key] = tag.Value
	}
	return nil, nil
}

// UntagResource removes tags of a table.
func (m *Model) UntagResource(_ context.Context, in UntagResourceInput) (*Empty, error) {
	_, end := m.begin()
	defer end()
	t, err := m.named(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		delete(t.tags, key)
	}
	return nil, nil
}

// ListTagsOfResource lists the tags of a table.
func (m *Model) ListTagsOfResource(_ context.Context, in ListTagsOfResourceInput) (*ListTagsOfResourceOutput, error) {
	_, end := m.begin()
	defer end()
	t, err := m.named(in.ResourceArn)
	if err != nil {
		return nil, err
	}
	out := &ListTagsOfResourceOutput{Tags: []Tag{}}
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		out.Tags = append(out.Tags, Tag{Key: key, Value: t.tags[key]})
	}
	return out, nil
}

// DescribeLimits answers the quotas of a new account.
func (m *Model) DescribeLimits(context.Context, Empty) (*DescribeLimitsOutput, error) {
	return &DescribeLimitsOutput{
		AccountMaxReadCapacityUnits: 80000, AccountMaxWriteCapacityUnits: 80000,
		TableMaxReadCapacityUnits: 40000, TableMaxWriteCapacityUnits: 40000,
	}, nil
}
