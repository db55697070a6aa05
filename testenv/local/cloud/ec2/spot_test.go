package ec2_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// prices returns the history of m5.large in us-west-2a since a time, newest first.
func (b bench) prices(t *testing.T, since time.Time) []types.SpotPrice {
	t.Helper()
	out, err := b.sdk.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{StartTime: &since, AvailabilityZone: aws.String("us-west-2a"),
		InstanceTypes: []types.InstanceType{"m5.large"}, ProductDescriptions: []string{"Linux/UNIX"}})
	if err != nil {
		t.Fatal(err)
	}
	return out.SpotPriceHistory
}

func TestSpotPricesMoveWithTheClockAndAreRemembered(t *testing.T) {
	b, twin := newBench(t), newBench(t)
	for _, m := range []bench{b, twin} {
		m.MoveSpotPrices(ec2.SpotMarketOptions{Every: 6 * time.Hour, SwingPermille: 200})
		m.clock.Advance(48 * time.Hour)
	}
	history := b.prices(t, start)
	if len(history) < 8 || len(history) > 9 {
		t.Fatalf("%d prices in two days, want one in six hours", len(history))
	}
	base, _ := catalog.Lookup("m5.large")
	want := float64(base.SpotMicroUSDPerHour("us-west-2a")) / 1e6
	differ := map[string]bool{}
	for i, p := range history {
		price, err := strconv.ParseFloat(*p.SpotPrice, 64)
		if err != nil || price < want*0.79 || price > want*1.21 {
			t.Errorf("price %s, want %f give or take a fifth", *p.SpotPrice, want)
		}
		if i > 0 && history[i-1].Timestamp.Sub(*p.Timestamp) != 6*time.Hour {
			t.Errorf("%v after %v", history[i-1].Timestamp, p.Timestamp)
		}
		differ[*p.SpotPrice] = true
	}
	if len(differ) < 4 {
		t.Errorf("only the prices %v", differ)
	}
	now := b.prices(t, b.clock.Now())
	if len(now) != 1 || *now[0].SpotPrice != *history[0].SpotPrice || !now[0].Timestamp.Equal(*history[0].Timestamp) {
		t.Errorf("now %+v, newest %+v", now, history[0])
	}
	if same := twin.prices(t, start); len(same) != len(history) || *same[3].SpotPrice != *history[3].SpotPrice {
		t.Error("the same clock gives other prices")
	}
	b.SetSpotPrice("m5.large", "us-west-2a", 12_300)
	b.clock.Advance(12 * time.Hour)
	if now := b.prices(t, b.clock.Now()); *now[0].SpotPrice != "0.012300" {
		t.Errorf("a price that was set is %s", *now[0].SpotPrice)
	}
}

func TestWhatIsNotSoldAsSpotHasNoSpotPrice(t *testing.T) {
	b := newBench(t)
	out, err := b.sdk.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{StartTime: aws.Time(start), InstanceTypes: []types.InstanceType{"hpc7g.16xlarge"}})
	if err != nil || len(out.SpotPriceHistory) != 0 {
		t.Errorf("%+v %v", out, err)
	}
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.ImageId = aws.String(imageFor(catalog.ARM64)) })
	if out := b.fleet(t, fleetOf(1, spot, b.over("hpc7g.16xlarge", "b"))); len(launchedIDs(out)) != 0 || len(out.Errors) != 1 {
		t.Errorf("launched %v, errors %+v", got(out), out.Errors)
	}
	if out := b.fleet(t, fleetOf(1, od, b.over("hpc7g.16xlarge", "b"))); len(launchedIDs(out)) != 1 {
		t.Errorf("on demand: launched %v, errors %+v", got(out), out.Errors)
	}
}
