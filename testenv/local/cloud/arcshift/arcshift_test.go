package arcshift_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/arczonalshift"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

const arn = "arn:aws:eks:us-west-2:123456789012:cluster/web"

func start(t *testing.T) (*arcshift.Model, *sdk.Client, *clock.Fake) {
	t.Helper()
	fake := clock.NewFake(time.Unix(1_900_000_000, 0))
	m := arcshift.New(arcshift.Options{Clock: fake})
	server := httptest.NewServer(arcshift.NewHandler(m))
	t.Cleanup(server.Close)
	return m, sdk.New(sdk.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), fake
}

func get(t *testing.T, client *sdk.Client) *sdk.GetManagedResourceOutput {
	t.Helper()
	out, err := client.GetManagedResource(t.Context(),
		&sdk.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAShiftIsShownUntilItExpiresOrIsCanceled(t *testing.T) {
	m, client, fake := start(t)
	var missing *types.ResourceNotFoundException
	if _, err := client.GetManagedResource(t.Context(),
		&sdk.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)}); !errors.As(err, &missing) {
		t.Fatalf("a resource that is not managed: %v", err)
	}
	m.Manage(arn)
	if out := get(t, client); len(out.ZonalShifts)+len(out.Autoshifts) != 0 {
		t.Errorf("%+v", out)
	}
	begin := func() *sdk.StartZonalShiftOutput {
		t.Helper()
		out, err := client.StartZonalShift(t.Context(), &sdk.StartZonalShiftInput{
			AwayFrom: aws.String("usw2-az1"), Comment: aws.String("test"), ExpiresIn: aws.String("10m"),
			ResourceIdentifier: aws.String(arn),
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	begin()
	shifts := get(t, client).ZonalShifts
	if len(shifts) != 1 || shifts[0].AppliedStatus != types.AppliedStatusApplied ||
		aws.ToString(shifts[0].AwayFrom) != "usw2-az1" ||
		!shifts[0].ExpiryTime.Equal(fake.Now().Add(10*time.Minute)) {
		t.Fatalf("%+v", shifts)
	}
	fake.Advance(10 * time.Minute)
	if out := get(t, client); len(out.ZonalShifts) != 0 {
		t.Errorf("after its expiry: %+v", out.ZonalShifts)
	}
	second := begin()
	if _, err := client.CancelZonalShift(t.Context(),
		&sdk.CancelZonalShiftInput{ZonalShiftId: second.ZonalShiftId}); err != nil {
		t.Fatal(err)
	}
	if out := get(t, client); len(out.ZonalShifts) != 0 {
		t.Errorf("after it was canceled: %+v", out.ZonalShifts)
	}
}

func TestAZonalShiftGoesBeforeAnAutoshift(t *testing.T) {
	m, client, _ := start(t)
	m.Manage(arn)
	m.Autoshift(arn, "usw2-az2")
	if out := get(t, client); len(out.Autoshifts) != 1 ||
		out.Autoshifts[0].AppliedStatus != types.AutoshiftAppliedStatusApplied {
		t.Errorf("%+v", out.Autoshifts)
	}
	if _, err := client.StartZonalShift(t.Context(), &sdk.StartZonalShiftInput{
		AwayFrom: aws.String("usw2-az1"), Comment: aws.String("test"), ExpiresIn: aws.String("1h"),
		ResourceIdentifier: aws.String(arn),
	}); err != nil {
		t.Fatal(err)
	}
	if out := get(t, client); out.Autoshifts[0].AppliedStatus != types.AutoshiftAppliedStatusNotApplied ||
		out.ZonalShifts[0].AppliedStatus != types.AppliedStatusApplied {
		t.Errorf("%+v", out)
	}
	m.EndAutoshift(arn)
	if out := get(t, client); len(out.Autoshifts) != 0 {
		t.Errorf("%+v", out.Autoshifts)
	}
}
