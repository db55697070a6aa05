package cloud_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
)

func TestAlarmsAreReadWithTheRightOnEveryResource(t *testing.T) {
	for resource, want := range map[string]string{
		"*": "", "arn:aws:cloudwatch:us-west-2:123456789012:alarm:errors": "AccessDeniedException",
	} {
		g := startGuarded(t, allow("Alarms", "cloudwatch:DescribeAlarms", resource, ""))
		g.Alarms.PutMetric("errors")
		_, err := cloudwatch.NewFromConfig(g.config).DescribeAlarms(t.Context(),
			&cloudwatch.DescribeAlarmsInput{AlarmNames: []string{"errors"}})
		if code := codeOf(err); code != want {
			t.Errorf("%s: %q, %v", resource, code, err)
		}
	}
}
