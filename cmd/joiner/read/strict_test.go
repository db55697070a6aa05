package read_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
)

const poolText = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web, managedFields: [{manager: kubectl, ofTomorrow: true}]}
spec:
  disruption: {consolidateAfter: 5m}
  template:
    spec:
      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
status: {ofTomorrow: 3}
`

const classText = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
  kubelet: {maxPodz: 3}
`

const claimText = `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"a"},"spec":{
"expireAfter":"1h","requirements":[],
"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},
"resources":{"requests":{"cpu":"1"}}}}`

// M67, M6: a misspelled field of our kinds is a mistake that names it, and what may be meant, with -f and with --with.
// M68: so are fields of Karpenter's older versions and of EC2 that the schema does not have.
func TestM67UnknownFieldsOfFilesAreMistakes(t *testing.T) {
	const inTemplate = "spec.template.spec."
	for name, c := range map[string]struct {
		text, from, to string   // what is replaced in the text
		want           []string // of the mistakes
	}{
		"requirments": {poolText, "requirements:", "requirments:",
			[]string{"NodePool web: " + inTemplate + "requirments: no such field; write requirements"}},
		"consolidateAftr": {poolText, "consolidateAfter:", "consolidateAftr:",
			[]string{"spec.disruption.consolidateAftr: no such field; write consolidateAfter"}},
		"another case": {poolText, "nodeClassRef:", "nodeclassref:",
			[]string{inTemplate + "nodeclassref: no such field; write nodeClassRef"}},
		"in a list": {poolText, "operator: In,", "operator: In, minValue: 3,",
			[]string{inTemplate + "requirements[0].minValue: no such field; write minValues"}},
		"at the top": {poolText, "kind: NodePool", "kind: NodePool\nspek: {}", []string{"spek: no such field"}},
		"kubelet of a template": {poolText, "    spec:\n", "    spec:\n      kubelet: {maxPods: 3}\n",
			[]string{inTemplate + "kubelet: no such field"}},
		"two at once": {poolText, "disruption: {", "weigth: 3\n  disruption: {budget: [], ",
			[]string{"spec.weigth: no such field", "spec.disruption.budget: no such field"}},
		"options of EC2": {classText, "  role: nodes\n", "  role: nodes\n  cpuOptions: {coreCount: 2}\n" +
			"  metadataOptions: {instanceMetadataTags: enabled}\n" +
			"  blockDeviceMappings: [{deviceName: /dev/xvda, noDevice: true, ebs: {volumeSize: 10Gi}}]\n",
			[]string{"spec.cpuOptions.coreCount", "spec.metadataOptions.instanceMetadataTags",
				"spec.blockDeviceMappings[0].noDevice"}},
		"limits of a NodeClaim": {claimText, "requests", "limits",
			[]string{"NodeClaim a: spec.resources.limits: no such"}},
		"twice": {claimText, `"expireAfter":"1h"`, `"expireAfter":"1h","expireAfter":"2h"`,
			[]string{"is there twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.text, c.from) {
				t.Fatalf("%q is not there", c.from)
			}
			path := file(t, "a.yaml", strings.Replace(c.text, c.from, c.to, 1))
			_, err := read.Files([]string{path}, read.Options{NowUnix: 1})
			_, _, _, with := read.Changes("--with", []string{path}, read.Options{NowUnix: 1})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("-f: %v, want %q", err, want)
				}
				if with == nil || !strings.Contains(with.Error(), want) {
					t.Errorf("--with: %v, want %q", with, want)
				}
			}
		})
	}
}

// Fields that others write, the kubelet's own, and those of Kubernetes itself are nobody's mistake here.
func TestM67FieldsThatAreOthersAreRead(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"ofTomorrow":true}}`
	for _, text := range []string{poolText, classText, claimText, pod} {
		if _, err := read.Files([]string{file(t, "a.yaml", text)}, read.Options{NowUnix: 1}); err != nil {
			t.Error(err)
		}
	}
}

// M65: what Kubernetes 1.35 calls spec.workloadRef is in no later version's types; it is said that it has no effect.
func TestM65WorkloadRefIsWarnedOf(t *testing.T) {
	var text string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\n" +
			"spec: {workloadRef: {name: training}}\n"
	}
	cluster := mustRead(t, file(t, "a.yaml", text))
	warnings := strings.Join(cluster.Warnings, "\n")
	for _, want := range []string{"Pod a: spec.workloadRef: scheduling pods as a group", "and the same of 2 more"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q does not say %q", warnings, want)
		}
	}
	if len(cluster.Snapshot.Pods) != 5 {
		t.Errorf("%v", pods(cluster))
	}
}

// M61: no webhook is asked about pods, so that reading them says which annotations have no effect.
func TestM61AnnotationsOfPodsWithoutEffectAreSaid(t *testing.T) {
	pod := func(name, annotation string) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", annotations: {" + annotation + "}}\n"
	}
	cluster := mustRead(t, file(t, "a.yaml", pod("a", `joiner.sh/keep-two-zones: "yes"`)+
		pod("b", `joiner.sh/keep-two-zone: "true"`)+pod("c", `joiner.sh/keep-two-zones: "true"`)+
		pod("d", `joiner.sh/first: "1", joiner.sh/second: "2"`)))
	warnings := strings.Join(cluster.Warnings, "\n")
	for _, want := range []string{
		`Pod a: metadata.annotations[joiner.sh/keep-two-zones]: "yes": the value has no effect`,
		`Pod b: metadata.annotations[joiner.sh/keep-two-zone]: "true": Joiner knows no such annotation`,
		`Pod d: metadata.annotations[joiner.sh/first]: "1": Joiner knows no such annotation`,
		`metadata.annotations[joiner.sh/second]: "2": Joiner knows no such annotation`,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q does not say %q", warnings, want)
		}
	}
	if strings.Contains(warnings, "Pod c") {
		t.Errorf("%s", warnings)
	}
}
