package helm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// update has the renderings written anew: JOINER_UPDATE=1 go test ./testenv/test/helm -run Rendered
var update = os.Getenv("JOINER_UPDATE") != ""

func release(t *testing.T) Release {
	t.Helper()
	assets, err := kube.Binaries(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return Release{Helm: assets.Helm}
}

// values reads a file of infra/chart/ci.
func values(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ChartDir(), "ci", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the chart comes to is committed, so that a change of it is seen for what it is, and can be applied without Helm.
func TestRenderedAsCommitted(t *testing.T) {
	r := release(t)
	for _, name := range []string{"default", "relay", "everything"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := values(t, name)
			if err := r.Lint(t.Context(), given); err != nil {
				t.Fatal(err)
			}
			got, err := r.Template(t.Context(), given, "--set", "crds.install=false")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(ChartDir(), "rendered", name+".yaml")
			if update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the chart with ci/%s.yaml comes to something else than rendered/%s.yaml; JOINER_UPDATE=1 writes it anew, and the difference is to be judged", name, name)
			}
		})
	}
}

// The chart's definitions are the API's, and stay where the release goes.
func TestDefinitionsOfTheChartAreTheAPIs(t *testing.T) {
	r := release(t)
	rendered, err := r.Template(t.Context(), values(t, "default"), "--show-only", "templates/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]any{}
	for _, document := range strings.Split("\n"+string(rendered), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object == nil {
			continue
		}
		meta := object["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would go with the release", meta["name"])
		}
		delete(annotations, "helm.sh/resource-policy")
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
		delete(meta, "labels")
		got[meta["name"].(string)] = object
	}
	for _, manifest := range crds.Manifests() {
		var want map[string]any
		if err := yaml.Unmarshal(manifest, &want); err != nil {
			t.Fatal(err)
		}
		name := want["metadata"].(map[string]any)["name"].(string)
		a, _ := yaml.Marshal(got[name])
		b, _ := yaml.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("%s of the chart is not what the API's types say: go generate ./shared/api/...", name)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("the chart has %d definitions more than the API", len(got))
	}
	fewer, err := r.Template(t.Context(), values(t, "default"), "--show-only", "templates/crds.yaml", "--set", "crds.capacityBuffers=false")
	if err != nil || bytes.Contains(fewer, []byte("capacitybuffers")) {
		t.Errorf("crds.capacityBuffers=false: %v, and buffers are defined: %v", err, bytes.Contains(fewer, []byte("capacitybuffers")))
	}
}

// Labels say of which version the image is, which doctor compares with the functions', also where a digest says what is run; shortened to what a label takes.
func TestLabelsNameTheImagesVersion(t *testing.T) {
	r := release(t)
	long := strings.Repeat("a", 62) + "-" + strings.Repeat("b", 60)
	for tag, want := range map[string]string{"": "0.1.0", "v7": "v7", "267bf490da0b": "267bf490da0b", "20260101": "20260101", "_x.": "x", long: strings.Repeat("a", 62)} {
		rendered, err := r.Template(t.Context(), values(t, "default"), "--show-only", "templates/deployment.yaml", "--set-string", "image.tag="+tag, "--set", "image.digest=sha256:"+strings.Repeat("0", 64))
		if err != nil {
			t.Errorf("tag %q: %v", tag, err)
			continue
		}
		var deployment struct {
			Metadata struct{ Labels map[string]string }
		}
		if err := yaml.Unmarshal(rendered, &deployment); err != nil || deployment.Metadata.Labels["app.kubernetes.io/version"] != want {
			t.Errorf("tag %q: labels %v, %v; the version is to be %q", tag, deployment.Metadata.Labels, err, want)
		}
		if !strings.Contains(string(rendered), "@sha256:0") {
			t.Errorf("tag %q: the image is not the digest's", tag)
		}
	}
}

