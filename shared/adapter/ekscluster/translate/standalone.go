package translate

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

// StandaloneClaimOf returns what an untyped NodeClaim that people made by hand asks for. One that cannot be read is
// Invalid.
func StandaloneClaimOf(object *unstructured.Unstructured) model.StandaloneClaim {
	var typed apiv1.NodeClaim
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return model.StandaloneClaim{Name: object.GetName(), UID: string(object.GetUID()),
			Invalid: []string{cannotBeRead(err)}}
	}
	return standaloneClaim(&typed)
}

// standaloneClaim returns what a NodeClaim that people made by hand asks for: the labels and annotations its node gets
// beside its spec, which is evaluated as a pool's template is.
func standaloneClaim(object *apiv1.NodeClaim) model.StandaloneClaim {
	spec := &object.Spec
	pool := Pool(&apiv1.NodePool{Spec: apiv1.NodePoolSpec{Template: apiv1.NodeClaimTemplate{
		Metadata: apiv1.TemplateMetadata{Labels: standaloneLabels(object),
			Annotations: standaloneAnnotations(object.Annotations)},
		Spec: apiv1.NodeClaimTemplateSpec{
			Requirements: spec.Requirements, Taints: spec.Taints, StartupTaints: spec.StartupTaints,
			NodeClassRef:           spec.NodeClassRef,
			TerminationGracePeriod: spec.TerminationGracePeriod, ExpireAfter: spec.ExpireAfter,
		},
	}}})
	out := model.StandaloneClaim{
		Name: object.Name, UID: string(object.UID), CreatedUnix: max(0, object.CreationTimestamp.Unix()),
		Template: pool.Template,
	}
	for _, problem := range pool.Invalid {
		problem = strings.NewReplacer("spec.template.spec.", "spec.", "spec.template.metadata.",
			"metadata.").Replace(problem)
		problem = strings.NewReplacer("a NodePool cannot require a NodePool",
			"a standalone NodeClaim belongs to no NodePool",
			"Remove the requirement: nodes of this NodePool have the label anyway.", "Remove the requirement.",
			"Remove it: it is set from the NodePool's name.",
			"Remove it: a standalone NodeClaim belongs to no NodePool.").Replace(problem)
		out.Invalid = append(out.Invalid, problem)
	}
	requests, problems := rounded(spec.Resources.Requests, "spec.resources.requests", roundUp)
	out.Requests, out.Invalid = requests, append(out.Invalid, problems...)
	return out
}

// standaloneLabels are the object's without what says the same as its spec.
func standaloneLabels(object *apiv1.NodeClaim) map[string]string {
	labels := maps.Clone(object.Labels)
	if labels[wellknown.LabelEC2NodeClass] == object.Spec.NodeClassRef.Name {
		delete(labels, wellknown.LabelEC2NodeClass)
	}
	return labels
}

// standaloneAnnotations are the object's without those that tools and controllers write for themselves, which a copy of
// another NodeClaim has too.
func standaloneAnnotations(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range annotations {
		domain, _, _ := strings.Cut(key, "/")
		own := domain == "karpenter.sh" && key != model.AnnotationNotDisrupt || domain == "kubectl.kubernetes.io" ||
			strings.HasSuffix(domain, "karpenter.k8s.aws") || strings.HasSuffix(domain, "joiner.sh")
		if !own {
			out[key] = value
		}
	}
	return out
}
