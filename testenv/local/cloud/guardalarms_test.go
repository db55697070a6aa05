package cloud_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/joiner-sh/joiner/testenv/local/cloud/cloudwatch"
)

func TestAlarmsAreReadWithTheRightOnEveryResource(t *testing.T) {
	for resource, want := range map[string]string{
		"*": "", "arn:aws:cloudwatch:us-west-2:123456789012:alarm:errors": "AccessDeniedException",
	} {
		g := startGuarded(t, allow("Alarms", "cloudwatch:DescribeAlarms", resource, ""))
		m := cloudwatch.New()
		m.PutMetric("errors")
		g.Register("monitoring", cloudwatch.NewHandler(m))
		_, err := sdk.NewFromConfig(g.config).DescribeAlarms(t.Context(),
			&sdk.DescribeAlarmsInput{AlarmNames: []string{"errors"}})
		if code := codeOf(err); code != want {
			t.Errorf("%s: %q, %v", resource, code, err)
		}
	}
}
