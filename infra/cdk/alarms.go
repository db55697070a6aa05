package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
)

// ours is the namespace of the metrics that functions write into their logs, see docs/reference/metrics.md. Alarms go by those of them that are
// sent whatever the option metrics says.
const ours = "Joiner"

// metric is one of CloudWatch's: a name in a namespace, of the resource that a dimension names.
type metric struct{ Namespace, Name, Dimension, Of string }

// alarm is on while the sum of its metrics is beyond a threshold, in so many of the last minutes.
type alarm struct {
	ID, About string
	Metrics   []metric
	Statistic string // Sum where empty
	Least     float64
	Below     bool // on while less than Least, and where nothing is reported at all
	Minutes   int  // each period
	Of, In    int  // periods that are beyond, of the last ones
}

// alarms are the dozen and more that say somebody should look. Each names what to do in its text.
func alarms(o Options) []alarm {
	var out []alarm
	for _, q := range append([]queue{planQueue}, queuesOf...) {
		out = append(out, alarm{
			ID: q.ID + "DeadAlarm", About: "Messages that could not be processed are in " + q.fullName("-dead") + ": read the function's log for their ids, then redrive them",
			Metrics: []metric{{"AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", q.fullName("-dead")}}, Statistic: "Maximum", Least: 1, Minutes: 1, Of: 1, In: 1,
		})
	}
	out = append(out, ageAlarm("Notices", "joiner-notices"), lostAlarm("EventsAlarm", "joiner-state",
		"EventBridge can neither deliver events about instances nor store them in joiner-notices-dead: see the policies of these queues and of their key"))
	var throttles, dropped []metric
	for _, f := range functions(o) {
		of := func(name string) metric { return metric{"AWS/Lambda", name, "FunctionName", f.Name} }
		throttles, dropped = append(throttles, of("Throttles")), append(dropped, of("RecursiveInvocationsDropped"))
		out = append(out, alarm{
			ID: f.ID + "ErrorAlarm", About: "Invocations of " + f.Name + " fail: read its log", Metrics: []metric{of("Errors")}, Least: 1, Minutes: 1, Of: 3, In: 5,
		})
	}
	out = append(out,
		alarm{ID: "ThrottleAlarm", About: throttled(o), Metrics: throttles, Least: 1, Minutes: 1, Of: 3, In: 5},
		alarm{ID: "RecursionAlarm", About: "Lambda stopped functions for calling themselves: their recursive loop setting is no longer Allow", Metrics: dropped, Least: 1, Minutes: 5, Of: 1, In: 1},
		alarm{ID: "TickAlarm", About: "joiner-provision was not invoked for five minutes: see the rule " + tickRule,
			Metrics: []metric{{"AWS/Lambda", "Invocations", "FunctionName", "joiner-provision"}}, Least: 1, Below: true, Minutes: 5, Of: 1, In: 1},
		alarm{ID: "TableAlarm", About: "DynamoDB throttles the table joiner: check its metrics for a hot partition",
			Metrics: []metric{{"AWS/DynamoDB", "ReadThrottleEvents", "TableName", "joiner"}, {"AWS/DynamoDB", "WriteThrottleEvents", "TableName", "joiner"}}, Least: 1, Minutes: 1, Of: 3, In: 5},
		alarm{ID: "SilentAlarm", About: "The heartbeat of a cluster's watcher is overdue and functions list the cluster themselves: joiner doctor says which",
			Metrics: []metric{{ours, "SilentWatchers", "", ""}}, Least: 1, Minutes: 1, Of: 5, In: 10},
		alarm{ID: "FailedAlarm", About: "Launches fail repeatedly: joiner why names the NodePool and EC2's error",
			Metrics: []metric{{ours, "LaunchesFailed", "", ""}}, Least: 10, Minutes: 5, Of: 3, In: 3},
		alarm{ID: "BrakeAlarm", About: "So many nodes were removed lately that further removals are postponed: find out what removes them before you raise the removal limit",
			Metrics: []metric{{ours, "RemovalsPutOff", "", ""}}, Least: 1, Minutes: 5, Of: 1, In: 1},
	)
	return out
}

