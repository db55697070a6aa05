package ec2catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// calls counts the requests of an action.
func (r *region) calls(service, action string) int64 {
	for _, c := range r.Counts() {
		if c.Service == service && c.Action == action {
			return c.Requests
		}
	}
	return 0
}

func TestNC01TermsAreOredAndTheirMembersAnded(t *testing.T) {
	r := start(t)
	subnet := func(cidr string, tags map[string]string) string {
		id, err := r.ec2.AddSubnet(ec2model.Subnet{Zone: "us-west-2a", CIDR: cidr, Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	both := subnet("10.0.128.0/24", map[string]string{"a": "1", "b": "1"})
	subnet("10.0.129.0/24", map[string]string{"a": "1"}) // has one of two tags
	named := subnet("10.0.130.0/24", nil)
	tagged := subnet("10.0.131.0/24", map[string]string{"c": "1"})
	found, err := r.catalog.subnets(t.Context(), []model.SelectorTerm{
		{Tags: map[string]string{"a": "1", "b": "1"}}, {Tags: map[string]string{"c": "1"}}, {ID: named},
	})
	var got []string
	for _, s := range found {
		got = append(got, s.ID)
	}
	want := []string{both, named, tagged}
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("found %v, want %v; %v", got, want, err)
	}
}

func TestNC02FilterShapes(t *testing.T) {
	exists, pattern := tagFilters(map[string]string{"a": "*"})[0], tagFilters(map[string]string{"a": "*Public*"})[0]
	if *exists.Name != "tag-key" || exists.Values[0] != "a" || *pattern.Name != "tag:a" || pattern.Values[0] != "*Public*" {
		t.Errorf("%+v %+v", exists, pattern)
	}
	names := filterSets([]model.SelectorTerm{{Name: "x"}, {Name: "y"}}, "group-id", "group-name")
	if len(names) != 1 || *names[0][0].Name != "group-name" || len(names[0][0].Values) != 2 {
		t.Errorf("%+v", names)
	}
	r := start(t)
	var ten []model.SelectorTerm
	for i := range 10 {
		ten = append(ten, model.SelectorTerm{ID: fmt.Sprintf("subnet-%d", i)})
	}
	before := r.calls("ec2", "DescribeSubnets")
	if _, err := r.catalog.subnets(t.Context(), ten); err != nil || r.calls("ec2", "DescribeSubnets")-before != 1 {
		t.Errorf("%v: %d calls for ten ids", err, r.calls("ec2", "DescribeSubnets")-before)
	}
}

func TestNC20StatusOrder(t *testing.T) {
	r := start(t)
	status := resolve(t, r, class(func(c *model.Class) { c.Reservations = []model.SelectorTerm{{Tags: map[string]string{"use": "web"}}} }))
	if !slices.IsSortedFunc(status.Subnets, func(a, b model.Subnet) int {
		if a.FreeAddresses != b.FreeAddresses {
			return int(b.FreeAddresses - a.FreeAddresses)
		}
		return strings.Compare(a.ID, b.ID)
	}) || !slices.IsSortedFunc(status.SecurityGroups, func(a, b model.SecurityGroup) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%+v", status)
	}
	chosen := image.Choose(status.Images)
	if len(chosen) == 0 || !slices.IsSortedFunc(chosen, func(a, b model.Image) int {
		if a.CreatedUnix != b.CreatedUnix {
			return int(b.CreatedUnix - a.CreatedUnix)
		}
		return strings.Compare(a.ID, b.ID)
	}) {
		t.Errorf("images %+v", chosen)
	}
}

// §1.3 and §1.14: reservations by id, tags, owner and match criteria; only active ones that have not ended.
func TestReservationsThatTermsSelect(t *testing.T) {
	r := start(t)
	web := map[string]string{"use": "web"}
	now := r.clock.Now()
	add := func(res ec2model.Reservation) string {
		res.Type, res.Zone, res.Total = "m5.large", "us-west-2a", 3
		return r.ec2.AddReservation(res)
	}
	open, targeted := add(ec2model.Reservation{Tags: web}), add(ec2model.Reservation{Tags: web, Targeted: true})
	shared := add(ec2model.Reservation{Tags: web, OwnerID: "999999999999"})
	block := add(ec2model.Reservation{Tags: web, Targeted: true, Block: true, End: now.Add(time.Hour)})
	canceled := add(ec2model.Reservation{Tags: web})
	r.ec2.CancelReservation(canceled)
	other := add(ec2model.Reservation{Tags: map[string]string{"use": "batch"}, Interruptible: true})
	byTags := func(change func(*model.SelectorTerm)) []model.SelectorTerm {
		term := model.SelectorTerm{Tags: web}
		if change != nil {
			change(&term)
		}
		return []model.SelectorTerm{term}
	}
	for name, c := range map[string]struct {
		terms []model.SelectorTerm
		want  []string
	}{
		"tags":                   {byTags(nil), []string{open, targeted, shared, block}},
		"match criteria":         {byTags(func(s *model.SelectorTerm) { s.MatchCriteria = "targeted" }), []string{targeted, block}},
		"owner":                  {byTags(func(s *model.SelectorTerm) { s.Owner = "999999999999" }), []string{shared}},
		"ids":                    {[]model.SelectorTerm{{ID: open}, {ID: other}}, []string{open, other}},
		"an id that is not":      {[]model.SelectorTerm{{ID: "cr-00000000000000000"}}, nil},
		"an id that is not, too": {[]model.SelectorTerm{{ID: "cr-00000000000000000"}, {ID: open}}, []string{open}},
		"a cancelled one's id":   {[]model.SelectorTerm{{ID: canceled}}, nil},
		"both":                   {append(byTags(nil), model.SelectorTerm{ID: open}), []string{open, targeted, shared, block}},
		"none":                   {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := r.catalog.reservations(t.Context(), c.terms)
			var got []string
			for _, f := range found {
				got = append(got, f.ID)
			}
			slices.Sort(c.want)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v %v, want %v", got, err, c.want)
			}
		})
	}
	found, _ := r.catalog.reservations(t.Context(), []model.SelectorTerm{{ID: block}, {ID: other}})
	for _, f := range found {
		if f.InstanceType != "m5.large" || f.Zone != "us-west-2a" || f.Total != 3 || f.Free != 3 || f.Block != (f.ID == block) || f.Interruptible != (f.ID == other) || (f.EndUnix != 0) != f.Block {
			t.Errorf("%+v", f)
		}
	}
}

