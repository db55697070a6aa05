package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// disruptionOutput is what plan disrupt -o json writes, as far as tests look at it.
type disruptionOutput struct {
	planned
	Commands []struct {
		Reason       string
		Nodes        []string
		Replacements []struct {
			Name, NodePool string
			Offer          struct {
				InstanceType, Zone, CapacityType string
				PricePerHour                     float64
			}
			Labels map[string]string
			Pods   []string
		}
		Moves []struct {
			Node string
			Pods []string
		}
		PodsMoved      int
		SavingsPerHour float64
	}
	Kept []struct {
		Node    string
		Reasons []struct{ Code, Message string }
	}
	PricePerHourBefore, PricePerHourAfter float64
	Drift                                 []struct{ Node, NodePool, Reason, Message string }
}

func disruptionOf(t *testing.T, in string, args ...string) disruptionOutput {
	t.Helper()
	code, out, errs := joiner(in, append([]string{"plan", "disrupt", "-o", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var d disruptionOutput
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

const atNight = "2026-03-01T02:00:00Z"

func night(n string) string { return "ip-10-0-0-" + n + ".us-west-2.compute.internal" }

// The contract of the JSON: every field is there, none is null, each node of a NodePool is in a command or kept for a reason.
func TestPlanDisruptWritesJSON(t *testing.T) {
	code, out, errs := joiner("", "plan", "disrupt", "-f", "testdata/night", "--now", atNight, "-o", "json")
	if code != 0 || errs != "" {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"claims", "nominations", "unschedulable", "pricePerHour", "stats", "commands", "kept", "priceMicroUSDPerHour", "priceBeforeMicroUSDPerHour", "priceAfterMicroUSDPerHour", "pricePerHourBefore", "pricePerHourAfter", "drift",
	} {
		if len(fields[name]) == 0 || string(fields[name]) == "null" {
			t.Errorf("%s is %q", name, fields[name])
		}
	}
	var stats map[string]float64
	if err := json.Unmarshal(fields["stats"], &stats); err != nil || stats["planSeconds"] <= 0 {
		t.Errorf("stats %s: %v", fields["stats"], err)
	}
	d := disruptionOf(t, "", "-f", "testdata/night", "--now", atNight)
	seen := map[string]int{}
	for _, c := range d.Commands {
		for _, node := range c.Nodes {
			seen[node]++
		}
	}
	codes := map[string][]string{}
	for _, k := range d.Kept {
		seen[k.Node]++
		for _, reason := range k.Reasons {
			if reason.Message == "" {
				t.Errorf("%s: %s says nothing", k.Node, reason.Code)
			}
			codes[k.Node] = append(codes[k.Node], reason.Code)
		}
	}
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		if seen[night(n)] != 1 {
			t.Errorf("node %s is told of %d times", n, seen[night(n)])
		}
	}
	for n, want := range map[string]string{"6": "NodeDoNotDisrupt", "7": "DisruptionBudget", "8": "Young"} {
		if !slices.Contains(codes[night(n)], want) {
			t.Errorf("node %s stays for %v, want %s", n, codes[night(n)], want)
		}
	}
	if c := d.Commands[0]; c.Reason != "Empty" || !slices.Equal(c.Nodes, []string{night("4"), night("5")}) || c.PodsMoved != 0 || c.SavingsPerHour != 0.58 {
		t.Errorf("first %+v", c)
	}
	if len(d.Drift) != 1 || d.Drift[0].Node != night("9") || d.Drift[0].Reason != "NodePoolDrifted" || d.Drift[0].NodePool != "default" || d.Drift[0].Message == "" {
		t.Errorf("drift %+v", d.Drift)
	}
}

func TestPlanDisruptWritesATable(t *testing.T) {
	code, out, errs := joiner("", "plan", "disrupt", "-f", "testdata/night", "--now", atNight)
	if code != 0 || errs != "" {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	for _, want := range []string{
		"9 nodes of NodePools cost $2.5960 per hour, $1895 per month.", "2 c7g.2xlarge on-demand", "423.40", night("4") + ", " + night("5"),
		"STAYS: ", "DisruptionBudget: PodDisruptionBudget shop/ledger", "NodeDoNotDisrupt", "DRIFTED: 1 node", "per hour", "per month", "2026-03-01T02:04:00Z",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere in it: %q\n%s", want, out)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if len([]rune(line)) > 120 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
	if _, again, _ := joiner("", "plan", "disrupt", "-f", "testdata/night", "--now", atNight); again != out {
		t.Error("the same input gave another table")
	}
}

func TestPlanDisruptOfNothing(t *testing.T) {
	code, out, errs := joiner(onePod, "plan", "disrupt", "-f", "-")
	if code != 0 || errs != "" || !strings.HasPrefix(out, "No node belongs to a NodePool: nothing to disrupt. "+
		"The input has 1 pod, 0 nodes and 0 NodePools.\n") {
		t.Errorf("exit status %d, %q, %q", code, out, errs)
	}
}

// Dumps may lack NodeClaims: claims are made up, which is said once, and the nodes can go all the same.
func TestPlanDisruptMakesUpClaims(t *testing.T) {
	text, err := os.ReadFile("testdata/night/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for _, doc := range strings.Split(string(text), "\n---\n") {
		if !strings.Contains(doc, "kind: NodeClaim") {
			without = append(without, doc)
		}
	}
	in := strings.Join(without, "\n---\n")
	code, out, errs := joiner(in, "plan", "disrupt", "-f", "-", "--now", atNight, "-o", "json")
	if code != 0 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "warning: 9 nodes of NodePools have no NodeClaim") {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var d disruptionOutput
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if c := d.Commands[0]; c.Reason != "Empty" || !slices.Equal(c.Nodes, []string{night("4"), night("5")}) || len(d.Drift) != 0 || d.PricePerHourBefore != 2.596 {
		t.Errorf("%+v, drift %+v, %v", c, d.Drift, d.PricePerHourBefore)
	}
}

// A price that is not known counts nothing, which is said.
func TestPlanDisruptSaysWhichPricesItDoesNotKnow(t *testing.T) {
	code, out, errs := joiner("", "plan", "disrupt", "-f", "testdata/night", "--now", atNight, "--catalog", "testdata/catalog.json", "-o", "json")
	const want = "warning: 9 nodes of NodePools count nothing in prices: the catalog has no c7g.2xlarge on-demand in us-west-2a, c7g.2xlarge on-demand in us-west-2b, " +
		"m7i.2xlarge on-demand in us-west-2a and 5 more\n"
	if code != 0 || errs != want || !strings.Contains(out, `"pricePerHourBefore": 0,`) {
		t.Errorf("exit status %d, %q", code, errs)
	}
}

// Pods that wait are planned for beside, as plan provision does.
func TestPlanDisruptTellsOfPodsThatWait(t *testing.T) {
	d := disruptionOf(t, "", "-f", "testdata/shop")
	p := planOf(t, "", "-f", "testdata/shop")
	if len(d.Claims) != len(p.Claims) || len(d.Claims) == 0 || d.PricePerHour != p.PricePerHour || d.Stats.Pods != 46 || len(d.Commands) != 0 {
		t.Errorf("%d claims of %v, want %d of %v", len(d.Claims), d.PricePerHour, len(p.Claims), p.PricePerHour)
	}
}

func TestPlanDisruptExitStatusIsTwoWhereInputCannotBeRead(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "with.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("KUBECONFIG", "/dev/null")
	const class = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no file", []string{}, "name what to read: files by -f or -k, or a cluster by --context"},
		{"no such file", []string{"-f", "none.yaml"}, "-f none.yaml: no such file or directory"},
		{"no such change", []string{"-f", "testdata/night", "--with", "none.yaml"}, "--with none.yaml: no such file or directory"},
		{"standard input twice", []string{"-f", "-", "--with", "-"}, "--with -: standard input is read by -f already"},
		{"a pod as a change", []string{"-f", "testdata/night", "--with", write("{apiVersion: v1, kind: Pod, metadata: {name: a}}")},
			"with.yaml: document 1: Pod a: not a EC2NodeClass or NodeOverlay or NodePool; include it with -f"},
		{"nothing as a change", []string{"-f", "testdata/night", "--with", write("# nothing\n")}, "it has no NodePool, EC2NodeClass or NodeOverlay"},
		{"a wrong change", []string{"-f", "testdata/night", "--with", write("{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {weight: heavy}}")},
			"with.yaml: document 1: NodePool default: spec.weight: \"heavy\": not a whole number"},
		{"a change no API server takes", []string{"-f", "testdata/night", "--with",
			write("{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {" + class + ", requirements: [{key: a, operator: Near}]}}}}")}, "--with: NodePool default: spec.template.spec.requirements[0]"},
		{"another version", []string{"-f", "testdata/night", "--with", write("{apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: default}}")}, "karpenter.sh/v1; convert it"},
		{"a wrong time", []string{"-f", "testdata/night", "--now", "tonight"}, `--now: "tonight": not a time`},
		{"a wrong policy", []string{"-f", "testdata/night", "--min-values-policy", "Lax"}, "must be Strict or BestEffort"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := joiner("", append([]string{"plan", "disrupt"}, c.args...)...)
			if code != 2 || !strings.Contains(errs, c.want) || out != "" {
				t.Errorf("exit status %d, want 2; on standard error\n%s\nwant %q; on standard output %q", code, errs, c.want, out)
			}
		})
	}
}

func TestPlanDisruptHelpAndCompletion(t *testing.T) {
	_, out, _ := joiner("", "plan", "disrupt", "--help")
	for _, want := range []string{
		"--filename", "--catalog", "--now", "--output", "--with", "--spot-to-spot", "--default-spread", "--preference-policy", "--min-values-policy",
		"Exit status", "Examples:", "kubectl get", "PodDisruptionBudget", "priceBeforeMicroUSDPerHour",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere in it: %q", want)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if len(line) > 120 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"plan", ""}, []string{"provision", "disrupt"}},
		{[]string{"plan", "disrupt", "--sp"}, []string{"--spot-to-spot"}},
		{[]string{"plan", "disrupt", "--with", ""}, []string{"yaml", "json"}},
		{[]string{"plan", "disrupt", "--min-values-policy", ""}, []string{"Strict", "BestEffort"}},
	} {
		_, out, _ := joiner("", append([]string{"__complete"}, c.args...)...)
		for _, want := range c.want {
			if !slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return line == want || strings.HasPrefix(line, want+"\t") }) {
				t.Errorf("%v completes to\n%s\nwithout %s", c.args, out, want)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
