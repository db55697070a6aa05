package ec2catalog

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	iammodel "github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	pricingmodel "github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	ssmmodel "github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// region is our model of the services read from, under a clock that stands still.
type region struct {
	*cloud.Cloud
	clock   *clock.Fake
	ec2     *ec2model.Model
	ssm     *ssmmodel.Model
	catalog *Catalog
}

// start returns a region with the network tagged karpenter.sh/discovery=web and an instance profile of role node-role.
func start(t *testing.T) *region {
	t.Helper()
	// Requests are signed by the system's clock, so the front door runs on it; ages are reckoned by the other.
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &region{Cloud: c, clock: clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	network := ec2model.DefaultNetwork("web")
	timing := ec2model.Timing{Gone: time.Hour}
	r.ec2 = ec2model.New(ec2model.Options{Clock: r.clock, Timing: &timing, Network: &network})
	r.ec2.AddInstanceProfile("nodes-b", "node-role")
	r.ec2.AddInstanceProfile("nodes-a", "node-role")
	r.ssm = ssmmodel.New(ssmmodel.Options{Clock: r.clock})
	c.Register("ec2", ec2model.NewHandler(r.ec2))
	c.Register("iam", iammodel.NewHandler(r.ec2))
	c.Register("ssm", ssmmodel.NewHandler(r.ssm))
	c.Register("pricing", pricingmodel.NewHandler(pricingmodel.New(pricingmodel.Options{})))
	config := c.Config()
	// Over loopback an answer may overtake the end of its request, which the SDK takes for a lost connection and asks again.
	config.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxBackoff, o.RateLimiter = time.Millisecond, ratelimit.None
		})
	}
	r.catalog = New(Clients{
		EC2: ec2.NewFromConfig(config), IAM: iam.NewFromConfig(config), SSM: ssm.NewFromConfig(config), Pricing: pricing.NewFromConfig(config),
	}, Settings{Region: catalog.Region, Now: r.clock.Now})
	return r
}

// fail makes a service's action fail until the returned function is called; the action "" is every one.
func (r *region) fail(service, action, code string) (mend func()) {
	return r.Inject(cloud.Fault{Service: service, Action: action, Err: wire.Errorf(code, "injected")}).Remove
}
