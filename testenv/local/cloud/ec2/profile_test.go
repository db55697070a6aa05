package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func TestLaunchNeedsAProfileThatExistsAndHoldsARole(t *testing.T) {
	b := newBench(t)
	timing := ec2.DefaultTiming()
	timing.Profile = 10 * time.Second
	b.SetTiming(timing)
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("web")}
	})
	launch := func(want string) {
		t.Helper()
		out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a")))
		code := ""
		if len(out.Errors) > 0 {
			code = *out.Errors[0].ErrorCode
		}
		if code != want || (want == "") != (len(launchedIDs(out)) == 1) {
			t.Errorf("launched %v, code %q, want %q", got(out), code, want)
		}
	}
	b.AddInstanceProfile("web", "nodes")
	launch("InvalidParameterValue") // too young
	b.clock.Advance(10 * time.Second)
	launch("")
	b.AddInstanceProfile("web", "")
	launch("InvalidParameterValue") // empty
	b.AddInstanceProfile("web", "nodes")
	launch("")
	if !b.RemoveInstanceProfile("web") {
		t.Error("there was no profile")
	}
	launch("InvalidParameterValue") // gone, although there is none left at all
}
