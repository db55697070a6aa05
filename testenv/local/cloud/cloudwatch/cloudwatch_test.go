package cloudwatch_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/cloudwatch"
)

func start(t *testing.T) (*cloudwatch.Model, *sdk.Client) {
	t.Helper()
	m := cloudwatch.New()
	server := httptest.NewServer(cloudwatch.NewHandler(m))
	t.Cleanup(server.Close)
	return m, sdk.New(sdk.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

func TestAlarmsAreDescribedByNameAndType(t *testing.T) {
	m, client := start(t)
	m.PutMetric("errors")
	m.PutComposite("any")
	m.Set("any", cloudwatch.On)
	names := []string{"errors", "any", "gone"}
	out, err := client.DescribeAlarms(t.Context(), &sdk.DescribeAlarmsInput{AlarmNames: names})
	if err != nil || len(out.CompositeAlarms) != 0 || len(out.MetricAlarms) != 1 ||
		out.MetricAlarms[0].StateValue != types.StateValueInsufficientData {
		t.Errorf("without types: %+v, %v", out, err)
	}
	out, err = client.DescribeAlarms(t.Context(), &sdk.DescribeAlarmsInput{
		AlarmNames: names, MaxRecords: aws.Int32(1),
		AlarmTypes: []types.AlarmType{types.AlarmTypeCompositeAlarm, types.AlarmTypeMetricAlarm},
	})
	if err != nil || len(out.CompositeAlarms) != 1 || out.CompositeAlarms[0].StateValue != types.StateValueAlarm ||
		len(out.MetricAlarms) != 0 || aws.ToString(out.NextToken) == "" {
		t.Errorf("the first page: %+v, %v", out, err)
	}
	m.Delete("any")
	out, err = client.DescribeAlarms(t.Context(), &sdk.DescribeAlarmsInput{
		AlarmNames: []string{"any"}, AlarmTypes: []types.AlarmType{types.AlarmTypeCompositeAlarm},
	})
	if err != nil || len(out.CompositeAlarms) != 0 {
		t.Errorf("an alarm that was deleted: %+v, %v", out, err)
	}
}

func TestWhatTheModelDoesNotKnowIsRefused(t *testing.T) {
	_, client := start(t)
	_, prefix := client.DescribeAlarms(t.Context(), &sdk.DescribeAlarmsInput{AlarmNamePrefix: aws.String("a")})
	_, many := client.DescribeAlarms(t.Context(), &sdk.DescribeAlarmsInput{AlarmNames: make([]string, 101)})
	_, deleted := client.DeleteAlarms(t.Context(), &sdk.DeleteAlarmsInput{AlarmNames: []string{"a"}})
	for want, err := range map[string]error{"prefix": prefix, "too many names": many, "another action": deleted} {
		var refused smithy.APIError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
