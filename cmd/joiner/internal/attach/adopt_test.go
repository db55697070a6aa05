package attach

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

// handedOver is an outcome with everything in it.
func handedOver() adopt.Outcome {
	item := func(verdict lifecycle.AdoptionVerdict, name, id string, state model.ClaimState) adopt.Item {
		return adopt.Item{Adoption: lifecycle.Adoption{Verdict: verdict, Name: name, Claim: model.Claim{
			Name: name, Pool: "default", Class: "default", State: state, InstanceID: id, InstanceType: "m5.large", CapacityType: model.Spot, Zone: "us-west-2a",
			Price: 35_000, NodeName: "ip-10-0-0-1",
		}}}
	}
	a, b, c := item(lifecycle.Take, "default-a", "i-0aaaaaaaaaaaaaaaa", model.Initialized), item(lifecycle.Take, "default-b", "i-0bbbbbbbbbbbbbbbb", model.Draining), item(lifecycle.Resume, "default-c", "i-0cccccccccccccccc", model.Initialized)
	a.Tag, a.Stamp, a.Untaint, b.Tag, c.Stamp = true, true, true, true, true
	b.Notes = []string{"it is being deleted: its drain continues where Karpenter stopped"}
	d := item(lifecycle.Await, "default-d", "", model.Intended)
	d.Code, d.Message, d.Remedy = "NotLaunched", "Karpenter has not launched an instance for it yet", "wait until it has"
	e := item(lifecycle.Refuse, "default-e", "i-0eeeeeeeeeeeeeeee", model.Initialized)
	e.Code, e.Message, e.Remedy = "NotTagged", "instance i-0eeeeeeeeeeeeeeee does not have the tag kubernetes.io/cluster/shop=owned", "check that the instance belongs to this cluster"
	f := item(lifecycle.Ours, "default-f", "i-0ffffffffffffffff", model.Initialized)
	f.Claim.Price = 0
	return adopt.Outcome{
		Cluster: "shop", Items: []adopt.Item{a, b, c, d, e, f}, Others: 2, Warnings: []string{"prices are old"},
		Unclaimed: []lifecycle.Unclaimed{{Node: "ip-10-0-0-9", Instance: model.Instance{
			ID: "i-09999999999999999", Type: "c5.large", Zone: "us-west-2b", State: "running", Tags: map[string]string{model.LabelNodePool: "default"},
		}}},
	}
}

// same compares what is printed with a file of testdata.
func same(t *testing.T, name, got string) {
	t.Helper()
	if want, err := os.ReadFile("testdata/" + name); err != nil || got != string(want) {
		t.Errorf("%s differs (%v)\ngot\n%s\nwant\n%s", name, err, got, want)
	}
}

// reported runs tell and returns what it prints, and the exit status its error has.
func reported(t *testing.T, f *adoptFlags, outcome adopt.Outcome, failure error) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := &cobra.Command{}
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	err := f.print(command, outcome, failure)
	switch {
	case errors.As(err, &cli.WriteError{}):
		code = 1
	case err != nil:
		code = 2
	}
	return stdout.String(), stderr.String(), code
}

func TestAdoptWritesATable(t *testing.T) {
	outcome := handedOver()
	out, errs, code := reported(t, &adoptFlags{output: cli.Table}, outcome, nil)
	if code != 0 || errs != "warning: prices are old\n" {
		t.Errorf("exit status %d, %q", code, errs)
	}
	same(t, "adopt.txt", out)
	for i := range outcome.Items {
		if v := outcome.Items[i].Verdict; v == lifecycle.Take || v == lifecycle.Resume {
			outcome.Items[i].Done = []string{adopt.EffectRecord}
		}
	}
	outcome.Items[1].Done, outcome.Items[1].Problem = nil, "record: denied"
	out, _, code = reported(t, &adoptFlags{output: cli.Table, yes: true}, outcome, nil)
	if code != 1 {
		t.Errorf("exit status %d where one failed", code)
	}
	same(t, "adopted.txt", out)
	for _, line := range strings.Split(out, "\n") {
		if len([]rune(line)) > 120 {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestAdoptWritesJSON(t *testing.T) {
	out, _, code := reported(t, &adoptFlags{output: cli.JSON}, handedOver(), nil)
	var got struct {
		Cluster    string
		Applied    bool
		NodeClaims []struct {
			Name, Verdict, Code, InstanceID string
			Due, Done, Notes                []string
			PricePerHour                    float64
		}
		Unclaimed []struct{ InstanceID, NodePool, Node string }
		Karpenter []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || strings.Contains(out, "null") {
		t.Fatalf("exit status %d, %v:\n%s", code, err, out)
	}
	if n := len(got.NodeClaims); n != 6 || got.Applied || got.Cluster != "shop" || strings.Join(got.NodeClaims[0].Due, " ") != "record tag stamp untaint" ||
		got.NodeClaims[0].PricePerHour != 0.035 || got.NodeClaims[4].Code != "NotTagged" || len(got.Unclaimed) != 1 || got.Unclaimed[0].Node != "ip-10-0-0-9" {
		t.Errorf("%+v", got)
	}
}

func TestAdoptExitStatus(t *testing.T) {
	began := handedOver()
	began.Items[0].Done = []string{adopt.EffectRecord}
	lost := fault.New(fault.Conflict, "LeaseHeld", "held by another")
	running := handedOver()
	running.Karpenter = []string{"Deployment kube-system/karpenter asks for 2 replicas"}
	for name, test := range map[string]struct {
		outcome adopt.Outcome
		failure error
		code    int
		printed bool
	}{
		"cannot look":          {adopt.Outcome{}, lost, 2, false},
		"stopped on its way":   {began, lost, 1, true},
		"while Karpenter runs": {running, fault.New(fault.Conflict, "KarpenterRuns", "it runs"), 2, true},
		"all well":             {handedOver(), nil, 0, true},
	} {
		out, _, code := reported(t, &adoptFlags{output: cli.Table, yes: true}, test.outcome, test.failure)
		if code != test.code || (out != "") != test.printed {
			t.Errorf("%s: exit status %d, printed %q", name, code, out)
		}
		if name == "while Karpenter runs" && !strings.Contains(out, "Nothing was written. Stop Karpenter") {
			t.Errorf("%s: %s", name, out)
		}
	}
}
