package cloudwatchalarms_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/joiner-sh/joiner/shared/adapter/cloudwatchalarms"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	alarmmodel "github.com/joiner-sh/joiner/testenv/local/cloud/cloudwatch"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

func alarmsOf(t *testing.T, handler http.Handler) cloudwatchalarms.Alarms {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return cloudwatchalarms.New(cloudwatch.New(cloudwatch.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}))
}

// M87: metric alarms and composite alarms are read by name, more of them than one request or page holds, and an alarm
// that does not exist is in no answer.
func TestM87AlarmsAreReadByName(t *testing.T) {
	m := alarmmodel.New()
	alarms := alarmsOf(t, alarmmodel.NewHandler(m))
	names, want := []string{"gone"}, map[string]model.AlarmState{"any": model.AlarmOn}
	m.PutComposite("any")
	m.Set("any", alarmmodel.On)
	for i := range 120 {
		name := fmt.Sprintf("errors %03d", i)
		m.PutMetric(name)
		names, want[name] = append(names, name), model.AlarmInsufficient
	}
	m.Set("errors 007", alarmmodel.OK)
	want["errors 007"] = model.AlarmOK
	m.PutMetric("another's")
	got, err := alarms.AlarmStates(t.Context(), append(names, "any"))
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%d of %d states, %v: any is %q", len(got), len(want), err, got["any"])
	}
}

// M87: what CloudWatch refuses is of a kind that the flow acts on.
func TestM87RefusalsOfAlarmsHaveAKind(t *testing.T) {
	for code, kind := range map[string]fault.Kind{
		"AccessDenied": fault.Denied, "Throttling": fault.Throttled, "InternalServiceFault": fault.Internal,
	} {
		alarms := alarmsOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			wire.WriteCBORError(w, wire.Errorf(code, "no"))
		}))
		if _, err := alarms.AlarmStates(t.Context(), []string{"errors"}); !fault.Is(err, kind) {
			t.Errorf("%s: %v", code, err)
		}
	}
}
