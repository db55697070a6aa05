package ec2catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// Resolve looks up everything a class's selectors name. A selector that finds nothing is a problem of the class; one
// that could not be asked about fails the whole, so that half an answer is never taken for one. A class of the same UID
// and generation that resolved without a problem is not looked up again for a minute: batches come faster than networks
// change.
func (c *Classes) Resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus,
	error) {
	key := fmt.Sprintf("%s/%d", class.UID, class.Generation)
	now := c.settings.Now()
	c.mutex.Lock()
	kept, known := c.resolved[key]
	c.mutex.Unlock()
	if known && now.Sub(kept.readAt) < resolveEvery {
		return kept.status, nil
	}
	status, err := c.resolve(ctx, class, images)
	if err != nil || len(status.Problems) > 0 || class.UID == "" {
		return status, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for other, old := range c.resolved { // earlier generations, classes long gone
		if now.Sub(old.readAt) >= resolveEvery {
			delete(c.resolved, other)
		}
	}
	c.resolved[key] = resolved{status, now}
	return status, nil
}

func (c *Classes) resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus,
	error) {
	status, err := c.ResolveParts(ctx, class, images)
	if err != nil {
		return model.ClassStatus{}, fmt.Errorf("resolve EC2NodeClass %s: %w", class.Name, err)
	}
	return status, nil
}

// reasonResolutionFailed is the reason of what could not be found out.
const reasonResolutionFailed = "ResolutionFailed"

// ResolveParts looks up everything a class's selectors name, part by part, as it is now. A selector that finds nothing
// is a problem of its condition. A part that could not be asked about is an Unknown problem and empty, the others
// stand, and the error joins what went wrong.
func (c *Classes) ResolveParts(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus,
	error) {
	var status model.ClassStatus
	parts := []struct {
		condition string
		check     func() (*model.ClassProblem, error)
	}{
		{model.SubnetsReady, func() (_ *model.ClassProblem, err error) {
			status.Subnets, err = c.subnets(ctx, class.Subnets)
			return c.none(len(status.Subnets), "SubnetsNotFound", "subnet", "spec.subnetSelectorTerms",
				class.Subnets), err
		}},
		{model.SecurityGroupsReady, func() (_ *model.ClassProblem, err error) {
			status.SecurityGroups, err = c.securityGroups(ctx, class.SecurityGroups)
			return c.none(len(status.SecurityGroups), "SecurityGroupsNotFound", "security group",
				"spec.securityGroupSelectorTerms", class.SecurityGroups), err
		}},
		{model.ImagesReady, func() (_ *model.ClassProblem, err error) {
			status.Images, err = c.images(ctx, images)
			return c.none(len(status.Images), "AMINotFound", "image", "spec.amiSelectorTerms", class.Images), err
		}},
		{model.ProfileReady, func() (problem *model.ClassProblem, err error) {
			status.InstanceProfile, problem, err = c.profile(ctx, class)
			return problem, err
		}},
		{model.ReservationsReady, func() (_ *model.ClassProblem, err error) {
			status.Reservations, err = c.reservations(ctx, class.Reservations)
			return nil, err // that none is found is a state reservations come to by themselves
		}},
		{model.PlacementGroupReady, func() (problem *model.ClassProblem, err error) {
			status.PlacementGroup, problem, err = c.placementGroup(ctx, class.PlacementGroup)
			return problem, err
		}},
	}
	problems, failures := make([]*model.ClassProblem, len(parts)), make([]error, len(parts))
	var group sync.WaitGroup
	for i, part := range parts {
		group.Go(func() {
			problem, err := part.check()
			if err != nil {
				problem = &model.ClassProblem{Reason: reasonResolutionFailed, Message: err.Error(), Unknown: true}
			}
			if problem != nil {
				problem.Condition = part.condition
			}
			problems[i], failures[i] = problem, err
		})
	}
	group.Wait()
	for _, problem := range problems {
		if problem != nil {
			status.Problems = append(status.Problems, *problem)
		}
	}
	return status, errors.Join(failures...)
}

// none is the problem of a selector that found nothing, nil where it found something.
func (c *Classes) none(found int, reason, what, field string, terms []model.SelectorTerm) *model.ClassProblem {
	if found > 0 {
		return nil
	}
	return &model.ClassProblem{Reason: reason, Message: c.nothing(what, field, terms)}
}

