package cloud_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// both runs a test under both readings of a doubt; want is by whether the other one is taken.
func both[T any](t *testing.T, id string, want map[bool]T, run func(t *testing.T, reads *reading.Set, want T)) {
	t.Helper()
	for other, reads := range map[bool]*reading.Set{false: reading.Strict(id), true: reading.Other(id)} {
		name := map[bool]string{false: "default", true: "other"}[other]
		t.Run(name, func(t *testing.T) {
			lags := slices.DeleteFunc(reading.Delays(), func(lag string) bool { return lag == id })
			run(t, reads.Without(lags...), want[other])
		})
	}
}

// A request that tags instance and volume alone loses the tags its template has for interfaces, or not.
func TestTagsOfTheTemplateAreLostOrNot(t *testing.T) {
	both(t, reading.RunInstancesTags, map[bool]string{false: "UnauthorizedOperation", true: "DryRunOperation"}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads, launchPolicy...)
		g.template(t, "own", "a", nil)
		if got := g.dryRun(t, "a", "required", "instance", "volume"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// A request that leaves the metadata options to its template has no key for them, or the template's.
func TestMetadataKeysAreTheRequestsOrTheTemplates(t *testing.T) {
	both(t, reading.RunInstancesMetadataKeys, map[bool]string{false: "UnauthorizedOperation", true: "DryRunOperation"}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads, launchPolicy...)
		g.template(t, "own", "a", nil)
		if got := g.dryRun(t, "a", "", "instance", "volume", "network-interface"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := g.fleet(t, "own", "a", false); got != "" {
			t.Errorf("a fleet launches from templates: got %s", got)
		}
	})
}

// amended returns the launch policy with a text in the place of another.
func amended(t *testing.T, sid, before, after string) []string {
	t.Helper()
	out := slices.Clone(launchPolicy)
	i := slices.IndexFunc(out, func(s string) bool { return strings.Contains(s, `"Sid": "`+sid+`"`) })
	if i < 0 || !strings.Contains(out[i], before) {
		t.Fatalf("the launch policy has no %s in %s", before, sid)
	}
	out[i] = strings.Replace(out[i], before, after, 1)
	return out
}

// CreateFleet is evaluated on an image that its template alone names with the image's owner, or without.
func TestCreateFleetKnowsTheImagesOwnerOrNot(t *testing.T) {
	policy := amended(t, "Into", `"arn:aws:ec2:*::image/*", `, "")
	policy = append(policy, `{"Sid": "Images", "Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:RunInstances"], "Resource": "arn:aws:ec2:*::image/*", "Condition": {"StringEquals": {"ec2:Owner": "amazon"}}}`)
	both(t, reading.CreateFleetTemplateKeys, map[bool]string{false: "UnauthorizedOperation", true: ""}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads.Without(reading.CreateFleetResources), policy...)
		g.template(t, "own", "a", nil)
		if got := g.fleet(t, "own", "a", false); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := g.dryRun(t, "a", "required", "instance", "volume", "network-interface"); got != "DryRunOperation" {
			t.Errorf("RunInstances knows the owner: got %s", got)
		}
	})
}

// CreateFleet is evaluated on all a launch is made from, or on the fleet alone.
func TestCreateFleetIsAuthorizedOnAllOrOnTheFleet(t *testing.T) {
	policy := amended(t, "Into", `"ec2:CreateFleet", `, "")
	both(t, reading.CreateFleetResources, map[bool]string{false: "UnauthorizedOperation", true: ""}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads, policy...)
		g.template(t, "own", "a", nil)
		if got := g.fleet(t, "own", "a", false); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Tags of a fleet's instances are made by CreateFleet and RunInstances, or by RunInstances alone.
func TestTagsOfFleetsAreAskedForTwiceOrOnce(t *testing.T) {
	policy := slices.DeleteFunc(slices.Clone(launchPolicy), func(s string) bool { return strings.Contains(s, `"Sid": "Tag"`) })
	policy = append(policy,
		`{"Sid": "TagFleet", "Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "arn:aws:ec2:*:*:fleet/*", "Condition": {"StringEquals": {"ec2:CreateAction": "CreateFleet"}}}`,
		`{"Sid": "TagRest", "Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*", "Condition": {"StringEquals": {"ec2:CreateAction": "RunInstances"}}}`)
	both(t, reading.FleetCreateTags, map[bool]string{false: "UnauthorizedOperation", true: ""}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads.Without(reading.CreateFleetResources), policy...)
		g.template(t, "own", "a", func(d *ec2types.RequestLaunchTemplateData) {})
		if got := g.fleet(t, "own", "a", false); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A profile that is not there is evaluated by its name in the root, or not at all.
func TestMissingProfilesAreAuthorizedOrNot(t *testing.T) {
	both(t, reading.MissingProfile, map[bool]string{false: "AccessDenied", true: "NoSuchEntity"}, func(t *testing.T, reads *reading.Set, want string) {
		g := guardedAs(t, reads, allow("Get", "iam:GetInstanceProfile", "arn:aws:iam::123456789012:instance-profile/karpenter/a/*", ""))
		_, err := awsiam.NewFromConfig(g.config).GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String("absent")})
		if got := codeOf(err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
