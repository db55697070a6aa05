// Package events routes events by pattern, as an EventBridge bus does.
//
// It decides which rules an event matches and builds the envelope their targets receive. How a target is reached, and
// how often a failed delivery is tried again, is package delivery's. The same patterns filter the messages of an event
// source mapping.
//
// Example:
//
//	pattern, err := events.ParsePattern([]byte(`{"source":["aws.ec2"],"detail":{"instance-action":[{"prefix":"term"}]}}`))
//	if err != nil {
//		return err
//	}
//	bus := events.NewBus(events.Config{Region: "eu-west-1"})
//	err = bus.PutRule(events.Rule{Name: "spot", Pattern: pattern, Targets: []events.Target{{Send: delivery.SQS(client, url, "")}}})
//	if err != nil {
//		return err
//	}
//	_, err = bus.PutEvents(ctx, events.Entry{Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning", Detail: detail})
//
// Understood in patterns: exact values, prefix, suffix, equals-ignore-case, wildcard, anything-but (of values and of these),
// numeric, exists, cidr and $or. Not modeled: archives, replays, input transformers and cross-account buses.
package events
