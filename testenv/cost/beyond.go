package cost

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Range is what something costs a month that a bill leaves out, because it depends on the installation or nobody outside of AWS knows.
type Range struct {
	Name      string
	Low, High float64 // USD a month at list price; the same where it is known
	Per       string  // what the price is for, where it is not for an installation
	How       string  // it comes to that
	Source    string  // page of AWS with the price, or file with the count
}

// List prices of us-east-1 of what lines of the bill are not for. Sources stand beside their ranges.
const (
	endpointHour   = 0.01  // USD for an interface endpoint in a zone
	natHour        = 0.045 // USD for a NAT gateway
	natGigabyte    = 0.045 // USD for a GB through it
	keyMonth       = 1.0   // USD for a key
	keyRequests    = 0.03 / 10_000
	dataEvent      = 0.10 / 100_000
	hoursOfMonth   = 720
	relayReplicas  = 2
	relayWait      = 8 // s of a receive, shared/adapter/relay/inbox.go
	noticeMillis   = 60
	slower         = 3 // times as long as assumed
	keyReuse       = 5 // minutes for which SQS and DynamoDB use a data key again
	keyPrincipals  = 6 // that ask for data keys: four functions, EventBridge, a watcher
	endpointsNamed = "sqs, sts, ec2, ssm, eks, logs"
)

// Beyond is what comes on top of the bills of recorded scenarios, the first being the idle one and the last the busiest.
func Beyond(recorded []Recorded, d Deployment) []Range {
	minutes := month.Minutes()
	idle, busy := recorded[0].Month(), recorded[len(recorded)-1].Month()
	standard, fifo, compute := prices[serviceSQS]["standard"], prices[serviceSQS]["fifo"], prices[serviceLambda]["compute"]
	unit := func(i Item) float64 { return i.USD / i.Per }

	polls := func(p Pollers, price Item) float64 {
		return max(0, p.Queues*pollersBounded-p.Pollers) * asksPerMinute * minutes * unit(price)
	}
	all := polls(d.Standard, standard) + polls(d.FIFO, fifo)

	computed := func(u Usage) float64 {
		usd, _ := Sum(Bill(u, d), Compute)
		return usd
	}
	endpoints := float64(strings.Count(endpointsNamed, ",") + 1)
	zone := endpoints * endpointHour * hoursOfMonth
	relay := relayReplicas * minutes * 60 / relayWait * unit(standard)
	request := (3*unit(standard) + unit(prices[serviceDynamoDB]["write"]) + unit(prices[serviceDynamoDB]["read"])) * 1e6
	events := func(u Usage) (low, high float64) { // a call of DynamoDB takes half a unit at least, and may take many
		calls := u.Puts + u.Gets
		for _, f := range u.Functions {
			calls += f.Invocations
		}
		return calls * dataEvent, (calls + u.WriteUnits + 2*u.ReadUnits) * dataEvent
	}
	idleLow, _ := events(idle)
	_, idleHigh := events(idle)
	busyLow, busyHigh := events(busy)
	encrypted := 2 * (d.Standard.Queues + d.FIFO.Queues) // with their dead letters
	keyed := keyPrincipals * (encrypted + 2) * minutes / keyReuse * keyRequests
	notice := (3*unit(standard) + unit(prices[serviceLambda]["request"]) + unit(prices[serviceDynamoDB]["read"]) + d.MemoryMB["Interruption"]/1024*noticeMillis/1000*unit(compute)) * 1e6

	return []Range{
		{"pollers of idle queues", 0, all, "",
			fmt.Sprintf("the guide says two pollers for a standard queue without bounded concurrency, five for others, and nothing about FIFO queues: the table above has %g pollers, and five for each queue would be %g", d.Standard.Pollers+d.FIFO.Pollers, pollersBounded*(d.Standard.Queues+d.FIFO.Queues)),
			"Lambda developer guide, \"Configuring scaling behavior for SQS event source mappings\""},
		{"compute", 0, (slower - 1) * computed(busy), "",
			fmt.Sprintf("if invocations and cold starts took %d times as long as assumed: $%.2f more when idle, $%.2f with 100 nodes", slower, (slower-1)*computed(idle), (slower-1)*computed(busy)),
			"assumed in testenv/cost/meter.go and bill.go; " + compute.Source},
		{"private API server: interface endpoints", zone, 3 * zone, "",
			fmt.Sprintf("%g endpoints (%s) × $%g × %d h in one to three zones; and $0.01 a GB. None if your VPC has them, and none in relay mode", endpoints, endpointsNamed, endpointHour, hoursOfMonth),
			"aws.amazon.com/privatelink/pricing"},
		{"private API server: or a NAT gateway", natHour * hoursOfMonth, 3 * natHour * hoursOfMonth, "",
			fmt.Sprintf("$%g × %d h in one to three zones; and $%g a GB. None if your VPC has one, and none in relay mode", natHour, hoursOfMonth, natGigabyte), "aws.amazon.com/vpc/pricing"},
		{"relay mode, idle", relay, relay, "a cluster",
			fmt.Sprintf("%d replicas poll every %d s: %s requests", relayReplicas, relayWait, count(relayReplicas*minutes*60/relayWait)), "shared/adapter/relay/inbox.go; " + standard.Source},
		{"relay mode, requests", request, request, "a million requests to the API server",
			"sent, received and deleted, and the answer written and read in the table", standard.Source},
		{"trail with data events of Lambda, S3 and DynamoDB", idleLow, busyHigh, "",
			fmt.Sprintf("$0.10 for 100,000 calls: $%.2f to $%.2f when idle, $%.2f to $%.2f with 100 nodes; at least the calls of Lambda and S3, at most those and as many calls of DynamoDB as its units allow", idleLow, idleHigh, busyLow, busyHigh),
			"aws.amazon.com/cloudtrail/pricing"},
		{"KMS key of your own", keyMonth, keyMonth + keyed, "",
			fmt.Sprintf("$1, and at most one request every %d minutes from each of %d principals for each of %g queues, the table and the bucket, at $0.03 for 10,000", keyReuse, keyPrincipals, encrypted), "aws.amazon.com/kms/pricing"},
		{"instances of others", notice, notice, "a million state changes of instances",
			fmt.Sprintf("the rule joiner-state matches every instance of account and region, with four state changes each: message, invocation of %d ms, one read", noticeMillis), standard.Source + ", " + compute.Source},
	}
}

// usd writes a range of dollars.
func (r Range) usd() string {
	digits := func(n float64) string {
		if n >= 10 {
			return fmt.Sprintf("$%.0f", n)
		}
		return fmt.Sprintf("$%.2f", n)
	}
	out := digits(r.Low)
	if r.High != r.Low {
		out += " to " + digits(r.High)
	}
	if r.Per != "" {
		out += " for " + r.Per
	}
	return out
}

// BeyondTable returns docs/performance.md's table of what comes on top.
func BeyondTable(ranges []Range) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| In addition, per month, %s | List price | Calculation | Source |\n|---|--:|---|---|\n", region)
	for _, r := range ranges {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Name, r.usd(), r.How, r.Source)
	}
	return b.String()
}

// PrintBeyond writes ranges with their arithmetic.
func PrintBeyond(out io.Writer, ranges []Range) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range ranges {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Name, r.usd(), r.How, r.Source)
	}
	table.Flush()
}
