// Package insights answers the queries of CloudWatch Logs Insights that dashboards ask, as far as ours go: does any line pass the filters,
// and does a line that does have the fields the query shows? A widget whose fields nobody writes is empty for ever, and nothing says so.
//
//	q, err := insights.Parse(`SOURCE '/aws/lambda/joiner-provision' | filter msg = "provision" and outcome.claims > 0 | stats sum(outcome.claims) by bin(5m)`)
//	answer := q.Over(lines)   // answer.Lines, answer.Absent
//
// Commands are filter, stats, fields, sort and limit; conditions are ispresent, comparisons with texts and numbers, and in, joined by "and". Anything
// else is an error, never ignored. Lines that are no JSON pass no filter, as the service discovers no fields in them. Source: CloudWatch Logs
// user guide, "CloudWatch Logs Insights language query syntax" and "Supported logs and discovered fields".
package insights