// throttled says what to do where Lambda has no room for functions.
func throttled(o Options) string {
	if o.Reserve {
		return "Functions are throttled: raise context maxClusters, or the account's quota of concurrent executions"
	}
	return "Functions are throttled: other functions of the account use up its quota of concurrent executions, or the quota is small; raise it, and set context reserve to true"
}

// lostAlarm is on where a rule's events are lost. The rules for the queue of notices have one target, one queue for what is not delivered and
// the same policies, so that one of them speaks for all: that of states, which fires whenever an instance ends, whatever ended it. EventBridge
// counts what failed for good, and what went to no dead-letter queue either. Source: EventBridge user guide, "Monitoring Amazon EventBridge".
func lostAlarm(id, rule, about string) alarm {
	return alarm{
		ID: id, About: about, Least: 1, Minutes: 5, Of: 1, In: 1,
		Metrics: []metric{{"AWS/Events", "FailedInvocations", "RuleName", rule}, {"AWS/Events", "InvocationsFailedToBeSentToDlq", "RuleName", rule}},
	}
}

func (r *region) makeAlarms() {
	for _, a := range alarms(r.o) {
		a.make(r.stack, r.o, "")
	}
}

// make makes the alarm; of is the cluster it is about, "" = all of the region.
func (a alarm) make(stack awscdk.Stack, o Options, of string) {
	var report *[]any
	if o.AlarmTopicARN != "" {
		report = &[]any{s(o.AlarmTopicARN)}
	}
	operator, missing := "GreaterThanOrEqualToThreshold", "notBreaching"
	if a.Below {
		operator, missing = "LessThanThreshold", "breaching"
	}
	name := "Joiner-" + a.ID[:len(a.ID)-len("Alarm")]
	if of != "" {
		name += "-" + short(of)
	}
	properties := &awscloudwatch.CfnAlarmProps{
		AlarmName: s(name), AlarmDescription: s(a.About), AlarmActions: report, OkActions: report,
		ComparisonOperator: s(operator), Threshold: &a.Least, TreatMissingData: s(missing), EvaluationPeriods: n(a.In), DatapointsToAlarm: n(a.Of),
	}
	a.measure(properties)
	awscloudwatch.NewCfnAlarm(stack, s(a.ID), properties)
}

// ageAlarm is on while hints wait in a queue.
func ageAlarm(id, queue string) alarm {
	return alarm{
		ID: id + "AgeAlarm", About: "Hints wait in " + queue + " for more than a minute: see errors and throttles of its function",
		Metrics: []metric{{"AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", queue}}, Statistic: "Maximum", Least: 60, Minutes: 1, Of: 3, In: 5,
	}
}

// measure fills in what an alarm looks at: its one metric, or the sum of them.
func (a alarm) measure(into *awscloudwatch.CfnAlarmProps) {
	statistic := a.Statistic
	if statistic == "" {
		statistic = "Sum"
	}
	if len(a.Metrics) == 1 {
		m := a.Metrics[0]
		into.Namespace, into.MetricName, into.Statistic, into.Period, into.Dimensions = s(m.Namespace), s(m.Name), s(statistic), n(60*a.Minutes), m.dimensions()
		return
	}
	sum := &awscloudwatch.CfnAlarm_MetricDataQueryProperty{Id: s("sum"), Expression: s("SUM(METRICS())"), ReturnData: true}
	queries := []any{sum}
	for i, m := range a.Metrics {
		queries = append(queries, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{
			Id: s("m" + string(rune('0'+i))), ReturnData: false,
			MetricStat: &awscloudwatch.CfnAlarm_MetricStatProperty{
				Stat: s(statistic), Period: n(60 * a.Minutes),
				Metric: &awscloudwatch.CfnAlarm_MetricProperty{Namespace: s(m.Namespace), MetricName: s(m.Name), Dimensions: m.dimensions()},
			},
		})
	}
	into.Metrics = queries
}

func (m metric) dimensions() any {
	if m.Dimension == "" {
		return nil
	}
	return []any{&awscloudwatch.CfnAlarm_DimensionProperty{Name: s(m.Dimension), Value: s(m.Of)}}
}
