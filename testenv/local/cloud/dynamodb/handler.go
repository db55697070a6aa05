package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// NewHandler serves the model in AWS JSON 1.0, as the SDKs and the AWS CLI speak to DynamoDB. It answers
// every request of its target prefix and leaves signatures to the front door.
func NewHandler(m *Model) http.Handler {
	actions := wire.JSON{
		Version: "1.0", TargetPrefix: "DynamoDB_20120810", ErrorPrefix: "com.amazonaws.dynamodb.v20120810#", CRC32: true,
		Actions: map[string]wire.JSONAction{
			"BatchGetItem":              action(m.BatchGetItem),
			"BatchWriteItem":            action(m.BatchWriteItem),
			"CreateTable":               action(m.CreateTable),
			"DeleteItem":                action(m.DeleteItem),
			"DeleteTable":               action(m.DeleteTable),
			"DescribeContinuousBackups": action(m.DescribeContinuousBackups),
			"DescribeEndpoints":         describeEndpoints,
			"DescribeLimits":            action(m.DescribeLimits),
			"DescribeTable":             action(m.DescribeTable),
			"DescribeTimeToLive":        action(m.DescribeTimeToLive),
			"GetItem":                   action(m.GetItem),
			"ListTables":                action(m.ListTables),
			"ListTagsOfResource":        action(m.ListTagsOfResource),
			"PutItem":                   action(m.PutItem),
			"Query":                     action(m.Query),
			"Scan":                      action(m.Scan),
			"TagResource":               action(m.TagResource),
			"TransactGetItems":          action(m.TransactGetItems),
			"TransactWriteItems":        action(m.TransactWriteItems),
			"UntagResource":             action(m.UntagResource),
			"UpdateContinuousBackups":   action(m.UpdateContinuousBackups),
			"UpdateItem":                action(m.UpdateItem),
			"UpdateTable":               action(m.UpdateTable),
			"UpdateTimeToLive":          action(m.UpdateTimeToLive),
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		actions.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), hostKey{}, r.Host)))
	})
}

// action makes a wire action of an operation. A refused attribute value in the request is the
// ValidationException the service answers; any other document that does not fit is for wire to refuse.
func action[I, O any](operation func(context.Context, I) (*O, error)) wire.JSONAction {
	serve := wire.JSONFunc(func(ctx context.Context, in *I) (*O, error) { return operation(ctx, *in) })
	return func(ctx context.Context, body []byte) (any, error) {
		var in I
		err := json.Unmarshal(body, &in)
		if refused, ok := errors.AsType[*attribute.ValidationError](err); ok {
			return nil, asWire(refused)
		}
		if err != nil {
			return serve(ctx, body)
		}
		out, err := operation(ctx, in)
		if err != nil || out == nil {
			return nil, err
		}
		return out, nil
	}
}

type hostKey struct{}

// describeEndpoints tells a client that asks to go on using the address it asked at.
func describeEndpoints(ctx context.Context, _ []byte) (any, error) {
	host, _ := ctx.Value(hostKey{}).(string)
	return DescribeEndpointsOutput{Endpoints: []Endpoint{{Address: host, CachePeriodInMinutes: 1440}}}, nil
}