func TestPlacementGroupThatAClassSelects(t *testing.T) {
	r := start(t)
	id := r.ec2.AddPlacementGroup(ec2model.PlacementGroup{Name: "close", Strategy: ec2model.PlacePartition, Partitions: 5})
	for name, term := range map[string]model.SelectorTerm{"by name": {Name: "close"}, "by id": {ID: id}} {
		group, problem, err := r.catalog.placementGroup(t.Context(), &term)
		if err != nil || problem != nil || group == nil || *group != (model.PlacementGroup{ID: id, Name: "close", Strategy: "partition", Partitions: 5}) {
			t.Errorf("%s: %+v %+v %v", name, group, problem, err)
		}
	}
	// §12.19: one that is not there is a problem that names it, and never no group.
	for field, term := range map[string]model.SelectorTerm{"name": {Name: "far"}, "id": {ID: "pg-00000000000000000"}} {
		group, problem, err := r.catalog.placementGroup(t.Context(), &term)
		if err != nil || group != nil || problem == nil || problem.Reason != "PlacementGroupNotFound" || !strings.Contains(problem.Message, "spec.placementGroupSelector."+field) {
			t.Errorf("%s: %+v %+v %v", field, group, problem, err)
		}
	}
	if group, problem, err := r.catalog.placementGroup(t.Context(), nil); group != nil || problem != nil || err != nil {
		t.Errorf("without a selector: %+v %+v %v", group, problem, err)
	}
}

