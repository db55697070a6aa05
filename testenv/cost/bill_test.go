package cost

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	recordsFile  = "testdata/usage.json"
	templateFile = "../../infra/cdk/templates/region.json"
	clusterFile  = "../../infra/cdk/templates/cluster.json"
	pageFile     = "../../docs/performance.md"
	readmeFile   = "../../README.md"
)

func deployed(t *testing.T) Deployment {
	t.Helper()
	d, err := ReadDeployment(templateFile, clusterFile)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func recorded(t *testing.T) map[string]Recorded {
	t.Helper()
	records, err := ReadRecords(recordsFile)
	if err != nil || len(records) != len(Scenarios) {
		t.Fatalf("%d records, %v", len(records), err)
	}
	byName := map[string]Recorded{}
	for _, r := range records {
		byName[r.Scenario] = r
	}
	return byName
}

// D12: a cluster that is idle for thirty days costs less than a dollar in metered requests, at list price and before anything that every
// account gets for nothing, and one of 100 nodes of which 20 a day are replaced less than ten in all that is metered, but for custom metrics.
func TestD12MonthsCostWhatWasPromised(t *testing.T) {
	records, d := recorded(t), deployed(t)
	if list, billed := Sum(Bill(records[Idle.Name].Month(), d), Requests); billed <= 0.1 || list <= billed || list >= 1 {
		t.Errorf("an idle cluster's requests cost $%.2f a month, $%.2f as billed", list, billed)
	}
	busy := records[Busy.Name]
	if list, _ := Sum(Bill(busy.Month(), d), Requests, Compute); list <= 1 || list >= 10 {
		t.Errorf("100 nodes cost $%.2f a month", list)
	}
	if busy.Nodes < 90 || busy.Usage.Functions["Provision"].Invocations == 0 {
		t.Errorf("the cluster was not what it is called: %+v", busy)
	}
}

// M12: the page says of compute that it is assumed, and has the figures that were measured.
func TestPageHasTheTableOfWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	records, err := ReadRecords(recordsFile)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Rewrite(string(text), Table(records, deployed(t)), BeyondTable(Beyond(records, deployed(t))))
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Error("docs/performance.md's table of costs is not what was measured last: run `make cost COSTFLAGS=-recorded`")
	}
}

// TestREADMEHasTheSumsOfWhatWasMeasured: its figures are those of the page's table.
func TestREADMEHasTheSumsOfWhatWasMeasured(t *testing.T) {
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	records, d := recorded(t), deployed(t)
	sum := func(s Scenario, kinds ...Kind) float64 {
		list, _ := Sum(Bill(records[s.Name].Month(), d), kinds...)
		return list
	}
	for _, want := range []string{
		fmt.Sprintf("| Requests and compute of an idle cluster, a month, at list price | $%.2f |", sum(Idle, Requests, Compute)),
		fmt.Sprintf("| The same for 100 nodes, 20 of which are replaced a day | $%.2f |", sum(Busy, Requests, Compute)),
		fmt.Sprintf("| Logs, alarms, dashboards and storage, a month | $%.2f to $%.2f |", sum(Idle, Kept), sum(Busy, Kept)),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md does not have %q", want)
		}
	}
}