// Each refusal names the value and what is wrong with it; what is to be done stands beside it or follows from it.
func TestValuesThatAreRefused(t *testing.T) {
	r := release(t)
	tests := map[string]struct {
		set  []string
		want []string
	}{
		"nothing is said":              {[]string{"cluster=", "installation.table=", "installation.bucket=", "installation.region=", "installation.queues.plan="}, []string{"cluster (name of the EKS cluster)", "installation.table", "installation.bucket", "installation.queues.plan", "installation.region", "joiner attach"}},
		"a name nobody knows":          {[]string{"watcher.replica=3"}, []string{"/watcher", "'replica' not allowed"}},
		"replicas":                     {[]string{"watcher.replicas=-1"}, []string{"/watcher/replicas", "minimum"}},
		"account":                      {[]string{"account=12"}, []string{"/account"}},
		"a digest that is none":        {[]string{"image.digest=sha256:abc"}, []string{"/image/digest", "sha256"}},
		"a queue that is not FIFO":     {[]string{"installation.queues.plan=https://sqs.us-west-2.amazonaws.com/1/plan"}, []string{"/installation/queues/plan", "fifo"}},
		"duration":                     {[]string{"watcher.batchQuiet=soon"}, []string{"/watcher/batchQuiet"}},
		"webhook without TLS":          {[]string{"webhook.url=http://example.com/x"}, []string{"/webhook/url", "https"}},
		"certificate without CA":       {[]string{"webhook.caBundle="}, []string{"webhook.caBundle is empty"}},
		"CA without certificate":       {[]string{"webhook.secretName="}, []string{"webhook.caBundle is set without webhook.secretName"}},
		"relay without a queue":        {[]string{"relay.enabled=true"}, []string{"relay.queueURL is empty", "joiner-relay-"}},
		"relay without senders":        {[]string{"relay.enabled=true", "relay.queueURL=https://x/y"}, []string{"relay.senders is empty", "aws iam get-role"}},
		"a relay that is not enabled":  {[]string{"relay.queueURL=https://x/y"}, []string{"relay.enabled is false"}},
		"a sender of unknown function": {[]string{"relay.senders.AROAEXAMPLE123=webhook"}, []string{"/relay/senders"}},
		"a setting the chart makes":    {[]string{"watcher.env.JOINER_TABLE=other"}, []string{"watcher.env.JOINER_TABLE", "use the value made for it"}},
		"a dashboard, misspelled": {[]string{"metrics.grafanaDashboard.enable=true"},
			[]string{"/metrics/grafanaDashboard", "'enable' not allowed"}},
		"a policy that does nothing": {[]string{"policies.action=Warn"}, []string{"/policies/action"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var flags []string
			for _, set := range tt.set {
				flags = append(flags, "--set", set)
			}
			_, err := r.Template(t.Context(), values(t, "default"), flags...)
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it says\n%v\nand not %q", err, want)
				}
			}
		})
	}
}

// The pod is what hardened clusters ask for (the restricted profile of Pod Security), and two replicas are apart.
func TestWatchersPodIsRestrictedAndSpread(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(ChartDir(), "rendered", "default.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"replicas: 2", "runAsNonRoot: true", "seccompProfile: {type: RuntimeDefault}", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false",
		"capabilities: {drop: [ALL]}", "topologyKey: kubernetes.io/hostname", "topologyKey: topology.kubernetes.io/zone", "priorityClassName: system-cluster-critical",
		"httpGet: {path: /readyz", "httpGet: {path: /healthz", "kind: PodDisruptionBudget", "kind: NetworkPolicy", "169.254.170.23/32", "failurePolicy: Ignore", "timeoutSeconds: 2",
		"@sha256:",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, never := range []string{"secrets", "configmaps", "hostNetwork", "hostPath"} {
		if slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
			return strings.Contains(line, never) && strings.Contains(line, "resources:") || strings.Contains(line, never+":")
		}) {
			t.Errorf("there is %q", never)
		}
	}
}

// TestW15AuditIsWarnedOf: who chooses Audit reads beside the value, and after installing, what is given up by it.
func TestW15AuditIsWarnedOf(t *testing.T) {
	for file, near := range map[string]string{"values.yaml": "\n  action: Deny\n", "templates/NOTES.txt": "WARNING: policies only write to the audit log"} {
		text, err := os.ReadFile(filepath.Join(ChartDir(), file))
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(text), near)
		if at < 0 {
			t.Fatalf("%s has no %q", file, near)
		}
		around := strings.Join(strings.Fields(strings.ReplaceAll(string(text[max(0, at-400):min(len(text), at+250)]), "#", "")), " ")
		if !strings.Contains(around, "may patch every node") || !strings.Contains(around, "delete every pod") {
			t.Errorf("%s says beside %q only %q", file, strings.TrimSpace(near), around)
		}
	}
}
