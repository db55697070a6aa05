package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is printed to testdata instead of comparing")

// run runs the command line and returns the exit status.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	return runAs("joiner", args, in, out, errs)
}

// joiner runs the command line and returns its exit status and what it prints.
func joiner(in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// What differs from run to run, or is core/pack's to word, is not compared.
var (
	planSeconds = regexp.MustCompile(`"planSeconds": [0-9.e-]+`)
	claimName   = regexp.MustCompile(`"name": "default-[a-z0-9]+"`)
	worded      = regexp.MustCompile(`"(message|remedy)": "[^"]+"`)
)

func same(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update where it should\ngot\n%s\nwant\n%s", path, got, want)
	}
}

func TestPlanProvisionWritesJSON(t *testing.T) {
	code, out, errs := joiner("", "plan", "provision", "-f", "testdata/small.yaml", "--catalog", "testdata/catalog.json", "-o", "json", "--now", "2026-01-02T15:04:05Z")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	out = planSeconds.ReplaceAllString(out, `"planSeconds": 0`)
	out = claimName.ReplaceAllString(out, `"name": "default-NAME"`)
	same(t, "small.json", worded.ReplaceAllString(out, `"$1": "WORDS"`))
	if want := "warning: 1 object of kind ConfigMap (v1) is left out: planning does not use the kind\n"; errs != want {
		t.Errorf("on standard error %q, want %q", errs, want)
	}
}

func TestPlanProvisionWritesATable(t *testing.T) {
	code, out, errs := joiner("", "plan", "provision", "-f", "testdata/small.yaml", "--catalog", "testdata/catalog.json")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	table, _, _ := strings.Cut(out, "UNSCHEDULABLE")
	same(t, "small.txt", table)
	if !strings.Contains(out, "UNSCHEDULABLE\ndefault/huge\n  pool default: ResourcesTooLarge: ") {
		t.Errorf("nothing is said of the pod that nothing can hold:\n%s", out)
	}
}

// planOf runs plan provision and decodes what it prints.
func planOf(t *testing.T, in string, args ...string) planned {
	t.Helper()
	code, out, errs := joiner(in, append([]string{"plan", "provision", "-o", "json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var p planned
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

type planned struct {
	Claims []struct {
		NodePool string
		Offer    struct {
			InstanceType, Zone string
			PricePerHour       float64
		}
		Zones []string
		Pods  []string
	}
	Nominations []struct {
		Node string
		Pods []string
	}
	Unschedulable []struct {
		Pod     string
		Reasons []struct{ NodePool, Code, Message string }
	}
	PricePerHour float64
	Stats        struct{ Pods int }
}

func TestPlanProvisionWithoutACatalogBuysOfTheBuiltInOne(t *testing.T) {
	p := planOf(t, "", "-f", "testdata/shop")
	if len(p.Claims) == 0 || p.Stats.Pods != 46 || len(p.Unschedulable) != 5 {
		t.Fatalf("%d claims, %d pods, %d unschedulable", len(p.Claims), p.Stats.Pods, len(p.Unschedulable))
	}
	var sum float64
	for _, c := range p.Claims {
		sum += c.Offer.PricePerHour
		if !strings.HasPrefix(c.Offer.Zone, "us-west-2") {
			t.Errorf("bought in %s", c.Offer.Zone)
		}
	}
	if diff := sum - p.PricePerHour; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("offers cost %v, the plan %v", sum, p.PricePerHour)
	}
}

func TestPlanProvisionMovesTheBuiltInCatalogToTheClustersZones(t *testing.T) {
	text, err := os.ReadFile("testdata/shop/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pods := "---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: {requests: {cpu: '7'}}}]}}\n"
	in := strings.ReplaceAll(string(text), "us-west-2", "eu-central-1") + pods
	p := planOf(t, in, "-f", "-")
	if len(p.Claims) != 1 || !slices.Equal(p.Claims[0].Zones, []string{"eu-central-1a"}) {
		t.Errorf("%+v", p)
	}
	_, _, errs := joiner(in, "plan", "provision", "-f", "-")
	if want := "warning: without --catalog, eu-central-1a is taken to offer what us-west-2 offers, at its prices\n"; errs != want {
		t.Errorf("on standard error %q", errs)
	}
}

