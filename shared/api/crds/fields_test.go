package crds_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	webhook "github.com/joiner-sh/joiner/shared/adapter/ekscluster/admission"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// fieldsFile has a row for each field of the definitions, which docs/reference/fields.md shows.
const fieldsFile = "../../../testenv/repository/paritydoc/fields.csv"

// plainObjects are objects that nothing is said about, which the rows change. The NodePool's nodes live long enough.
var plainObjects = map[string]string{
	"NodePool": `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  limits: {cpu: 100}
  disruption: {consolidationPolicy: Balanced, consolidateAfter: 5m, budgets: [{nodes: 10%}]}
  template:
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
`,
	"NodeClaim": `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: one}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`,
	"EC2NodeClass": `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: other}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{tags: {discovery: web}}]
  securityGroupSelectorTerms: [{tags: {discovery: web}}]
`,
	"NodeOverlay": `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: cheaper}
spec:
  priceAdjustment: -10%
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]
`,
}

// fieldRow is a row of fieldsFile.
type fieldRow struct{ kind, field, manifest, outcome, says string }

func fieldRows(t *testing.T) []fieldRow {
	t.Helper()
	f, err := os.Open(fieldsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) < 100 {
		t.Fatalf("%s: %d lines, %v", fieldsFile, len(lines), err)
	}
	var out []fieldRow
	for _, l := range lines[1:] {
		out = append(out, fieldRow{l[0], l[1], l[2], l[3], l[4]})
	}
	return out
}

// leaves returns the paths of the fields of a schema that have no fields of their own: items of lists as [], entries of
// maps as {}.
func leaves(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of := s.Properties[name]
		out = append(out, leaves(strings.TrimPrefix(path+"."+name, "."), &of)...)
	}
	if s.Items != nil && s.Items.Schema != nil {
		out = append(out, leaves(path+"[]", s.Items.Schema)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, leaves(path+"{}", s.AdditionalProperties.Schema)...)
	}
	if out == nil || s.XPreserveUnknownFields != nil { // which has other fields besides
		out = append(out, path)
	}
	return out
}

// TestEveryFieldHasARowThatSaysWhatBecomesOfIt: no field of the definitions that people write is left out of the table,
// and no row is about a field that does not exist. A row about a part of a status stands for what is in it.
func TestEveryFieldHasARowThatSaysWhatBecomesOfIt(t *testing.T) {
	rows, kinds := fieldRows(t), newServer(t)
	for kind := range plainObjects {
		whole := kinds[kind].Definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		var fields []string
		for _, part := range []string{"spec", "status"} {
			of := whole.Properties[part]
			fields = append(fields, leaves(part, &of)...)
		}
		stands := func(r fieldRow, field string) bool {
			return r.kind == kind && (r.field == field || r.outcome == "written" && strings.HasPrefix(field, r.field))
		}
		for _, field := range fields {
			if !slices.ContainsFunc(rows, func(r fieldRow) bool { return stands(r, field) }) {
				t.Errorf("%s: %s has no row in %s: say what becomes of it", kind, field, fieldsFile)
			}
		}
		for _, r := range rows {
			about := func(field string) bool { return stands(r, field) }
			if r.kind == kind && !strings.HasPrefix(r.field, "metadata.") && !slices.ContainsFunc(fields, about) {
				t.Errorf("%s has no field %s", kind, r.field)
			}
		}
	}
}

// withoutEffect are fields that nothing goes by, whatever their value, and why.
var withoutEffect = map[string]string{
	"group":     "only EC2NodeClasses are launched from",
	"kind":      "only EC2NodeClasses are launched from",
	"timeAdded": "kubelets say when a taint was added",
}

