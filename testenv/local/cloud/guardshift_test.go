package cloud_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/arczonalshift"

	"github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

func TestZonalShiftsAreReadOfTheNamedClusterAlone(t *testing.T) {
	own, other := "arn:aws:eks:us-west-2:123456789012:cluster/own", "arn:aws:eks:us-west-2:123456789012:cluster/other"
	g := startGuarded(t, allow("Shifts", "arc-zonal-shift:GetManagedResource", "*",
		`"StringEquals": {"arc-zonal-shift:ResourceIdentifier": "`+own+`"}`))
	zones := arcshift.New(arcshift.Options{Clock: clock.System()})
	zones.Manage(own)
	zones.Manage(other)
	g.Register("arc-zonal-shift", arcshift.NewHandler(zones))
	read := func(arn string) error {
		_, err := arczonalshift.NewFromConfig(g.config).GetManagedResource(t.Context(),
			&arczonalshift.GetManagedResourceInput{ResourceIdentifier: aws.String(arn)})
		return err
	}
	if err := read(own); err != nil {
		t.Errorf("the cluster of the policy: %v", err)
	}
	if code := codeOf(read(other)); code != "AccessDeniedException" {
		t.Errorf("another cluster: %q", code)
	}
}
