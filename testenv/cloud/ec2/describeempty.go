package ec2

import (
	"context"
	"strings"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// What nobody can make in the model does not exist; it can still be asked for.

type describeCapacityReservationsInput struct {
	IDs        []string `query:"CapacityReservationId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeCapacityReservationsOutput struct {
	Reservations wire.Set[struct{}] `xml:"capacityReservationSet"`
}

func (m *Model) describeCapacityReservations(_ context.Context, in *describeCapacityReservationsInput) (*describeCapacityReservationsOutput, error) {
	if len(in.IDs) > 0 {
		return nil, wire.Errorf("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", strings.Join(in.IDs, ", "))
	}
	return &describeCapacityReservationsOutput{}, nil
}

type describePlacementGroupsInput struct {
	GroupIDs   []string `query:"GroupId"`
	GroupNames []string `query:"GroupName"`
	Filters    []Filter `query:"Filter"`
}

type describePlacementGroupsOutput struct {
	Groups wire.Set[struct{}] `xml:"placementGroupSet"`
}

func (m *Model) describePlacementGroups(_ context.Context, in *describePlacementGroupsInput) (*describePlacementGroupsOutput, error) {
	if names := append(in.GroupIDs, in.GroupNames...); len(names) > 0 {
		return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", strings.Join(names, ", "))
	}
	return &describePlacementGroupsOutput{}, nil
}
