package ec2catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// class returns a class all of whose selectors find something, changed by change.
func class(change func(*model.Class)) model.Class {
	discovery := []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "web"}}}
	c := model.Class{
		Name: "default", Family: "AL2023", Role: "node-role", Subnets: discovery, SecurityGroups: discovery,
		Images: []model.SelectorTerm{{Alias: "al2023@latest"}},
	}
	if change != nil {
		change(&c)
	}
	return c
}

func resolve(t *testing.T, r *region, c model.Class) model.ClassStatus {
	t.Helper()
	return resolveAt(t, r, c, "1.36")
}

// resolveAt resolves a class of a cluster of that version.
func resolveAt(t *testing.T, r *region, c model.Class, version string) model.ClassStatus {
	t.Helper()
	queries, err := image.Queries(c, version)
	if err != nil {
		t.Fatal(err)
	}
	status, err := r.catalog.Resolve(t.Context(), c, queries)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestClassResolvesToItsNetworkImagesAndProfile(t *testing.T) {
	r := start(t)
	status := resolve(t, r, class(nil))
	if len(status.Problems) != 0 || status.InstanceProfile != "nodes-a" || len(status.SecurityGroups) != 1 || status.SecurityGroups[0].Name != "web-node" {
		t.Errorf("%+v", status)
	}
	if len(status.Subnets) != 3 || status.Subnets[0].ZoneID == "" || status.Subnets[0].FreeAddresses != 8187 {
		t.Errorf("subnets %+v", status.Subnets)
	}
	if len(status.Images) != 5 { // standard and nvidia for both architectures, neuron for one
		t.Errorf("images %+v", status.Images)
	}
	for _, i := range status.Images {
		published, _ := catalog.LookupImage(i.ID)
		if i.Name != published.Name || i.CreatedUnix != published.CreationTime.Unix() || i.Deprecated || !strings.Contains(i.Name, "-1.36-v20261105") {
			t.Errorf("image %+v, published as %+v", i, published)
		}
		arch := i.Requirements[len(i.Requirements)-1]
		if arch.Key != model.LabelArch || strings.Contains(i.Name, "arm64") != (arch.Values[0] == "arm64") {
			t.Errorf("image %s is for %+v", i.Name, arch)
		}
	}
}

func TestSubnetsComeWithMostFreeAddressesFirst(t *testing.T) {
	r := start(t)
	small, err := r.ec2.AddSubnet(ec2model.Subnet{Zone: "us-west-2a", CIDR: "10.0.128.0/24", Tags: map[string]string{"karpenter.sh/discovery": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	subnets := resolve(t, r, class(nil)).Subnets
	if len(subnets) != 4 || subnets[3].ID != small {
		t.Fatalf("%+v", subnets)
	}
	if !slices.IsSortedFunc(subnets[:3], func(a, b model.Subnet) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("equals are not by id: %+v", subnets)
	}
}

// AWS §1.3: terms are ORed, the members of one ANDed, "*" asks for the key alone, and what two terms find counts once.
func TestSelectorTermsSelect(t *testing.T) {
	r := start(t)
	add := func(zone, cidr string, tags map[string]string) string {
		id, err := r.ec2.AddSubnet(ec2model.Subnet{Zone: zone, CIDR: cidr, Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ab := add("us-west-2a", "10.0.128.0/20", map[string]string{"a": "1", "b": "1"})
	a := add("us-west-2b", "10.0.144.0/20", map[string]string{"a": "1"})
	other := add("us-west-2c", "10.0.160.0/20", map[string]string{"a": "2"})
	tags := func(pairs ...string) model.SelectorTerm {
		term := model.SelectorTerm{Tags: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			term.Tags[pairs[i]] = pairs[i+1]
		}
		return term
	}
	cases := []struct {
		name  string
		terms []model.SelectorTerm
		want  []string
	}{
		{"one tag", []model.SelectorTerm{tags("a", "1")}, []string{ab, a}},
		{"two tags of a term", []model.SelectorTerm{tags("a", "1", "b", "1")}, []string{ab}},
		{"two terms", []model.SelectorTerm{tags("b", "1"), tags("a", "2")}, []string{ab, other}},
		{"any value", []model.SelectorTerm{tags("a", "*")}, []string{ab, a, other}},
		{"ids", []model.SelectorTerm{{ID: a}, {ID: other}}, []string{a, other}},
		{"an id and a tag that find the same", []model.SelectorTerm{{ID: ab}, tags("a", "1")}, []string{ab, a}},
		{"an id that does not exist beside one that does", []model.SelectorTerm{{ID: "subnet-0000"}, {ID: a}}, []string{a}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, subnet := range resolve(t, r, class(func(cl *model.Class) { cl.Subnets = c.terms })).Subnets {
				got = append(got, subnet.ID)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSecurityGroupsAreFoundByNameOfTheGroup(t *testing.T) {
	r := start(t)
	groups := resolve(t, r, class(func(c *model.Class) {
		c.SecurityGroups = []model.SelectorTerm{{Name: "eks-cluster-sg-web"}, {Name: "web-node"}}
	})).SecurityGroups
	if len(groups) != 2 || groups[0].ID > groups[1].ID {
		t.Errorf("%+v", groups)
	}
}

func TestSecurityGroupsAreFoundByIDAndTags(t *testing.T) {
	r := start(t)
	add := func(name string, tags map[string]string) string {
		return r.ec2.AddSecurityGroup(ec2model.SecurityGroup{Name: name, Tags: tags})
	}
	both := add("both", map[string]string{"a": "1", "b": "1"})
	one, none := add("one", map[string]string{"a": "1"}), add("none", nil)
	for name, c := range map[string]struct {
		terms []model.SelectorTerm
		want  []string
	}{
		"id":                 {[]model.SelectorTerm{{ID: none}}, []string{none}},
		"one tag":            {[]model.SelectorTerm{{Tags: map[string]string{"a": "1"}}}, []string{both, one}},
		"two tags of a term": {[]model.SelectorTerm{{Tags: map[string]string{"a": "1", "b": "1"}}}, []string{both}},
		"two terms": {[]model.SelectorTerm{{Tags: map[string]string{"b": "1"}}, {ID: one}},
			[]string{both, one}},
	} {
		var got []string
		status := resolve(t, r, class(func(cl *model.Class) { cl.SecurityGroups = c.terms }))
		for _, g := range status.SecurityGroups {
			got = append(got, g.ID)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestImagesAreFoundByIDNameTagsAndParameter(t *testing.T) {
	r := start(t)
	own := func(name string, tags map[string]string) string {
		return r.ec2.AddImage(catalog.Image{Name: name, Architecture: catalog.ARM64}, tags)
	}
	first, second := own("golden-1", nil), own("golden-2", map[string]string{"stage": "prod"})
	r.ssm.Put("/images/golden", first)
	r.ssm.Put("/images/broken", "not an image")
	cases := map[string]struct {
		terms []model.SelectorTerm
		want  []string
	}{
		"id":                    {[]model.SelectorTerm{{ID: second}}, []string{second}},
		"name of one's own":     {[]model.SelectorTerm{{Name: "golden-*"}}, []string{first, second}},
		"name and owner":        {[]model.SelectorTerm{{Name: "golden-1", Owner: "self"}}, []string{first}},
		"another's":             {[]model.SelectorTerm{{Name: "golden-1", Owner: "amazon"}}, nil},
		"tags":                  {[]model.SelectorTerm{{Tags: map[string]string{"stage": "prod"}}}, []string{second}},
		"parameter":             {[]model.SelectorTerm{{SSMParameter: "/images/golden"}}, []string{first}},
		"parameter of no image": {[]model.SelectorTerm{{SSMParameter: "/images/broken"}}, nil},
		"no such parameter":     {[]model.SelectorTerm{{SSMParameter: "/images/none"}}, nil},
		"one of two":            {[]model.SelectorTerm{{SSMParameter: "/images/none"}, {ID: second}}, []string{second}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			status := resolve(t, r, class(func(cl *model.Class) { cl.Images = c.terms }))
			for _, i := range status.Images {
				got = append(got, i.ID)
				if arch := i.Requirements; len(arch) != 1 || arch[0].Values[0] != "arm64" {
					t.Errorf("requirements %+v", arch)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if missing := len(status.Problems) == 1 && status.Problems[0].Reason == "AMINotFound"; missing != (c.want == nil) {
				t.Errorf("problems %+v", status.Problems)
			}
		})
	}
}

func TestImageIsDeprecatedOnceItsTimeHasCome(t *testing.T) {
	r := start(t)
	pinned := class(func(c *model.Class) { c.Images = []model.SelectorTerm{{Alias: "al2023@v20250519"}} })
	for _, i := range resolve(t, r, pinned).Images {
		if !i.Deprecated {
			t.Errorf("image %s of a release deprecated in 2025 is not", i.Name)
		}
	}
}

func TestParameterIsKeptAndItsLastValueOutlivesAFailure(t *testing.T) {
	r := start(t)
	r.ssm.Put("/images/golden", r.ec2.AddImage(catalog.Image{Name: "g", Architecture: catalog.X86_64}, nil))
	c := class(func(c *model.Class) { c.Images = []model.SelectorTerm{{SSMParameter: "/images/golden"}} })
	resolve(t, r, c)
	resolve(t, r, c)
	if n := r.CountOf("ssm", "GetParameter").Requests; n != 1 {
		t.Errorf("the parameter was read %d times, want once", n)
	}
	r.fail("ssm", "", "ThrottlingException")
	r.clock.Advance(31 * time.Minute)
	if status := resolve(t, r, c); len(status.Images) != 1 {
		t.Errorf("%+v", status)
	}
}

// A throttled look-up must never pass for an architecture that is not published.
func TestParameterThatCannotBeReadFailsTheWhole(t *testing.T) {
	r := start(t)
	r.fail("ssm", "", "ThrottlingException")
	queries, err := image.Queries(class(nil), "1.36")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.catalog.Resolve(t.Context(), class(nil), queries); !fault.Is(err, fault.Throttled) {
		t.Errorf("got %v, want Throttled", err)
	}
}

func TestProblemsNameFieldValueAndRemedy(t *testing.T) {
	r := start(t)
	nowhere := []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "nowhere"}}, {ID: "x-0000"}}
	cases := map[string]struct {
		change            func(*model.Class)
		condition, reason string
		says              []string
	}{
		"subnets": {func(c *model.Class) { c.Subnets = nowhere }, "SubnetsReady", "SubnetsNotFound",
			[]string{"spec.subnetSelectorTerms[0]", "karpenter.sh/discovery=nowhere", "spec.subnetSelectorTerms[1]", "x-0000", "us-west-2", "correct the selector"}},
		"an image that is not shared": {func(c *model.Class) { c.Images = []model.SelectorTerm{{ID: "ami-0000"}} }, "AMIsReady", "AMINotFound", // V129
			[]string{"spec.amiSelectorTerms[0] (id ami-0000)", "does not exist in us-west-2, or is not shared with this account"}},
		"no subnet terms": {func(c *model.Class) { c.Subnets = nil }, "SubnetsReady", "SubnetsNotFound", []string{"spec.subnetSelectorTerms is empty", "add a term"}},
		"security groups": {func(c *model.Class) { c.SecurityGroups = nowhere }, "SecurityGroupsReady", "SecurityGroupsNotFound",
			[]string{"spec.securityGroupSelectorTerms[0]", "nowhere", "correct the selector"}},
		"images": {func(c *model.Class) { c.Images = []model.SelectorTerm{{Alias: "al2023@v19990101"}} }, "AMIsReady", "AMINotFound",
			[]string{"spec.amiSelectorTerms[0]", "al2023@v19990101"}},
		"role that does not exist": {func(c *model.Class) { c.Role = "nobody" }, "InstanceProfileReady", "RoleNotFound", []string{"spec.role", "nobody", "create it"}},
		"neither role nor profile": {func(c *model.Class) { c.Role = "" }, "InstanceProfileReady", "InstanceProfileNotFound",
			[]string{"spec.role", "spec.instanceProfile", "set one"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems := resolve(t, r, class(c.change)).Problems
			if len(problems) != 1 || problems[0].Condition != c.condition || problems[0].Reason != c.reason || problems[0].Unknown {
				t.Fatalf("%+v", problems)
			}
			for _, part := range c.says {
				if !strings.Contains(problems[0].Message, part) {
					t.Errorf("%q does not say %q", problems[0].Message, part)
				}
			}
		})
	}
}

func TestInstanceProfileIsTakenByItsWordAndRoleByItsLastSegment(t *testing.T) {
	r := start(t)
	named := resolve(t, r, class(func(c *model.Class) { c.Role, c.InstanceProfile = "", "mine" }))
	if named.InstanceProfile != "mine" || len(named.Problems) != 0 || r.CountOf("iam", "ListInstanceProfilesForRole").Requests != 0 {
		t.Errorf("%+v", named)
	}
	if byPath := resolve(t, r, class(func(c *model.Class) { c.Role = "team/node-role" })); byPath.InstanceProfile != "nodes-a" {
		t.Errorf("%+v", byPath)
	}
}

func TestSelectorThatCannotBeAskedAboutFailsTheWhole(t *testing.T) {
	for _, action := range []string{"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages", "ListInstanceProfilesForRole"} {
		t.Run(action, func(t *testing.T) {
			r := start(t)
			r.fail("", action, "RequestLimitExceeded")
			queries, err := image.Queries(class(nil), "1.36")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.catalog.Resolve(t.Context(), class(nil), queries); !fault.Is(err, fault.Throttled) {
				t.Errorf("got %v, want Throttled", err)
			}
		})
	}
}

func TestResolvedClassIsKeptForAMinuteAndAProblemIsNot(t *testing.T) {
	r := start(t)
	class := model.Class{Name: "default", UID: "u", Generation: 1, InstanceProfile: "nodes-a",
		Subnets:        []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "web"}}},
		SecurityGroups: []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "web"}}},
		Images:         []model.SelectorTerm{{ID: catalog.Images()[0].ID}},
	}
	queries := []model.ImageQuery{{Term: class.Images[0]}}
	asked := func() int64 { return r.CountOf("ec2", "DescribeSubnets").Requests }
	resolve := func() model.ClassStatus {
		t.Helper()
		status, err := r.catalog.Resolve(t.Context(), class, queries)
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	first := resolve()
	if again := resolve(); asked() != 1 || len(again.Subnets) != len(first.Subnets) || len(first.Problems) != 0 {
		t.Errorf("asked %d times for %+v", asked(), again)
	}
	r.clock.Advance(61 * time.Second)
	if resolve(); asked() != 2 {
		t.Errorf("asked %d times after a minute, want 2", asked())
	}
	class.Generation, class.Subnets = 2, []model.SelectorTerm{{ID: "subnet-00000000000000000"}}
	for range 2 {
		if status := resolve(); len(status.Problems) != 1 {
			t.Errorf("problems %+v", status.Problems)
		}
	}
	if asked() != 4 {
		t.Errorf("asked %d times, want a class with a problem looked up each time", asked())
	}
}