// §1.17: an error of the API is about its own part alone.
func TestExamineTellsWhatCouldNotBeAsked(t *testing.T) {
	r := start(t)
	c := class(nil)
	queries, err := image.Queries(c, "1.36")
	if err != nil {
		t.Fatal(err)
	}
	mend := r.fail("ec2", "DescribeSubnets", "RequestLimitExceeded")
	status, err := r.catalog.ResolveParts(t.Context(), c, queries)
	if !fault.Is(err, fault.Throttled) || len(status.Subnets) != 0 || len(status.Images) != 5 || len(status.SecurityGroups) != 1 || status.InstanceProfile != "nodes-a" {
		t.Errorf("%+v %v", status, err)
	}
	if len(status.Problems) != 1 || status.Problems[0].Condition != "SubnetsReady" || !status.Problems[0].Unknown {
		t.Errorf("%+v", status.Problems)
	}
	mend()
	if status, err = r.catalog.ResolveParts(t.Context(), c, queries); err != nil || len(status.Problems) != 0 {
		t.Errorf("%+v %v", status.Problems, err)
	}
}

func TestCT03ProfilesAreMadeOnceListedAndDeleted(t *testing.T) {
	r := start(t)
	ctx := t.Context()
	profile := model.InstanceProfile{Name: "web_1", Path: "/karpenter/us-west-2/web/u1/", Role: "node-role", Tags: map[string]string{"team": "a"}}
	for range 2 {
		if err := r.catalog.EnsureProfile(ctx, profile); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.catalog.Profile(ctx, "web_1")
	if err != nil || got.Role != "node-role" || got.Path != profile.Path || got.CreatedUnix == 0 {
		t.Errorf("%+v %v", got, err)
	}
	i := slices.IndexFunc(r.ec2.InstanceProfiles(), func(p ec2model.Profile) bool { return p.Name == "web_1" })
	if i < 0 || r.ec2.InstanceProfiles()[i].Tags["team"] != "a" {
		t.Errorf("%+v", r.ec2.InstanceProfiles())
	}
	other := profile
	other.Role = "another-role"
	if err := r.catalog.EnsureProfile(ctx, other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another role in the same profile: %v", err)
	}
	nobody := model.InstanceProfile{Name: "web_2", Path: "/karpenter/us-west-2/web/u2/", Role: "nobody"}
	if err := r.catalog.EnsureProfile(ctx, nobody); !fault.Is(err, fault.NotFound) {
		t.Errorf("a role that does not exist: %v", err)
	}
	names := func(prefix string) []string {
		found, err := r.catalog.Profiles(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range found {
			out = append(out, p.Name)
		}
		return out
	}
	if got := names("/karpenter/us-west-2/web/u1/"); !slices.Equal(got, []string{"web_1"}) {
		t.Errorf("of a class: %v", got)
	}
	if got := names("/karpenter/us-west-2/web/"); len(got) != 2 { // the half-made one is found too
		t.Errorf("of the cluster: %v", got)
	}
	for range 2 {
		for _, p := range []model.InstanceProfile{got, nobody} {
			if err := r.catalog.DeleteProfile(context.WithoutCancel(ctx), p); err != nil {
				t.Errorf("delete %s: %v", p.Name, err)
			}
		}
	}
	if got := names("/karpenter/"); len(got) != 0 {
		t.Errorf("after the deletion: %v", got)
	}
}

func TestSE02IsolatedNetworkResolvesWithoutIAM(t *testing.T) {
	r := start(t)
	r.catalog.Types.settings.Isolated = true
	status := resolve(t, r, class(nil))
	if len(status.Problems) != 1 || status.Problems[0].Condition != "InstanceProfileReady" || !strings.Contains(status.Problems[0].Message, "spec.instanceProfile") {
		t.Errorf("%+v", status.Problems)
	}
	if status = resolve(t, r, class(func(c *model.Class) { c.Role, c.InstanceProfile = "", "mine" })); len(status.Problems) != 0 || status.InstanceProfile != "mine" {
		t.Errorf("%+v", status)
	}
	for _, c := range r.Counts() {
		if c.Service == "iam" {
			t.Errorf("%d calls of iam %s", c.Requests, c.Action)
		}
	}
}
