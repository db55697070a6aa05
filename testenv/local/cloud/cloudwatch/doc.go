// Package cloudwatch is a model of Amazon CloudWatch as far as the states of alarms go. People set the states: the
// model knows no metrics.
//
//	m := cloudwatch.New()
//	m.PutMetric("checkout-errors")
//	m.Set("checkout-errors", cloudwatch.On)
//	c.Register("monitoring", cloudwatch.NewHandler(m))
package cloudwatch
