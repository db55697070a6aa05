package show_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/model"
)

var update = flag.Bool("update", false, "write what is shown to testdata instead of comparing")

// same compares what was written with a file of testdata.
func same(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run with -update where it should\ngot\n%s\nwant\n%s", path, got, want)
	}
}

func pods(namespace, name string, n int) []model.PodRef {
	var out []model.PodRef
	for i := range n {
		out = append(out, model.PodRef{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i), UID: fmt.Sprint(name, i)})
	}
	return out
}

func claim(name, pool, instanceType, zone, capacityType string, price model.MicroUSD, requests model.Resources, pods []model.PodRef) model.PlannedClaim {
	return model.PlannedClaim{
		Name: name, Pool: pool, Class: "default", InstanceTypes: []string{instanceType, "m7i.8xlarge"},
		Offering: model.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: capacityType}, Price: price,
		Zones: []string{"us-west-2a", "us-west-2b", "us-west-2c"}, CapacityTypes: []string{capacityType},
		Requests: requests, Labels: map[string]string{"karpenter.sh/nodepool": pool}, Pods: pods,
		Requirements: []model.Requirement{
			{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{capacityType}},
			{Key: "node.kubernetes.io/instance-type", Operator: model.In, Values: []string{instanceType, "m7i.8xlarge"}, MinValues: 2},
		},
		Annotations: map[string]string{"karpenter.sh/nodeclaim-min-values-relaxed": "true"},
	}
}

func result() *show.Result {
	small := model.Resources{model.CPU: 1500, model.Memory: 3 << 30, model.Pods: 4}
	large := model.Resources{model.CPU: 7000, model.Memory: 20<<30 + 5, model.Pods: 2, "nvidia.com/gpu": 1}
	taintless := []model.Reason{
		{Pool: "a", Code: "ResourcesTooLarge", Message: "cpu 500 is more than any of the 12 instance types has (at most 190)", Remedy: "lower the requests"},
		{Pool: "b", Code: "TaintNotTolerated", Message: "spec.tolerations do not cover spot=true:NoSchedule", Remedy: "add a toleration to the pod, or use a pool without the taint, as there are others that nobody has thought of yet"},
		{Pool: "c", Code: "ResourcesTooLarge", Message: "cpu 500 is more than any of the 12 instance types has (at most 190)", Remedy: "lower the requests"},
	}
	unschedulable := []model.Unschedulable{{Pod: model.PodRef{Namespace: "ml", Name: "alone"}, Reasons: []model.Reason{{Code: "NoPools", Message: "there is no NodePool"}}}}
	for _, pod := range pods("ml", "huge", 42) {
		unschedulable = append(unschedulable, model.Unschedulable{Pod: pod, Reasons: taintless})
	}
	gpu := claim("gpu-b", "gpu", "g6.2xlarge", "us-west-2b", model.Spot, 300_000, large, pods("ml", "train", 1))
	gpu.Taints = []model.Taint{{Key: "gpu", Effect: model.NoSchedule}, {Key: "team", Value: "ml", Effect: model.NoExecute}}
	return &show.Result{
		Plan: model.Plan{
			Claims: []model.PlannedClaim{
				claim("default-a", "default", "c7g.large", "us-west-2a", model.OnDemand, 72_500, small, pods("shop", "web", 3)), gpu,
				claim("default-c", "default", "c7g.large", "us-west-2a", model.OnDemand, 72_500, small, pods("shop", "cart", 1)),
			},
			Nominations:   []model.Nomination{{Node: "ip-10-0-0-1", Pods: pods("shop", "old", 2)}},
			Unschedulable: unschedulable,
			Price:         445_000,
		},
		PlanSeconds: 0.25,
		Catalogs: map[string][]model.InstanceType{"default": {
			{Name: "c7g.large", Capacity: model.Resources{model.CPU: 2000, model.Memory: 4 << 30}, Overhead: model.Resources{model.CPU: 70}},
			{Name: "g6.2xlarge", Capacity: model.Resources{model.CPU: 8000, model.Memory: 32 << 30, "nvidia.com/gpu": 1}},
		}},
		NotPlanned: map[string]int{"it has scheduling gates left": 2, "it is being deleted": 1},
	}
}

func TestJSONIsWhatProgramsRelyOn(t *testing.T) {
	var out bytes.Buffer
	r := result()
	r.Plan.Unschedulable = r.Plan.Unschedulable[:2]
	if err := show.PlanJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	same(t, "plan.json", out.Bytes())
}

func TestJSONOfNothingHasListsAndNoNull(t *testing.T) {
	var out bytes.Buffer
	if err := show.PlanJSON(&out, &show.Result{}); err != nil {
		t.Fatal(err)
	}
	same(t, "nothing.json", out.Bytes())
}

func TestTableFoldsWhatIsAlike(t *testing.T) {
	var out bytes.Buffer
	if err := show.Table(&out, result()); err != nil {
		t.Fatal(err)
	}
	same(t, "plan.txt", out.Bytes())
}

func TestTableOfNothingSaysSo(t *testing.T) {
	var out bytes.Buffer
	if err := show.Table(&out, &show.Result{}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "No pending pods: nothing to launch.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever names people give, and however much there is, the table fits a screen and ends.
func TestTableFitsTheScreen(t *testing.T) {
	t.Setenv("COLUMNS", "120")
	r := result()
	r.Plan.Claims, r.Plan.Nominations, r.Plan.Unschedulable = nil, nil, nil
	long := strings.Repeat("long-", 20)
	for i := range 200 {
		c := claim(fmt.Sprint(i), long+fmt.Sprint(i), "u7in-32tb.224xlarge-"+long, "us-west-2-lax-1a", model.OnDemand, model.MicroUSD(1000*i), r.Catalogs["default"][1].Capacity, pods("a", long+fmt.Sprint(i), 100+i))
		c.Zones = []string{"us-west-2-lax-1a", "us-west-2-lax-1b", "us-west-2a"}
		r.Plan.Claims = append(r.Plan.Claims, c)
		r.Plan.Nominations = append(r.Plan.Nominations, model.Nomination{Node: long + fmt.Sprint(i), Pods: c.Pods[:i+1]})
		r.Plan.Unschedulable = append(r.Plan.Unschedulable, model.Unschedulable{
			Pod: model.PodRef{Namespace: long, Name: long}, Reasons: []model.Reason{{Pool: long, Code: "NoOffer", Message: fmt.Sprint(i, strings.Repeat(" word", 100)), Remedy: strings.Repeat("word ", 100)}},
		})
	}
	var out bytes.Buffer
	if err := show.Table(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) > 400 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	const rest = 195 * 196 / 2 // 1 to 195: the five nodes with most pods are shown
	for _, want := range []string{"and 170 nodes of 170 kinds more, $", fmt.Sprintf("and %d pods on 195 nodes more", rest), "and 180 pods for 180 reasons more", "MEMORY"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("nowhere in it: %q", want)
		}
	}
}
