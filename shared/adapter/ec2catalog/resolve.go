package ec2catalog

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Resolve looks up everything a class's selectors speak of. A selector that finds nothing is a problem of the class; one
// that could not be asked about fails the whole, so that half an answer is never taken for one. A class of the same UID
// and generation that resolved without a problem is not looked up again for a minute: batches come faster than networks
// change.
func (c *Catalog) Resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	key := fmt.Sprintf("%s/%d", class.UID, class.Generation)
	now := c.settings.Now()
	c.mutex.Lock()
	kept, known := c.resolved[key]
	c.mutex.Unlock()
	if known && now.Sub(kept.readAt) < c.settings.ResolveEvery {
		return kept.status, nil
	}
	status, err := c.resolve(ctx, class, images)
	if err != nil || len(status.Problems) > 0 || class.UID == "" {
		return status, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for other, old := range c.resolved { // earlier generations, classes long gone
		if now.Sub(old.readAt) >= c.settings.ResolveEvery {
			delete(c.resolved, other)
		}
	}
	c.resolved[key] = resolved{status, now}
	return status, nil
}

// resolved is what a class meant when it was last looked up. It is shared and not written to.
type resolved struct {
	status model.ClassStatus
	readAt time.Time
}

func (c *Catalog) resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	var status model.ClassStatus
	problems := make([]*model.ClassProblem, 4)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		status.Subnets, err = c.subnets(ctx, class.Subnets)
		if err == nil && len(status.Subnets) == 0 {
			problems[0] = &model.ClassProblem{Condition: "SubnetsReady", Reason: "SubnetsNotFound", Message: c.nothing("subnet", "spec.subnetSelectorTerms", class.Subnets)}
		}
		return err
	})
	group.Go(func() (err error) {
		status.SecurityGroups, err = c.securityGroups(ctx, class.SecurityGroups)
		if err == nil && len(status.SecurityGroups) == 0 {
			problems[1] = &model.ClassProblem{Condition: "SecurityGroupsReady", Reason: "SecurityGroupsNotFound", Message: c.nothing("security group", "spec.securityGroupSelectorTerms", class.SecurityGroups)}
		}
		return err
	})
	group.Go(func() (err error) {
		status.Images, err = c.images(ctx, images)
		if err == nil && len(status.Images) == 0 {
			problems[2] = &model.ClassProblem{Condition: "AMIsReady", Reason: "AMINotFound", Message: c.nothing("image", "spec.amiSelectorTerms", class.Images)}
		}
		return err
	})
	group.Go(func() (err error) {
		status.InstanceProfile, problems[3], err = c.profile(ctx, class)
		return err
	})
	if err := group.Wait(); err != nil {
		return model.ClassStatus{}, fmt.Errorf("resolve class %s: %w", class.Name, err)
	}
	for _, problem := range problems {
		if problem != nil {
			status.Problems = append(status.Problems, *problem)
		}
	}
	return status, nil
}

// nothing says which selector found nothing and what to do.
func (c *Catalog) nothing(what, field string, terms []model.SelectorTerm) string {
	var parts []string
	for i, term := range terms {
		parts = append(parts, fmt.Sprintf("%s[%d] (%s)", field, i, describe(term)))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%s is empty; add a term", field)
	}
	return fmt.Sprintf("no %s in %s matches %s; tag or name one so, or correct the selector", what, c.settings.Region, strings.Join(parts, " or "))
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
	for _, key := range sortedKeys(term.Tags) {
		parts = append(parts, fmt.Sprintf("tag %s=%s", key, term.Tags[key]))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys(tags map[string]string) []string {
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// filterSets turns terms into the filter lists of as many queries: one for all ids, one for all names where names have a
// filter of their own, one for each term of tags. The more exact member of a term wins.
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

// tagFilters matches every tag; the value * asks only that the key exists.
func tagFilters(tags map[string]string) []types.Filter {
	var filters []types.Filter
	for _, key := range sortedKeys(tags) {
		if tags[key] == "*" {
			filters = append(filters, types.Filter{Name: aws.String("tag-key"), Values: []string{key}})
			continue
		}
		filters = append(filters, types.Filter{Name: aws.String("tag:" + key), Values: []string{tags[key]}})
	}
	return filters
}

func (c *Catalog) subnets(ctx context.Context, terms []model.SelectorTerm) ([]model.Subnet, error) {
	found := map[string]model.Subnet{}
	for _, filters := range filterSets(terms, "subnet-id", "") {
		pages := ec2.NewDescribeSubnetsPaginator(c.clients.EC2, &ec2.DescribeSubnetsInput{Filters: filters, MaxResults: aws.Int32(500)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, translate(err, "describe subnets")
			}
			for _, subnet := range page.Subnets {
				id := aws.ToString(subnet.SubnetId)
				found[id] = model.Subnet{
					ID: id, Zone: aws.ToString(subnet.AvailabilityZone), ZoneID: aws.ToString(subnet.AvailabilityZoneId),
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

func (c *Catalog) securityGroups(ctx context.Context, terms []model.SelectorTerm) ([]model.SecurityGroup, error) {
	found := map[string]model.SecurityGroup{}
	for _, filters := range filterSets(terms, "group-id", "group-name") {
		pages := ec2.NewDescribeSecurityGroupsPaginator(c.clients.EC2, &ec2.DescribeSecurityGroupsInput{Filters: filters, MaxResults: aws.Int32(500)})
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

// profile returns the class's instance profile: the one it names, else the first by name that holds its role.
func (c *Catalog) profile(ctx context.Context, class model.Class) (string, *model.ClassProblem, error) {
	if class.InstanceProfile != "" {
		return class.InstanceProfile, nil, nil
	}
	role := class.Role[strings.LastIndexByte(class.Role, '/')+1:]
	problem := func(reason, format string, args ...any) (string, *model.ClassProblem, error) {
		return "", &model.ClassProblem{Condition: "InstanceProfileReady", Reason: reason, Message: fmt.Sprintf(format, args...)}, nil
	}
	if role == "" {
		return problem("InstanceProfileNotFound", "neither spec.role nor spec.instanceProfile is set; set one of them")
	}
	pages := iam.NewListInstanceProfilesForRolePaginator(c.clients.IAM, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String(role)})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			err = translate(err, "list instance profiles of role %s", role)
			if fault.Is(err, fault.NotFound) {
				return problem("RoleNotFound", "spec.role %q does not exist in this account; create it or correct the name", class.Role)
			}
			return "", nil, err
		}
		for _, profile := range page.InstanceProfiles {
			names = append(names, aws.ToString(profile.InstanceProfileName))
		}
	}
	if len(names) == 0 {
		return problem("InstanceProfileNotFound", "spec.role %q is in no instance profile; add it to one, or set spec.instanceProfile", class.Role)
	}
	sort.Strings(names)
	return names[0], nil, nil
}