func TestPlanProvisionNeedsTheClassWhereThereIsNoCatalog(t *testing.T) {
	p := planOf(t, "", "-f", "testdata/small.yaml")
	for _, u := range p.Unschedulable {
		if len(u.Reasons) != 1 || u.Reasons[0].Code != "ClassNotReady" {
			t.Errorf("%+v", u)
		}
	}
	if len(p.Claims) != 0 || len(p.Unschedulable) != 3 || len(p.Nominations) != 1 {
		t.Errorf("%+v", p)
	}
}

const claims = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default, uid: pool-default}
spec:
  limits: {cpu: "6"}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: absent}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: on-its-way
  labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: four.xlarge, topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: on-demand}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: absent}
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [four.xlarge]}]
STATUS
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: {requests: {cpu: '1800m'}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: a, resources: {requests: {cpu: '1800m'}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: [{name: a, resources: {requests: {cpu: '1800m'}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {containers: [{name: a, resources: {requests: {cpu: '1800m'}}}]}}
`

// A NodeClaim whose node has not joined takes pods and counts against its pool's limits, whether or not it says yet what
// it has; once its node is there, the two are one.
func TestPlanProvisionCountsClaimsOnTheirWay(t *testing.T) {
	const launched = `status:
  providerID: aws:///us-west-2a/i-1
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  allocatable: {cpu: 3900m, memory: 15Gi, pods: "58"}
  conditions: [{type: Launched, status: "True"}]`
	const node = launched + `
---
apiVersion: v1
kind: Node
metadata:
  name: joined
  labels: {karpenter.sh/nodepool: default, karpenter.sh/registered: "true", karpenter.sh/initialized: "true", kubernetes.io/hostname: joined,
    node.kubernetes.io/instance-type: four.xlarge, topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: on-demand}
spec: {providerID: "aws:///us-west-2a/i-1"}
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  allocatable: {cpu: 3900m, memory: 15Gi, pods: "58"}
  conditions: [{type: Ready, status: "True"}]`
	const dollars = "joiner.sh/usd-per-hour: 0.35"
	for _, c := range []struct{ name, status, on, limit string }{
		{"not launched", "", "on-its-way", `cpu: "6"`}, {"launched", launched, "on-its-way", `cpu: "6"`}, {"joined", node, "joined", `cpu: "6"`},
		{"dollars, not launched", "", "on-its-way", dollars}, {"dollars, launched", launched, "on-its-way", dollars}, {"dollars, joined", node, "joined", dollars},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := strings.Replace(strings.Replace(claims, "STATUS", c.status, 1), `cpu: "6"`, c.limit, 1)
			p := planOf(t, in, "-f", "-", "--catalog", "testdata/catalog.json")
			if len(p.Nominations) != 1 || p.Nominations[0].Node != c.on || len(p.Nominations[0].Pods) != 2 {
				t.Errorf("nominations %+v, want two pods on %s", p.Nominations, c.on)
			}
			if len(p.Claims) != 1 || p.Claims[0].Offer.InstanceType != "two.large" {
				t.Errorf("claims %+v: the limit of 6 CPU leaves room for one of 2", p.Claims)
			}
			if len(p.Unschedulable) != 1 || p.Unschedulable[0].Reasons[0].Code != "LimitReached" {
				t.Errorf("unschedulable %+v", p.Unschedulable)
			}
		})
	}
}

const ending = `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default, uid: pool-default},
 spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: absent}}}}}