// TestEveryFieldIsHonoredForSomeValue: a field of which the table has nothing but mistakes could be ignored in silence
// where its value is a good one.
func TestEveryFieldIsHonoredForSomeValue(t *testing.T) {
	honored, warned := map[string]bool{}, map[string]bool{}
	rows := fieldRows(t)
	for _, r := range rows {
		switch r.outcome {
		case "honored":
			honored[r.kind+" "+r.field] = true
		case "warned":
			warned[r.kind+" "+r.field] = true
		}
	}
	for _, r := range rows {
		of, name := r.kind+" "+r.field, r.field[strings.LastIndex(r.field, ".")+1:]
		switch {
		case r.outcome == "written" || honored[of]:
		case withoutEffect[name] == "" || !warned[of]:
			t.Errorf("%s has no value that is honored: add a row, or have it warned of and say here why", of)
		}
	}
}

// outcome is what came of an object: what the schema and the webhook refuse, what the webhook warns of, and what those
// who decide read.
type outcome struct {
	refused, warned []string
	read            any
}

// M14, U8: TestFieldsAreHonoredRefusedOrWarnedOf sends an unusual value of each field the way that objects of people
// go: through the schema and the webhook, to what those who decide read.
func TestFieldsAreHonoredRefusedOrWarnedOf(t *testing.T) {
	kinds := newServer(t)
	usual := map[string]outcome{}
	for kind, text := range plainObjects {
		usual[kind] = sent(t, kinds[kind], readOne(t, text))
		if len(usual[kind].refused) > 0 {
			t.Fatalf("the plain %s is refused: %q", kind, usual[kind].refused)
		}
	}
	for _, r := range fieldRows(t) {
		if r.outcome == "written" {
			continue
		}
		t.Run(r.kind+" "+r.field+" "+r.outcome, func(t *testing.T) {
			if !mentions(readOne(t, r.manifest), r.field) {
				t.Errorf("%s does not set %s", r.manifest, r.field)
			}
			got, plain := sent(t, kinds[r.kind], merged(t, plainObjects[r.kind], r.manifest)), usual[r.kind]
			fresh := slices.Clone(got.warned)
			fresh = slices.DeleteFunc(fresh, func(w string) bool { return slices.Contains(plain.warned, w) })
			ok := false
			switch r.outcome {
			case "refused":
				ok = said(got.refused, r.says)
			case "warned":
				ok = len(got.refused) == 0 && said(fresh, r.says)
			case "honored":
				ok = len(got.refused) == 0 && !reflect.DeepEqual(got.read, plain.read)
			}
			if !ok {
				t.Errorf("%s is not %s (%q)\nrefused: %q\nwarned of: %q",
					r.manifest, r.outcome, r.says, got.refused, fresh)
			}
		})
	}
}

func said(lines []string, what string) bool {
	return what != "" && slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, what) })
}

// mentions reports whether a manifest sets a field, whose path is as leaves has it.
func mentions(value any, path string) bool {
	if path == "" {
		return true
	}
	switch v := value.(type) {
	case object:
		name, rest, _ := strings.Cut(path, ".")
		if cut := strings.IndexAny(name, "[{"); cut > 0 {
			name, rest = name[:cut], path[cut:]
		}
		if name == "{}" {
			return len(v) > 0
		}
		next, has := v[name]
		return has && mentions(next, rest)
	case []any:
		rest := strings.TrimPrefix(strings.TrimPrefix(path, "[]"), ".")
		return len(v) == 0 || slices.ContainsFunc(v, func(item any) bool { return mentions(item, rest) })
	}
	return false
}

// sent sends an object to the schema of its kind, then to the webhook and to those who read it.
func sent(t *testing.T, k *kind, obj object) outcome {
	t.Helper()
	var out outcome
	stored, errs := k.admit(t, obj, nil)
	for _, err := range errs {
		out.refused = append(out.refused, err.Error())
	}
	if len(errs) > 0 {
		return out
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(stored)}
	var invalid []string
	out.read, invalid = decided(u)
	out.refused = append(out.refused, invalid...)
	refused, warned := reviewed(t, k, stored)
	out.refused, out.warned = append(out.refused, refused...), warned
	return out
}

