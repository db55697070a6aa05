package cost

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Line is one line of a month's bill.
type Line struct {
	Service  string
	Item     Item
	Kind     Kind
	Quantity float64
	How      string // it comes to that quantity
}

// Kind is what a line is for.
type Kind int

// Kinds of lines, as they are summed.
const (
	Requests Kind = iota // metered by the request
	Compute              // by GB-second
	Kept                 // by what is stored, and alarms
)

// USD is the line at list price.
func (l Line) USD() float64 { return l.Quantity / l.Item.Per * l.Item.USD }

// BilledUSD is the line with allowances taken off.
func (l Line) BilledUSD() float64 {
	return math.Max(0, l.Quantity-l.Item.Free) / l.Item.Per * l.Item.USD
}

// Sum adds up lines of these kinds, at list price and as billed.
func Sum(lines []Line, kinds ...Kind) (list, billed float64) {
	for _, l := range lines {
		if slices.Contains(kinds, l.Kind) {
			list, billed = list+l.USD(), billed+l.BilledUSD()
		}
	}
	return list, billed
}

// month is what a month is counted as.
const month = 30 * 24 * time.Hour

// Cold starts, which are billed since August 2025. Ticks keep functions warm, but nobody promises for how long: here each has two
// environments, one for its tick and one for its batches, that are made anew every two hours, and takes initMillis for that.
const (
	initMillis   = 300 // in the real service; a process here takes less than a fifth, see `make bench BENCH=ColdStart`
	environments = 2
	renewedEvery = 2 * time.Hour
)

// Bill prices what a month takes, u being the use of a month.
func Bill(u Usage, d Deployment) []Line {
	var lines []Line
	add := func(service, item string, kind Kind, quantity float64, how string) {
		lines = append(lines, Line{Service: service, Item: prices[service][item], Kind: kind, Quantity: quantity, How: how})
	}
	minutes := month.Minutes()
	queue := func(item string, sent float64, p Pollers) {
		idle := p.Pollers * asksPerMinute * minutes
		add(serviceSQS, item, Requests, sent+idle, fmt.Sprintf("%s sent, received and deleted + %g pollers of %g queues × %d a minute", count(sent), p.Pollers, p.Queues, asksPerMinute))
	}
	queue("standard", u.Queued, d.Standard)
	queue("fifo", u.QueuedInOrder, d.FIFO)
	add(serviceDynamoDB, "read", Requests, u.ReadUnits, "")
	add(serviceDynamoDB, "write", Requests, u.WriteUnits, "")
	add(serviceS3, "put", Requests, u.Puts, "")
	add(serviceS3, "get", Requests, u.Gets, "")
	invocations, gigabyteSeconds := 0.0, 0.0
	var how []string
	for _, name := range slices.Sorted(maps.Keys(u.Functions)) {
		f := u.Functions[name]
		invocations += f.Invocations
		starts := environments * float64(month/renewedEvery)
		seconds := (f.Millis + starts*initMillis) / 1000
		gigabyteSeconds += seconds * d.MemoryMB[name] / 1024
		how = append(how, fmt.Sprintf("%s %s s × %g MB", name, count(seconds), d.MemoryMB[name]))
	}
	add(serviceLambda, "request", Requests, invocations, "")
	add(serviceEvents, "tick", Requests, u.Ticks, "one a minute, whatever is invoked by it")
	add(serviceLambda, "compute", Compute, gigabyteSeconds, strings.Join(how, ", "))
	add(serviceWatch, "log", Kept, u.LogBytes/gibibyte, "")
	add(serviceWatch, "logs", Kept, u.LogBytes/gibibyte*d.LogDays/30, fmt.Sprintf("for %g days, not compressed", d.LogDays))
	add(serviceWatch, "alarm", Kept, d.Alarms, "")
	add(serviceWatch, "dashboard", Kept, d.Dashboards, "")
	add(serviceDynamoDB, "storage", Kept, u.TableBytes/gibibyte, "")
	if d.Backups {
		add(serviceDynamoDB, "backup", Kept, u.TableBytes/gibibyte, "")
	}
	add(serviceS3, "storage", Kept, u.PutBytes/gibibyte, "all that was put in a month")
	return lines
}

// Print writes the bill with its arithmetic.
func Print(out io.Writer, lines []Line) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "service\tfor\tquantity\tprice\tat list price\tas billed\thow")
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%s\t%s %s\t$%s / %s\t$%.3f\t$%.3f\t%s\n",
			l.Service, l.Item.Name, count(l.Quantity), l.Item.Unit, trim(l.Item.USD), count(l.Item.Per), l.USD(), l.BilledUSD(), l.How)
	}
	for _, sum := range sums {
		list, billed := Sum(lines, sum.kinds...)
		fmt.Fprintf(table, "%s\t\t\t\t$%.2f\t$%.2f\t\n", sum.name, list, billed)
	}
	table.Flush()
}

var sums = []struct {
	name  string
	kinds []Kind
}{
	{"metered requests", []Kind{Requests}},
	{"compute", []Kind{Compute}},
	{"logs, alarms, storage", []Kind{Kept}},
	{"all", []Kind{Requests, Compute, Kept}},
}

// count writes a quantity as people read it.
func count(n float64) string {
	if n != math.Trunc(n) && n < 100 {
		return trim(math.Round(n*1e4) / 1e4)
	}
	digits := fmt.Sprintf("%.0f", n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func trim(n float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.10f", n), "0"), ".")
}