---
{apiVersion: karpenter.sh/v1, kind: NodeClaim,
 metadata: {name: default-1, labels: {karpenter.sh/nodepool: default}, finalizers: [karpenter.sh/termination]METADATA},
 spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: absent}, requirements: []SPEC},
 status: {providerID: "aws:///us-west-2a/i-1", nodeName: one, conditions: [{type: Launched, status: "True"}, {type: Registered, status: "True"}, {type: Initialized, status: "True"}]}}
---
{apiVersion: v1, kind: Node,
 metadata: {name: one, labels: {karpenter.sh/nodepool: default, karpenter.sh/registered: "true", karpenter.sh/initialized: "true", kubernetes.io/hostname: one,
  kubernetes.io/arch: amd64, kubernetes.io/os: linux, node.kubernetes.io/instance-type: four.xlarge, topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: on-demand}},
 spec: {providerID: "aws:///us-west-2a/i-1"},
 status: {capacity: {cpu: "4", memory: 16Gi, pods: "58"}, allocatable: {cpu: 3900m, memory: 15Gi, pods: "58"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: there, annotations: {karpenter.sh/do-not-disrupt: "SHIELD"}}, spec: {nodeName: one, containers: [{name: a, resources: {requests: {cpu: 500m}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: waits}, spec: {containers: [{name: a, resources: {requests: {cpu: 500m}}}]}}
`

// A node whose NodeClaim is being deleted takes no pods, and its own are planned for elsewhere, shielded ones not before they are
// about to be made to leave.
func TestPlansLeaveNodesWhoseNodeClaimIsBeingDeleted(t *testing.T) {
	const deleted = `, deletionTimestamp: "2026-01-02T15:00:00Z"`
	for _, c := range []struct {
		name, metadata, spec, shield string
		claimed, nominated           []string
	}{
		{"not deleted", "", "", "", nil, []string{"default/waits"}},
		{"deleted", deleted, "", "", []string{"default/there", "default/waits"}, nil},
		{"deleted, shielded pod", deleted, "", "true", []string{"default/waits"}, nil},
		{"deleted, shielded pod, an hour of grace", deleted, ", terminationGracePeriod: 1h", "true", []string{"default/waits"}, nil},
		{"deleted, shielded pod, minutes of grace", deleted, ", terminationGracePeriod: 7m", "true", []string{"default/there", "default/waits"}, nil},
		{"deleted, shielded pod, minutes left", deleted + `, annotations: {karpenter.sh/nodeclaim-termination-timestamp: "2026-01-02T15:07:00Z"}`,
			", terminationGracePeriod: 1h", "true", []string{"default/there", "default/waits"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := strings.NewReplacer("METADATA", c.metadata, "SPEC", c.spec, "SHIELD", c.shield).Replace(ending)
			p := planOf(t, in, "-f", "-", "--catalog", "testdata/catalog.json", "--now", "2026-01-02T15:04:05Z")
			var claimed, nominated []string
			for _, claim := range p.Claims {
				claimed = append(claimed, claim.Pods...)
			}
			for _, n := range p.Nominations {
				nominated = append(nominated, n.Pods...)
			}
			slices.Sort(claimed)
			if !slices.Equal(claimed, c.claimed) || !slices.Equal(nominated, c.nominated) {
				t.Errorf("new nodes for %v, existing ones for %v; want %v and %v", claimed, nominated, c.claimed, c.nominated)
			}
			code, out, errs := joiner(in, "plan", "disrupt", "-f", "-", "--catalog", "testdata/catalog.json", "--now", "2026-01-02T15:04:05Z", "-o", "json")
			if code != 0 {
				t.Fatalf("exit status %d: %s", code, errs)
			}
			var beside planned
			if err := json.Unmarshal([]byte(out), &beside); err != nil {
				t.Fatal(err)
			}
			if len(beside.Nominations) != len(c.nominated) {
				t.Errorf("plan disrupt has the pods that wait go onto %v, plan provision onto %v", beside.Nominations, p.Nominations)
			}
		})
	}
}

const spreadByDefault = `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default, uid: pool-default},
 spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: absent}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}}, spec: {containers: [{name: a, resources: {requests: {cpu: 100m}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, labels: {app: web}}, spec: {containers: [{name: a, resources: {requests: {cpu: 100m}}}]}}
`

func TestPlanProvisionSpreadsByDefaultWhereToldTo(t *testing.T) {
	for _, c := range []struct {
		setting string
		nodes   int
	}{
		{"none", 1},
		{`[{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}]`, 2},
	} {
		p := planOf(t, spreadByDefault, "-f", "-", "--catalog", "testdata/catalog.json", "--default-spread", c.setting)
		if len(p.Claims) != c.nodes || len(p.Unschedulable) != 0 {
			t.Errorf("--default-spread %s: %+v, want %d nodes", c.setting, p, c.nodes)
		}
	}
}

func TestExitStatusIsTwoWhereInputOrCommandLineCannotBeRead(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	for _, c := range []struct {
		name, in string
		args     []string
		want     string
	}{
		{"no file", "", []string{"plan", "provision"},
			"name what to read: files by -f or -k, or a cluster by --context"},
		{"an empty file", "", []string{"plan", "provision", "-f", "-"},
			"-f: the input has no objects; did kubectl fail?"},
		{"other objects", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", []string{"plan", "disrupt",
			"-f", "-"},
			"-f: the input has no object that planning looks at: 1 object of kind ConfigMap (v1) is left out"},
		{"no such file", "", []string{"plan", "provision", "-f", "none.yaml"}, "-f none.yaml: no such file or directory"},
		{"a wrong object", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: 1}}", []string{"plan", "provision", "-f", "-"},
			"joiner: standard input: document 1: Pod a: spec.nodeName: 1: not a string; put it in quotes"},
		{"no such catalogue", onePod, []string{"plan", "provision", "-f", "-", "--catalog", "none.json"},
			"--catalog none.json: no such file or directory"},
		{"a wrong time", "", []string{"plan", "provision", "-f", "-", "--now", "today"}, `--now: "today": not a time`},
		{"a wrong spread", "", []string{"plan", "provision", "-f", "-", "--default-spread", "[{topologyKey: a, maxSkew: 1}]"}, `--default-spread: default spread: defaultConstraints[0].whenUnsatisfiable: ""`},
		{"a wrong output", "", []string{"plan", "provision", "-f", "-", "-o", "wide"},
			"must be table or json or yaml or jsonpath=TEMPLATE or go-template=TEMPLATE"},
		{"a wrong flag", "", []string{"plan", "provision", "--fast"}, "unknown flag: --fast; see joiner plan provision --help"},
		{"a wrong argument", "", []string{"plan", "provision", "-f", "-", "cluster.yaml"},
			`unknown command "cluster.yaml" for "joiner plan provision"; see joiner plan provision --help`},
		{"a wrong command", "", []string{"plant"}, `unknown command "plant" for "joiner"`},
		{"a wrong plan", "", []string{"plan", "provison"},
			`unknown command "provison" for "joiner plan"; did you mean provision?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := joiner(c.in, c.args...)
			if code != 2 || !strings.Contains(errs, c.want) || out != "" {
				t.Errorf("exit status %d, want 2; on standard error\n%s\nwant %q; on standard output %q", code, errs, c.want, out)
			}
		})
	}
}

