package read_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/clusterfile"
)

// file writes a file into a folder of its own and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustRead(t *testing.T, paths ...string) *read.Cluster {
	t.Helper()
	cluster, err := read.Files(paths, read.Options{NowUnix: 1})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// pods returns the keys of the pods, those that wait with a star.
func pods(c *read.Cluster) []string {
	var out []string
	for i := range c.Snapshot.Pods {
		key := c.Snapshot.Pods[i].Key()
		if c.Snapshot.Pods[i].Unschedulable {
			key += "*"
		}
		out = append(out, key)
	}
	return out
}

const aPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME"}}`

func TestReadTakesEveryFormOfText(t *testing.T) {
	named := func(name string) string { return strings.Replace(aPod, "NAME", name, 1) }
	yamlPod := func(name string) string { return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n" }
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"comments alone", "# nothing\n---\n# here\n", nil},
		{"one JSON object", named("a"), []string{"a"}},
		{"JSON objects in a row", named("a") + named("b") + "\n" + named("c"), []string{"a", "b", "c"}},
		{"JSON between separators", named("a") + "\n---\n" + named("b") + "\n---\n", []string{"a", "b"}},
		{"JSON and YAML", named("a") + "\n---\n" + yamlPod("b") + "---\n" + named("c"), []string{"a", "b", "c"}},
		{"JSON behind a byte order mark", "\ufeff" + named("a"), []string{"a"}},
		{"YAML documents", "---\n" + yamlPod("a") + "---\n---\n# no object\n---\n" + yamlPod("b"), []string{"a", "b"}},
		{"YAML with line ends of Windows", strings.ReplaceAll(yamlPod("a")+"---\n"+yamlPod("b"), "\n", "\r\n"), []string{"a", "b"}},
		{"YAML with a directive and an end", "%YAML 1.1\n---\n" + yamlPod("a") + "...\n" + yamlPod("b"), []string{"a", "b"}},
		{"YAML of one line", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", []string{"a"}},
		{"YAML beside the separator", "--- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n--- # two\n" + yamlPod("b"), []string{"a", "b"}},
		{"a separator inside of a text", yamlPod("a") + "  annotations:\n    a: |\n      ---\n      kind: Node\n---\n" + yamlPod("b"), []string{"a", "b"}},
		{"a list", `{"kind":"List","apiVersion":"v1","items":[` + named("a") + "," + named("b") + `]}`, []string{"a", "b"}},
		{"a list that says so at the end", `{"items":[` + named("a") + `],"kind":"List","apiVersion":"v1"}`, []string{"a"}},
		{"an empty list", `{"kind":"List","apiVersion":"v1","items":[]}`, nil},
		{"a list of nothing", `{"kind":"List","apiVersion":"v1","items":null}`, nil},
		{"a list of pods that do not say so", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`, []string{"a"}},
		{"a YAML list of pods that do not say so", "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n", []string{"a", "b"}},
		{"a list in a list", `{"kind":"List","apiVersion":"v1","items":[{"kind":"List","apiVersion":"v1","items":[` + named("a") + `]}]}`, []string{"a"}},
		{"a YAML list", "apiVersion: v1\nkind: List\nitems:\n  - " + named("a") + "\n  - " + named("b") + "\n", []string{"a", "b"}},
		{"anchors across items", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: &m {name: a}\n- apiVersion: v1\n  kind: Pod\n  metadata: *m\n", []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want []string
			for _, name := range c.want {
				want = append(want, "default/"+name+"*")
			}
			if got := pods(mustRead(t, file(t, "a.yaml", c.text))); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v, of\n%s", got, want, c.text)
			}
		})
	}
}

func TestReadTakesFilesFoldersAndStandardInput(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write([]byte(strings.Replace(aPod, "NAME", "packed", 1))); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	write("in/b.yml", strings.Replace(aPod, "NAME", "b", 1))
	write("in/a.json", strings.Replace(aPod, "NAME", "a", 1))
	write("in/c.json.gz", packed.String())
	write("in/readme.txt", "no object")
	write("in/deeper/d.json", strings.Replace(aPod, "NAME", "deeper", 1))
	cluster, err := read.Files([]string{filepath.Join(folder, "in"), read.Stdin}, read.Options{Stdin: strings.NewReader(strings.Replace(aPod, "NAME", "typed", 1))})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pods(cluster), []string{"default/a*", "default/b*", "default/packed*", "default/typed*"}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestReadRefusesPathsThatGiveNothing(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		name  string
		paths []string
		want  string
	}{
		{"no such file", []string{folder + "/none.yaml"}, "no such file"},
		{"an empty folder", []string{folder}, "the folder has no file that ends in .json, .yaml, .yml"},
		{"standard input twice", []string{"-", "-"}, "standard input can be read only once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read.Files(c.paths, read.Options{Stdin: strings.NewReader("")})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something with %q", err, c.want)
			}
		})
	}
}

func TestReadLetsTheLastOfTwoObjectsCount(t *testing.T) {
	first := file(t, "a.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: m}}")
	second := file(t, "b.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}}")
	if got := pods(mustRead(t, first, second)); !slices.Equal(got, []string{"default/a*"}) {
		t.Errorf("read %v: the later object should count", got)
	}
	if got := pods(mustRead(t, second, first)); !slices.Equal(got, []string{"default/a"}) {
		t.Errorf("read %v: the later object should count", got)
	}
}

func TestReadTakesPodsForWaitingUnlessSomethingElseHoldsThem(t *testing.T) {
	cluster := mustRead(t, file(t, "a.yaml", `
{apiVersion: v1, kind: Pod, metadata: {name: new}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unschedulable}, status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: m}}
`))
	if got, want := pods(cluster), []string{"default/bound", "default/gated", "default/new*", "default/unschedulable*"}; !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestReadWarnsOnceForEachKindLeftOut(t *testing.T) {
	cluster := mustRead(t, file(t, "a.yaml", `
{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, uid: a}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, uid: a}}
---
{apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: a}}
---
{apiVersion: karpenter.sh/v1beta1, kind: NodeOverlay, metadata: {name: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}}
`))
	want := []string{
		"2 objects of kind ConfigMap (v1) are left out: planning does not use the kind",
		"1 object of kind CronJob (batch/v1) is left out: planning does not use the kind",
		"1 object of kind Deployment (apps/v1) is left out: include the pods it creates",
		"1 object of kind NodeOverlay (karpenter.sh/v1beta1) is left out: the kind is read in version karpenter.sh/v1alpha1; convert it",
		"1 object of kind NodePool (karpenter.sh/v1beta1) is left out: the kind is read in version karpenter.sh/v1; convert it",
	}
	if !slices.Equal(cluster.Warnings, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(cluster.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

// Every text of the same objects gives the same snapshot: JSON, YAML, whole or cut at its items, in one piece or in many.
func TestReadGivesTheSameSnapshotForJSONAndYAML(t *testing.T) {
	var text bytes.Buffer
	if err := clusterfile.Write(&text, 20, 500); err != nil {
		t.Fatal(err)
	}
	lines, err := yaml.JSONToYAML(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 2_000_000 {
		t.Fatalf("%d bytes of YAML are too few to be cut", len(lines))
	}
	indented := strings.ReplaceAll("\n"+string(lines), "\n- ", "\n  - ")
	indented = strings.ReplaceAll(strings.ReplaceAll(indented, "\n  ", "\n    "), "\n    - apiVersion", "\n  - apiVersion")
	want := mustRead(t, file(t, "a.json", text.String()))
	if len(want.Snapshot.Pods) != 500 || len(want.Snapshot.Nodes) != 20 || len(want.Snapshot.Pools) != 1 {
		t.Fatalf("read %d pods, %d nodes, %d pools", len(want.Snapshot.Pods), len(want.Snapshot.Nodes), len(want.Snapshot.Pools))
	}
	for name, text := range map[string]string{"YAML": string(lines), "indented YAML": indented, "YAML with comments": "# a\n" + strings.ReplaceAll(string(lines), "\n- api", "\n# an item\n\n- api")} {
		if got := mustRead(t, file(t, "a.yaml", text)); !reflect.DeepEqual(got.Snapshot, want.Snapshot) {
			t.Errorf("%s: the snapshot differs: %d pods, %d nodes", name, len(got.Snapshot.Pods), len(got.Snapshot.Nodes))
		}
	}
}

func TestReadTakesNodeClaimsForCapacityOnItsWay(t *testing.T) {
	cluster := mustRead(t, file(t, "a.yaml", `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-abcde
  uid: u1
  labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m5.large, topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: spot}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: class}
  taints: [{key: a, value: b, effect: NoSchedule}]
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.xlarge]}
  resources: {requests: {cpu: 1500m, pods: "3"}}
