package cost

import (
	"math"
	"os"
	"strings"
	"testing"
)

// byHand is a deployment and a month whose ranges can be reckoned in the head.
func byHand(t *testing.T) map[string]Range {
	t.Helper()
	d := Deployment{MemoryMB: map[string]float64{"Interruption": 1024}, Standard: Pollers{4, 8}, FIFO: Pollers{1, 5}}
	of := func(calls float64) Recorded {
		return Recorded{Hours: 720, Usage: Usage{Puts: calls, WriteUnits: 10 * calls, ReadUnits: 5 * calls, Functions: map[string]Function{"Interruption": {Invocations: calls, Millis: 1e6}}}}
	}
	out := map[string]Range{}
	for _, r := range Beyond([]Recorded{of(50_000), of(500_000)}, d) {
		out[r.Name] = r
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6*math.Max(1, math.Abs(b)) }

// TestA27PollersAreARange: what five pollers at each queue would cost beyond those of the table; a FIFO queue that has five costs no more.
func TestA27PollersAreARange(t *testing.T) {
	r := byHand(t)["pollers of idle queues"]
	if want := 12 * 3 * 43_200 * 0.40 / 1e6; r.Low != 0 || !near(r.High, want) {
		t.Errorf("$%g to $%g, want 0 to %g", r.Low, r.High, want)
	}
}

// TestA28EndpointsAndNATArePriced: six interface endpoints by zone, or a NAT gateway.
func TestA28EndpointsAndNATArePriced(t *testing.T) {
	all := byHand(t)
	if r := all["private API server: interface endpoints"]; !near(r.Low, 43.2) || !near(r.High, 129.6) {
		t.Errorf("endpoints: $%g to $%g", r.Low, r.High)
	}
	if r := all["private API server: or a NAT gateway"]; !near(r.Low, 32.4) || !near(r.High, 97.2) {
		t.Errorf("NAT: $%g to $%g", r.Low, r.High)
	}
	text, err := os.ReadFile("../../docs/tasks/private-clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range strings.Split(endpointsNamed, ", ") {
		if !strings.Contains(string(text), "`"+service+"`") {
			t.Errorf("docs/tasks/private-clusters.md names no endpoint of %s", service)
		}
	}
}

// TestA29RelayIsPriced: two replicas that ask each eight seconds, and a million requests.
func TestA29RelayIsPriced(t *testing.T) {
	all := byHand(t)
	if r := all["relay mode, idle"]; !near(r.Low, 648_000*0.40/1e6) || r.Low != r.High {
		t.Errorf("idle: $%g to $%g", r.Low, r.High)
	}
	if r := all["relay mode, requests"]; !near(r.Low, 3*0.40+0.625+0.125) {
		t.Errorf("requests: $%g", r.Low)
	}
	text, err := os.ReadFile("../../shared/adapter/relay/inbox.go")
	if err != nil || !strings.Contains(string(text), "const waitSeconds = 8\n") {
		t.Errorf("the relay waits otherwise than is reckoned with: %v", err)
	}
}

// TestA30TrailsArePriced: between the calls that are certain and those that units allow.
func TestA30TrailsArePriced(t *testing.T) {
	r := byHand(t)["trail with data events of Lambda, S3 and DynamoDB"]
	if !near(r.Low, 100_000*0.10/100_000) || !near(r.High, 11*1e6*0.10/100_000) {
		t.Errorf("$%g to $%g", r.Low, r.High)
	}
}

// TestA31KeysArePriced: a dollar, and at most a request each five minutes from everybody who uses it for something.
func TestA31KeysArePriced(t *testing.T) {
	r := byHand(t)["KMS key of your own"]
	if want := 1 + 6.0*12*8640*0.03/10_000; r.Low != 1 || !near(r.High, want) {
		t.Errorf("$%g to $%g, want %g", r.Low, r.High, want)
	}
}

// TestA20OthersInstancesArePriced: each change of state is a message, an invocation and a read.
func TestA20OthersInstancesArePriced(t *testing.T) {
	r := byHand(t)["instances of others"]
	if want := 3*0.40 + 0.20 + 0.125 + 0.06*13.3334; !near(r.Low, want) {
		t.Errorf("$%g, want %g", r.Low, want)
	}
}

// Every range has a source and says how it comes to be.
func TestRangesSayHow(t *testing.T) {
	for name, r := range byHand(t) {
		if r.How == "" || r.Source == "" || r.High < r.Low || r.High <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