const onePod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}"

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestExitStatusIsOneWhereThePlanCannotBeWritten(t *testing.T) {
	var errs bytes.Buffer
	if code := run([]string{"plan", "provision", "-f", "-"}, strings.NewReader(onePod), full{}, &errs); code != 1 {
		t.Errorf("exit status %d: %s", code, errs.String())
	}
}

func TestCompletionKnowsCommandsFlagsAndValues(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, errs := joiner("", "completion", shell)
		if code != 0 || !strings.Contains(out, "joiner") {
			t.Errorf("%s: exit status %d, %d bytes, %s", shell, code, len(out), errs)
		}
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{""}, []string{"plan", "version", "completion"}},
		{[]string{"plan", ""}, []string{"provision"}},
		{[]string{"plan", "provision", "-o", ""}, []string{"table", "json"}},
		{[]string{"plan", "provision", "--preference-policy", ""}, []string{"Respect", "Ignore"}},
		{[]string{"plan", "provision", "-f", ""}, []string{"json", "yaml", "yml", "gz"}}, // endings of files
		{[]string{"plan", "provision", "--c"}, []string{"--catalog"}},
	} {
		_, out, _ := joiner("", append([]string{"__complete"}, c.args...)...)
		for _, want := range c.want {
			if !regexp.MustCompile(`(?m)^` + want + `(\t|$)`).MatchString(out) {
				t.Errorf("%v completes to\n%s\nwithout %s", c.args, out, want)
			}
		}
	}
}