// nothing says which selector found nothing and what to do.
func (c *Classes) nothing(what, field string, terms []model.SelectorTerm) string {
	var parts []string
	for i, term := range terms {
		parts = append(parts, fmt.Sprintf("%s[%d] (%s)", field, i, describe(term)))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%s is empty; add a term", field)
	}
	remedy := "correct the selector"
	if slices.ContainsFunc(terms, func(term model.SelectorTerm) bool { return term.Name != "" || len(term.Tags) > 0 }) {
		remedy = "give one that name or those tags, or correct the selector"
	}
	if slices.ContainsFunc(terms, func(term model.SelectorTerm) bool { return term.ID != "" }) {
		remedy += "; an id that finds nothing does not exist in " + c.settings.Region +
			", or is not shared with this account"
	}
	return fmt.Sprintf("no %s in %s matches %s; %s", what, c.settings.Region, strings.Join(parts, " or "), remedy)
}

// describe writes a term as a person would.
func describe(term model.SelectorTerm) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("alias", term.Alias)
	add("id", term.ID)
	add("name", term.Name)
	add("owner", term.Owner)
	add("ssmParameter", term.SSMParameter)
	add("instanceMatchCriteria", term.MatchCriteria)
	for _, key := range slices.Sorted(maps.Keys(term.Tags)) {
		parts = append(parts, fmt.Sprintf("tag %s=%s", key, term.Tags[key]))
	}
	return strings.Join(parts, ", ")
}

// filterSets turns terms into the filter lists of as many queries: one for all ids, one for all names where names have
// a filter of their own, one for each term of tags. The more exact member of a term wins.
func filterSets(terms []model.SelectorTerm, idFilter, nameFilter string) [][]types.Filter {
	var ids, names []string
	var sets [][]types.Filter
	for _, term := range terms {
		switch {
		case term.ID != "":
			ids = append(ids, term.ID)
		case term.Name != "" && nameFilter != "":
			names = append(names, term.Name)
		case len(term.Tags) > 0:
			sets = append(sets, tagFilters(term.Tags))
		}
	}
	if len(ids) > 0 {
		sets = append(sets, []types.Filter{{Name: aws.String(idFilter), Values: ids}})
	}
	if len(names) > 0 {
		sets = append(sets, []types.Filter{{Name: aws.String(nameFilter), Values: names}})
	}
	return sets
}

func (c *Classes) subnets(ctx context.Context, terms []model.SelectorTerm) ([]model.Subnet, error) {
	found := map[string]model.Subnet{}
	for _, filters := range filterSets(terms, "subnet-id", "") {
		pages := ec2.NewDescribeSubnetsPaginator(c.clients.EC2,
			&ec2.DescribeSubnetsInput{Filters: filters, MaxResults: aws.Int32(500)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, translate(err, "describe subnets")
			}
			for _, subnet := range page.Subnets {
				id := aws.ToString(subnet.SubnetId)
				found[id] = model.Subnet{
					ID: id, Zone: aws.ToString(subnet.AvailabilityZone),
					ZoneID:        aws.ToString(subnet.AvailabilityZoneId),
					FreeAddresses: int64(aws.ToInt32(subnet.AvailableIpAddressCount)),
				}
			}
		}
	}
	var subnets []model.Subnet
	for _, subnet := range found {
		subnets = append(subnets, subnet)
	}
	sort.Slice(subnets, func(i, j int) bool {
		if subnets[i].FreeAddresses != subnets[j].FreeAddresses {
			return subnets[i].FreeAddresses > subnets[j].FreeAddresses
		}
		return subnets[i].ID < subnets[j].ID
	})
	return subnets, nil
}

func (c *Classes) securityGroups(ctx context.Context, terms []model.SelectorTerm) ([]model.SecurityGroup, error) {
	found := map[string]model.SecurityGroup{}
	for _, filters := range filterSets(terms, "group-id", "group-name") {
		pages := ec2.NewDescribeSecurityGroupsPaginator(c.clients.EC2,
			&ec2.DescribeSecurityGroupsInput{Filters: filters, MaxResults: aws.Int32(500)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, translate(err, "describe security groups")
			}
			for _, group := range page.SecurityGroups {
				id := aws.ToString(group.GroupId)
				found[id] = model.SecurityGroup{ID: id, Name: aws.ToString(group.GroupName)}
			}
		}
	}
	var groups []model.SecurityGroup
	for _, group := range found {
		groups = append(groups, group)
	}
	sort.Slice(groups, func(i, j int) bool { return groups[i].ID < groups[j].ID })
	return groups, nil
}
