package read_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

const podTemplate = `{metadata: {labels: {app: a}}, spec: {containers: [{name: a, resources: {requests: {cpu: "1"}}}]}}`

// manifest is a workload's.
func manifest(kind, meta, spec string) string {
	version := "apps/v1"
	if strings.HasSuffix(kind, "Job") {
		version = "batch/v1"
	}
	return "---\n{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: " + meta + "}, spec: " + spec +
		"}\n"
}

// U4: a workload's manifest stands for the pods that its controller would make.
func TestU4WorkloadsArePlannedAsTheirPods(t *testing.T) {
	run := "{template: " + podTemplate + ", parallelism: 2, completions: 9}"
	for _, c := range []struct {
		name, text string
		want       []string
		note       string
	}{
		{"a Deployment", manifest("Deployment", "a, namespace: s",
			"{replicas: 2, selector: {}, template: "+podTemplate+"}"),
			[]string{"s/a-0", "s/a-1"}, ""},
		{"without replicas", manifest("Deployment", "a", "{selector: {}, template: "+podTemplate+"}"),
			[]string{"default/a-0"}, ""},
		{"a ReplicaSet", manifest("ReplicaSet", "a", "{replicas: 1, selector: {}, template: "+podTemplate+"}"),
			[]string{"default/a-0"}, ""},
		{"no replicas", manifest("ReplicaSet", "a", "{replicas: 0, selector: {}, template: "+podTemplate+"}"),
			nil, "ReplicaSet a: spec.replicas is 0: it makes no pods"},
		{"of a Deployment", manifest("ReplicaSet", "a, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, "+
			"name: b, uid: b, controller: true}]", "{replicas: 1, selector: {}, template: "+podTemplate+"}"), nil, ""},
		{"of a cluster", manifest("Deployment", "a, uid: a", "{replicas: 2, selector: {}, template: "+podTemplate+"}"),
			nil, "1 object of kind Deployment (apps/v1) is left out: include the pods it creates"},
		{"a StatefulSet", manifest("StatefulSet", "a", "{replicas: 2, serviceName: a, selector: {}, template: "+
			podTemplate+", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], "+
			"resources: {requests: {storage: 1Gi}}}}]}"), []string{"default/a-0", "default/a-1"},
			"a default StorageClass is not in the input: volumes of manifests are taken for ones of EBS, made where " +
				"the pod is"},
		{"a Job", manifest("Job", "a", run), []string{"default/a-0", "default/a-1"}, ""},
		{"the end of a Job", manifest("Job", "a", strings.Replace(run, "9", "1", 1)), []string{"default/a-0"}, ""},
		{"a suspended Job", manifest("Job", "a", strings.Replace(run, "{", "{suspend: true, ", 1)), nil,
			"Job a: it is suspended and makes no pods"},
		{"a CronJob", manifest("CronJob", "a", "{schedule: '@daily', jobTemplate: {spec: "+run+"}}"),
			[]string{"default/a-0", "default/a-1"}, "CronJob a: it is planned as the pods of one run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := mustRead(t, file(t, "a.yaml", c.text))
			var got []string
			for i := range cluster.Snapshot.Pods {
				pod := &cluster.Snapshot.Pods[i]
				if !pod.Unschedulable {
					t.Errorf("%s does not wait for capacity", pod.Key())
				}
				got = append(got, pod.Key())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("it makes %v, want %v", got, c.want)
			}
			if warnings := strings.Join(cluster.Warnings, "\n"); warnings != c.note {
				t.Errorf("it says %q, want %q", warnings, c.note)
			}
		})
	}
}

// U4: what an API server would refuse of a workload is a mistake, with the name that may be meant.
func TestU4M67MistakesInWorkloadsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		manifest("Deployment", "a",
			"{replcas: 2, selector: {}, template: "+podTemplate+"}"): "document 1: Deployment a: " +
			"spec.replcas: no such field; write replicas if that is meant",
		manifest("Deployment", "a",
			"{selector: {}}"): "document 1: Deployment a: spec.template.spec.containers: not set; " +
			"a pod has one at least",
		manifest("CronJob", "a", "{schedule: '@daily'}"): "document 1: CronJob a: " +
			"spec.jobTemplate.spec.template.spec.containers: not set; a pod has one at least",
		manifest("StatefulSet", "a", "{replicas: 100001, template: "+podTemplate+"}"): "document 1: StatefulSet a: " +
			"spec.replicas: 100001: more than 100000 pods; plan for fewer",
	} {
		_, err := read.Files([]string{file(t, "a.yaml", text)}, read.Options{NowUnix: 1})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// U19: folders in folders are read where that is asked for, and what kustomize builds is read as files are.
func TestU19FoldersInFoldersAndKustomize(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "base", "pods")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(below, "web.yaml"): manifest("Deployment", "web",
			"{replicas: 1, selector: {}, template: "+podTemplate+"}"),
		filepath.Join(below, "kustomization.yaml"): "resources: [web.yaml]\n",
		filepath.Join(root, "kustomization.yaml"): "resources: [base/pods]\nnamePrefix: my-\nreplicas: " +
			"[{name: web, count: 3}]\n",
		filepath.Join(root, "base", "nothing.other"): "no manifest",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cluster, err := read.Files([]string{root}, read.Options{NowUnix: 1, Recursive: true})
	if err != nil || !slices.Equal(pods(cluster), []string{"default/web-0*"}) {
		t.Errorf("-R reads %v, %v", pods(cluster), err)
	}
	if _, err := read.Files([]string{root}, read.Options{NowUnix: 1}); err == nil ||
		!strings.Contains(err.Error(), "its subfolders are not read without -R") {
		t.Errorf("without -R: %v", err)
	}
	cluster, err = read.Files(nil, read.Options{NowUnix: 1, Kustomize: root})
	if err != nil || len(cluster.Snapshot.Pods) != 3 || cluster.Snapshot.Pods[0].Name != "my-web-0" {
		t.Errorf("-k reads %v, %v", pods(cluster), err)
	}
	if _, err := read.Files(nil, read.Options{NowUnix: 1, Kustomize: below + "/none"}); err == nil ||
		!strings.HasPrefix(err.Error(), "-k "+below+"/none: ") {
		t.Errorf("%v", err)
	}
}