// decided returns an object as those who decide read it, without what only identifies it, and what they refuse of it.
func decided(u *unstructured.Unstructured) (read any, invalid []string) {
	switch u.GetKind() {
	case "NodePool":
		pool, _ := translate.PoolOf(u)
		pool.Hash = ""
		return pool, pool.Invalid
	case "NodeClaim":
		claim := translate.StandaloneClaimOf(u)
		return claim, claim.Invalid
	case "EC2NodeClass":
		class := translate.ClassOf(u)
		class.Hash = ""
		for _, problem := range class.Invalid {
			invalid = append(invalid, problem.Message)
		}
		return class, invalid
	default:
		overlay := translate.OverlayOf(u)
		return overlay, overlay.Invalid
	}
}

// reviewed returns what the webhook refuses of the creation of an object, and what it warns of.
func reviewed(t *testing.T, k *kind, obj object) (refused, warned []string) {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	spec := &k.Definition.Spec
	of := metav1.GroupVersionKind{Group: spec.Group, Version: spec.Versions[0].Name, Kind: spec.Names.Kind}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()},
		Request: &admissionv1.AdmissionRequest{UID: "1", Kind: of, Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: raw}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := webhook.Handle(t.Context(), body, func(_ context.Context, a model.Admission) model.Verdict {
		return admit.Evaluate(a, fewTypes())
	})
	if err != nil {
		t.Fatal(err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		t.Fatal(err)
	}
	if !review.Response.Allowed {
		refused = []string{review.Response.Result.Message}
	}
	return refused, review.Response.Warnings
}

// fewTypes are two instance types of a region and a ready class.
func fewTypes() admit.Facts {
	known := admit.Facts{Settings: offering.Settings{Region: "us-west-2"}, Objects: true}
	for i, name := range []string{"m5.large", "m5.xlarge"} {
		info := model.InstanceTypeInfo{
			Name: name, Arch: "amd64", VCPUs: 2 << i, MemoryMiB: 8192 << i, Hypervisor: "nitro",
			CPUManufacturer: "intel",
			Interfaces:      3, IPv4PerInterface: 10, UsageClasses: []string{model.OnDemand, model.Spot},
		}
		for _, capacity := range info.UsageClasses {
			info.Offerings = append(info.Offerings, model.Offering{Zone: "us-west-2a", ZoneID: "usw2-az1",
				CapacityType: capacity, Price: model.MicroUSD(96_000 << i), Available: true})
		}
		known.InstanceTypes = append(known.InstanceTypes, info)
	}
	known.Classes = []model.Class{{Name: "default", Family: "AL2023",
		Status: model.ClassStatus{Subnets: []model.Subnet{{ID: "subnet-a", Zone: "us-west-2a", ZoneID: "usw2-az1"}}}}}
	return known
}

// M68: fields that EC2 or an older Karpenter has, and these definitions have not, are dropped by name: kubectl apply
// refuses them, and warns of them with --validate=warn.
func TestM68FieldsThatTheSchemaDropsAreSaid(t *testing.T) {
	kinds := newServer(t)
	for _, c := range []struct{ kind, field, manifest string }{
		{"NodePool", "spec.template.spec.kubelet", "spec: {template: {spec: {kubelet: {maxPods: 3}}}}"},
		{"NodePool", "spec.requirments", "spec: {requirments: []}"},
		{"NodeClaim", "spec.resources.limits", "spec: {resources: {limits: {cpu: 1}}}"},
		{"EC2NodeClass", "spec.cpuOptions.coreCount", "spec: {cpuOptions: {coreCount: 2}}"},
		{"EC2NodeClass", "spec.metadataOptions.instanceMetadataTags",
			"spec: {metadataOptions: {instanceMetadataTags: enabled}}"},
		{"EC2NodeClass", "spec.blockDeviceMappings[0].noDevice",
			"spec: {blockDeviceMappings: [{deviceName: a, noDevice: true, ebs: {volumeSize: 1Gi}}]}"},
		{"NodeOverlay", "spec.prices", "spec: {prices: 1}"},
	} {
		obj := merged(t, plainObjects[c.kind], c.manifest)
		dropped := pruning.PruneWithOptions(obj, kinds[c.kind].Structural, true,
			schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if !slices.Equal(dropped, []string{c.field}) {
			t.Errorf("%s: dropped are %q, want %s", c.manifest, dropped, c.field)
		}
	}
}
