package ec2catalog

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// reservations returns the active capacity reservations that any term selects, by id, without those that have ended. An
// id that does not exist selects nothing.
func (c *Classes) reservations(ctx context.Context, terms []model.SelectorTerm) ([]model.Reservation, error) {
	found := map[string]model.Reservation{}
	var ids []string
	for _, term := range terms {
		if term.ID != "" {
			ids = append(ids, term.ID)
			continue
		}
		input := &ec2.DescribeCapacityReservationsInput{Filters: reservationFilters(term), MaxResults: aws.Int32(1000)}
		if err := c.readReservations(ctx, input, found); err != nil {
			return nil, err
		}
	}
	if err := c.reservationsByID(ctx, ids, found); err != nil {
		return nil, err
	}
	var out []model.Reservation
	now := c.settings.Now().Unix()
	for _, r := range found {
		if r.EndUnix == 0 || r.EndUnix > now {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

func reservationFilters(term model.SelectorTerm) []types.Filter {
	filters := append(tagFilters(term.Tags), activeOnly)
	if term.Owner != "" {
		filters = append(filters, types.Filter{Name: aws.String("owner-id"), Values: []string{term.Owner}})
	}
	if term.MatchCriteria != "" {
		filters = append(filters,
			types.Filter{Name: aws.String("instance-match-criteria"), Values: []string{term.MatchCriteria}})
	}
	return filters
}

var activeOnly = types.Filter{Name: aws.String("state"), Values: []string{string(types.CapacityReservationStateActive)}}

// reservationsByID asks for all ids in one call. There is no filter for ids, and one that EC2 does not know fails the
// call: then each is asked for by itself.
func (c *Classes) reservationsByID(ctx context.Context, ids []string, into map[string]model.Reservation) error {
	if len(ids) == 0 {
		return nil
	}
	err := c.readReservations(ctx,
		&ec2.DescribeCapacityReservationsInput{CapacityReservationIds: ids, Filters: []types.Filter{activeOnly}}, into)
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	for _, id := range ids {
		if err := c.reservationsByID(ctx, []string{id}, into); err != nil {
			return err
		}
	}
	return nil
}

func (c *Classes) readReservations(ctx context.Context, input *ec2.DescribeCapacityReservationsInput,
	into map[string]model.Reservation) error {
	pages := ec2.NewDescribeCapacityReservationsPaginator(c.clients.EC2, input)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return translate(err, "describe capacity reservations")
		}
		for i := range page.CapacityReservations {
			if r, known := reservationOf(&page.CapacityReservations[i]); known {
				into[r.ID] = r
			}
		}
	}
	return nil
}

// reservationOf reads a reservation; false for one whose kind or match criteria are not among those this build knows
// how to launch into.
func reservationOf(r *types.CapacityReservation) (model.Reservation, bool) {
	out := model.Reservation{
		ID: aws.ToString(r.CapacityReservationId), InstanceType: aws.ToString(r.InstanceType),
		Zone:  aws.ToString(r.AvailabilityZone),
		Owner: aws.ToString(r.OwnerId), MatchCriteria: string(r.InstanceMatchCriteria),
		Block:         r.ReservationType == types.CapacityReservationTypeCapacityBlock,
		Interruptible: aws.ToBool(r.Interruptible),
		Total:         int64(aws.ToInt32(r.TotalInstanceCount)), Free: int64(aws.ToInt32(r.AvailableInstanceCount)),
	}
	if r.EndDate != nil {
		out.EndUnix = r.EndDate.Unix()
	}
	switch r.InstanceMatchCriteria {
	case types.InstanceMatchCriteriaOpen, types.InstanceMatchCriteriaTargeted:
	default:
		return out, false
	}
	switch r.ReservationType {
	case types.CapacityReservationTypeDefault, types.CapacityReservationTypeCapacityBlock, "":
	default:
		return out, false
	}
	return out, out.ID != ""
}

// placementGroup returns the group a class selects by name or id; nil without a selector. A name is looked for by a
// filter, which answers with nothing where EC2 would answer an unknown name with an error.
func (c *Classes) placementGroup(ctx context.Context, term *model.SelectorTerm) (*model.PlacementGroup,
	*model.ClassProblem, error) {
	if term == nil {
		return nil, nil, nil
	}
	input := &ec2.DescribePlacementGroupsInput{Filters: []types.Filter{{Name: aws.String("state"),
		Values: []string{string(types.PlacementGroupStateAvailable)}}}}
	field, value := "spec.placementGroupSelector.name", term.Name
	if term.ID != "" {
		field, value = "spec.placementGroupSelector.id", term.ID
		input.GroupIds = []string{term.ID}
	} else {
		input.Filters = append(input.Filters, types.Filter{Name: aws.String("group-name"), Values: []string{term.Name}})
	}
	out, err := c.clients.EC2.DescribePlacementGroups(ctx, input)
	if err = translate(err, "describe placement group %s", value); err != nil && !strings.HasPrefix(fault.CodeOf(err),
		"InvalidPlacementGroup") {
		return nil, nil, err
	}
	if err != nil || len(out.PlacementGroups) == 0 {
		problem := fmt.Sprintf(
			"%s %q: there is no such placement group in state available in %s; create it or correct the selector",
			field, value, c.settings.Region)
		return nil, &model.ClassProblem{Reason: "PlacementGroupNotFound", Message: problem}, nil
	}
	group := &out.PlacementGroups[0]
	return &model.PlacementGroup{
		ID: aws.ToString(group.GroupId), Name: aws.ToString(group.GroupName), Strategy: string(group.Strategy),
		Partitions: int64(aws.ToInt32(group.PartitionCount)),
	}, nil, nil
}