// Everything a command takes is in its help, with an example, and help fits a screen.
func TestHelpStandsOnItsOwn(t *testing.T) {
	_, out, _ := joiner("", "plan", "provision", "--help")
	for _, want := range []string{"--filename", "--catalog", "--now", "--output", "--default-spread", "instanceTypes", "reservationId", "Exit status", "Examples:", "kubectl get"} {
		if !strings.Contains(out, want) {
			t.Errorf("nowhere in it: %q", want)
		}
	}
	for _, args := range [][]string{{"--help"}, {"plan", "--help"}, {"plan", "provision", "--help"}} {
		_, out, _ := joiner("", args...)
		for _, line := range strings.Split(out, "\n") {
			if len(line) > 120 {
				t.Errorf("%v: %d columns: %s", args, len(line), line)
			}
		}
	}
}

func TestVersionSaysOne(t *testing.T) {
	if code, out, _ := joiner("", "version"); code != 0 || !strings.HasPrefix(out, "joiner ") {
		t.Errorf("exit status %d: %q", code, out)
	}
}

func classPlan(kubelet, more string) string {
	return `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}}}}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: nodes}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  kubelet: {` + kubelet + `}
  ` + more + `
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, resources: {requests: {cpu: 100m}}}]}}
`
}

func TestPlanProvisionWithKubeletExpressions(t *testing.T) {
	for _, c := range []struct {
		name, kubelet string
		args          []string
		claims        int
		says          string
	}{
		{"not enabled", `maxPods: vcpus * 8`, nil, 0, "not enabled"},
		{"enabled", `maxPods: vcpus * 8`, []string{"--node-class-cel"}, 1, ""},
		{"none", `maxPods: lots`, []string{"--node-class-cel"}, 0, "lots"},
		{"unknown field", `maxPodz: 8`, []string{"--node-class-cel"}, 0, "maxPodz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := joiner(classPlan(c.kubelet, ""), append([]string{"plan", "provision", "-o", "json", "-f", "-"}, c.args...)...)
			var p planned
			if err := json.Unmarshal([]byte(out), &p); code != 0 || err != nil {
				t.Fatalf("exit status %d, %v: %s", code, err, errs)
			}
			if len(p.Claims) != c.claims || c.says != "" && !strings.Contains(out, c.says) {
				t.Errorf("%d claims, want %d: %s", len(p.Claims), c.claims, out)
			}
		})
	}
}

func TestPlanProvisionSaysWhatItCannotLookUp(t *testing.T) {
	for _, more := range []string{"placementGroupSelector: {name: group}", "capacityReservationSelectorTerms: [{id: cr-1}]"} {
		code, out, errs := joiner(classPlan("", more), "plan", "provision", "-o", "json", "-f", "-")
		var p planned
		if err := json.Unmarshal([]byte(out), &p); code != 0 || err != nil || len(p.Claims) != 1 {
			t.Errorf("%s: exit status %d, %v, %d claims", more, code, err, len(p.Claims))
		}
		if !strings.Contains(errs, "EC2NodeClass nodes are unknown: it is planned without them") {
			t.Errorf("%s: no warning: %s", more, errs)
		}
	}
}
