package arcshift_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"

	"github.com/joiner-sh/joiner/shared/adapter/arcshift"
	"github.com/joiner-sh/joiner/shared/model"
	arc "github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// CT-07: what is applied to a cluster is returned with its zone and its end; a cluster without zonal shifts is not
// managed, and one that is not EKS's is not asked about.
func TestCT07ShiftsAreReadOfTheCluster(t *testing.T) {
	m := arc.New(arc.Options{Clock: clock.NewFake(time.Unix(1_900_000_000, 0))})
	server := httptest.NewServer(arc.NewHandler(m))
	t.Cleanup(server.Close)
	client := arczonalshift.New(arczonalshift.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	zones := arcshift.New(client)
	reg := model.Registration{Cluster: "web", ARN: "arn:aws:eks:us-west-2:123456789012:cluster/web"}
	read := func(want bool) []model.ZonalShift {
		t.Helper()
		shifts, managed, err := zones.ZonalShifts(t.Context(), reg)
		if err != nil || managed != want {
			t.Fatalf("managed %v, %v", managed, err)
		}
		return shifts
	}
	read(false)
	m.Manage(reg.ARN)
	m.Autoshift(reg.ARN, "usw2-az2")
	if shifts := read(true); len(shifts) != 1 || shifts[0] != (model.ZonalShift{ZoneID: "usw2-az2", Auto: true,
		SinceUnix: 1_900_000_000}) {
		t.Errorf("%+v", shifts)
	}
	if _, err := client.StartZonalShift(t.Context(), &arczonalshift.StartZonalShiftInput{
		AwayFrom: aws.String("usw2-az1"), Comment: aws.String("test"), ExpiresIn: aws.String("1h"),
		ResourceIdentifier: &reg.ARN,
	}); err != nil {
		t.Fatal(err)
	}
	if shifts := read(true); len(shifts) != 1 || shifts[0] != (model.ZonalShift{ZoneID: "usw2-az1",
		SinceUnix: 1_900_000_000, UntilUnix: 1_900_003_600}) {
		t.Errorf("of a zonal shift and an autoshift the first is in effect: %+v", shifts)
	}
	reg.ARN = ""
	read(false)
}
