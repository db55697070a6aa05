package cloudwatchalarms

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Alarms are an account and region's. They keep nothing in memory.
type Alarms struct{ client *cloudwatch.Client }

// New returns the alarms that a client reads.
func New(client *cloudwatch.Client) Alarms { return Alarms{client: client} }

// most is how many alarms one request names. Source: API reference, DescribeAlarms: AlarmNames, MaxRecords.
const most = 100

// within is how long an answer is waited for: a VPC without an endpoint for CloudWatch lets requests hang.
const within = 5 * time.Second

// AlarmStates returns the states of metric alarms and composite alarms by name, without those that do not exist.
// Throttled and Denied as CloudWatch says.
func (a Alarms) AlarmStates(ctx context.Context, names []string) (map[string]model.AlarmState, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	states := make(map[string]model.AlarmState, len(names))
	for some := range slices.Chunk(names, most) {
		in := &cloudwatch.DescribeAlarmsInput{
			AlarmNames: some, MaxRecords: aws.Int32(most),
			AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm},
		}
		for more := true; more; more = aws.ToString(in.NextToken) != "" {
			out, err := a.client.DescribeAlarms(ctx, in)
			if err != nil {
				return nil, sdkerr.Wrap(err, kindOf, "describe %d CloudWatch alarms", len(some))
			}
			for _, alarm := range out.MetricAlarms {
				states[aws.ToString(alarm.AlarmName)] = model.AlarmState(alarm.StateValue)
			}
			for _, alarm := range out.CompositeAlarms {
				states[aws.ToString(alarm.AlarmName)] = model.AlarmState(alarm.StateValue)
			}
			in.NextToken = out.NextToken
		}
	}
	return states, nil
}

func kindOf(code string) fault.Kind {
	switch code {
	case "Throttling", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException":
		return fault.Throttled
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnrecognizedClientException",
		"InvalidClientTokenId", "ExpiredToken", "ExpiredTokenException":
		return fault.Denied
	case "ValidationError", "ValidationException", "InvalidParameterValue", "InvalidParameterValueException":
		return fault.Invalid
	}
	return fault.Internal
}