// M41: what is recorded is what an idle cluster uses now, to within a tenth, but for what happens twice a day; and one
// hour is like the next.
func TestIdleHoursAreAlikeAndAsRecorded(t *testing.T) {
	account, err := NewAccount(t.Context(), Idle)
	if err != nil {
		t.Fatal(err)
	}
	defer account.Close()
	hour := func() Usage {
		t.Helper()
		before := account.Usage()
		if err := account.Run(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		return account.Usage().Since(before)
	}
	if err := account.Run(t.Context(), settled); err != nil {
		t.Fatal(err)
	}
	first, second := hour(), hour()
	past := recorded(t)[Idle.Name]
	kept := past.Usage.Times(1 / past.Hours)
	type quantity struct {
		name                string
		first, second, kept float64
	}
	quantities := []quantity{
		{"requests to standard queues", first.Queued, second.Queued, kept.Queued},
		{"requests to FIFO queues", first.QueuedInOrder, second.QueuedInOrder, kept.QueuedInOrder},
		{"read units", first.ReadUnits, second.ReadUnits, kept.ReadUnits},
		{"write units", first.WriteUnits, second.WriteUnits, kept.WriteUnits},
		{"events of the schedule", first.Ticks, second.Ticks, kept.Ticks},
		{"reads of S3", first.Gets, second.Gets, kept.Gets},
		{"bytes of logs", first.LogBytes, second.LogBytes, kept.LogBytes},
	}
	for _, name := range []string{"Disrupt", "Interruption", "Provision"} {
		a, b, past := first.Functions[name], second.Functions[name], kept.Functions[name]
		quantities = append(quantities,
			quantity{"invocations of " + name, a.Invocations, b.Invocations, past.Invocations},
			quantity{"milliseconds of " + name, a.Millis, b.Millis, past.Millis})
	}
	for _, c := range quantities {
		if c.first == 0 || math.Abs(c.first-c.second) > 0.02*c.first {
			t.Errorf("%s: %g in an hour and %g in the next", c.name, c.first, c.second)
		}
		if math.Abs(c.second-c.kept) > 0.1*c.kept {
			t.Errorf("%s: %g an hour, and %g is recorded: run `make cost`", c.name, c.second, c.kept)
		}
	}
	if n := account.Usage().Failed; n > 0 {
		t.Errorf("%g invocations failed: %v", n, account.Errors())
	}
}

// Days of an idle cluster are alike, which is why one stands for thirty. It takes a minute.
func TestIdleDaysAreAlike(t *testing.T) {
	if os.Getenv("JOINER_COST") != "long" {
		t.Skip("JOINER_COST=long simulates three days")
	}
	var days []Usage
	for i := range 2 {
		day, err := Measure(t.Context(), Idle, Idle.Lead+time.Duration(i)*24*time.Hour, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		days = append(days, day.Usage)
	}
	a, b := Bill(days[0].Times(30), deployed(t)), Bill(days[1].Times(30), deployed(t))
	for i := range a {
		if math.Abs(a[i].Quantity-b[i].Quantity) > 0.005*a[i].Quantity {
			t.Errorf("%s %s: %g on the first day as a month, %g on the second", a[i].Service, a[i].Item.Name, a[i].Quantity, b[i].Quantity)
		}
	}
}

func TestDeploymentIsReadOfTheTemplate(t *testing.T) {
	d := deployed(t)
	if d.FIFO != (Pollers{1, pollersFree}) || d.Standard != (Pollers{4, 4 * pollersFree}) {
		t.Errorf("FIFO %+v, standard %+v", d.FIFO, d.Standard)
	}
	if len(d.MemoryMB) != 4 || d.MemoryMB["Interruption"] != 884 || d.Alarms < 18 || d.Dashboards != 2 || !d.Backups || d.LogDays != 14 {
		t.Errorf("%+v", d)
	}
}

// The arithmetic of one line of each kind, by hand.
func TestBillAddsUp(t *testing.T) {
	d := Deployment{MemoryMB: map[string]float64{"F": 2048}, Standard: Pollers{1, 5}, FIFO: Pollers{1, 2}, LogDays: 30, Dashboards: 4}
	lines := Bill(Usage{
		Queued: 1000, QueuedInOrder: 500_000, ReadUnits: 2e6, WriteUnits: 1e6, LogBytes: 10 * gibibyte, TableBytes: 30 * gibibyte,
		Functions: map[string]Function{"F": {Invocations: 3e6, Millis: 500e6}},
	}, d)
	want := map[string][2]float64{
		"requests to standard queues": {(1000 + 5*3*43200) * 0.40 / 1e6, 0}, // below a million
		"requests to FIFO queues":     {(500_000 + 2*3*43200) * 0.50 / 1e6, (500_000 + 2*3*43200) * 0.50 / 1e6},
		"read request units":          {0.25, 0.25}, "write request units": {0.625, 0.625},
		"requests":      {0.6, 0.4},
		"compute":       {(500_000 + 2*360*0.3) * 2 * 0.0000133334, ((500_000+2*360*0.3)*2 - 400_000) * 0.0000133334},
		"logs ingested": {5, 2.5}, "dashboards": {12, 3}, "logs stored": {0.3, 0.3},
	}
	for _, l := range lines {
		if w, checked := want[l.Item.Name]; checked && (math.Abs(l.USD()-w[0]) > 1e-9 || math.Abs(l.BilledUSD()-w[1]) > 1e-9) {
			t.Errorf("%s: $%g, $%g as billed; want %v", l.Item.Name, l.USD(), l.BilledUSD(), w)
		}
		delete(want, l.Item.Name)
	}
	if len(want) > 0 {
		t.Errorf("there is no line for %v", want)
	}
}

func TestRewriteNeedsItsMarkers(t *testing.T) {
	got, err := Rewrite("a\n"+markBegin+"old\n"+markEnd+"b\n"+markBeyond+markClose+"c\n", "new\n", "more\n")
	if err != nil || got != "a\n"+markBegin+"new\n"+markEnd+"b\n"+markBeyond+"more\n"+markClose+"c\n" {
		t.Errorf("%q %v", got, err)
	}
	for _, text := range []string{"", markBegin, markEnd + markBegin, markBegin + markEnd, markBegin + markEnd + markClose + markBeyond} {
		if _, err := Rewrite(text, "new", "more"); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
	if strings.Count(Table([]Recorded{{Scenario: "x", Hours: 24}}, Deployment{}), "| x |") != 1 {
		t.Error("the table has no column x")
	}
}
