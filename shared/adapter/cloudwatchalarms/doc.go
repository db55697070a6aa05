// Package cloudwatchalarms reads the states of CloudWatch alarms that NodePools name.
//
//	alarms := cloudwatchalarms.New(cloudwatch.NewFromConfig(config))
package cloudwatchalarms