status:
  providerID: aws:///us-west-2a/i-1
  capacity: {cpu: "2", memory: 8Gi, pods: "29"}
  allocatable: {cpu: 1930m, memory: 7Gi, pods: "29"}
  conditions: [{type: Launched, status: "True"}, {type: Registered, status: "False"}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: leaving, deletionTimestamp: "2026-01-02T03:04:05Z"}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: class}, requirements: []}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: of-another-provider}
spec: {nodeClassRef: {group: example.com, kind: Class, name: class}, requirements: []}
`))
	if len(cluster.Claims) != 2 {
		t.Fatalf("read %d claims, want 2: %+v", len(cluster.Claims), cluster.Claims)
	}
	got, leaving := cluster.Claims[0], cluster.Claims[1]
	if got.State != model.Launched || got.Pool != "default" || got.Class != "class" || got.InstanceType != "m5.large" || got.Zone != "us-west-2a" ||
		got.CapacityType != model.Spot || got.ProviderID != "aws:///us-west-2a/i-1" || got.Allocatable[model.CPU] != 1930 || got.Capacity[model.Memory] != 8<<30 ||
		len(got.Taints) != 1 || !slices.Equal(got.InstanceTypes, []string{"m5.large", "m5.xlarge"}) || got.Requests[model.CPU] != 1500 {
		t.Errorf("read %+v", got)
	}
	if leaving.Live() {
		t.Errorf("a claim that is being deleted is no capacity: %+v", leaving)
	}
}

// M76: what pods claim devices by is read of files, as it is of a cluster.
func TestF095ObjectsOfDynamicResourcesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devices.yaml")
	text := `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: ml}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: d}]
---
apiVersion: resource.k8s.io/v1beta1
kind: DeviceClass
metadata: {name: old}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := read.Files([]string{path}, read.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Snapshot
	if len(s.DeviceClasses) != 1 || len(s.ResourceClaims) != 1 || s.ResourceClaims[0].Namespace != "default" ||
		len(s.ResourceClaimTemplates) != 1 || s.ResourceClaimTemplates[0].Namespace != "ml" ||
		len(s.ResourceSlices) != 1 || s.ResourceSlices[0].Node != "node-1" {
		t.Errorf("got %+v, %+v, %+v, %+v", s.DeviceClasses, s.ResourceClaims, s.ResourceClaimTemplates,
			s.ResourceSlices)
	}
	want := []string{"1 object of kind DeviceClass (resource.k8s.io/v1beta1) is left out: the kind is read in " +
		"version resource.k8s.io/v1; convert it"}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings %q, want %q", c.Warnings, want)
	}
}
