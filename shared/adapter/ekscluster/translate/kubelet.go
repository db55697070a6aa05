package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/model"
)

// kubelet returns the part of a kubelet configuration that changes what a node can hold, the whole of it as canonical
// JSON, and a sentence for each field that cannot be honoured. Expressions (a text as maxPods, or a reserved amount that
// is no quantity) are not built.
func kubelet(config *awsv1.KubeletConfiguration) (model.Kubelet, []string) {
	canonical, err := config.Canonical()
	if err != nil {
		return model.Kubelet{}, []string{sentence("spec.kubelet", "", err.Error(), "Write it as an object with the fields of a KubeletConfiguration.")}
	}
	if string(canonical) == "{}" {
		return model.Kubelet{}, nil
	}
	var fields struct {
		MaxPods        json.RawMessage   `json:"maxPods"`
		PodsPerCore    int64             `json:"podsPerCore"`
		KubeReserved   map[string]string `json:"kubeReserved"`
		SystemReserved map[string]string `json:"systemReserved"`
		EvictionHard   map[string]string `json:"evictionHard"`
	}
	if err := config.Decode(&fields); err != nil {
		return model.Kubelet{}, []string{sentence("spec.kubelet", "", err.Error(), "Give each field the type it has in a KubeletConfiguration.")}
	}
	out := model.Kubelet{JSON: string(canonical), PodsPerCore: fields.PodsPerCore, EvictionHard: nonEmpty(fields.EvictionHard)}
	var problems []string
	if fields.PodsPerCore < 0 || fields.PodsPerCore > math.MaxInt32 {
		problems = append(problems, sentence("spec.kubelet.podsPerCore", fields.PodsPerCore, "must be from 0 to 2147483647", "Write such a number."))
		out.PodsPerCore = 0
	}
	if len(fields.MaxPods) > 0 && string(fields.MaxPods) != "null" {
		if err := json.Unmarshal(fields.MaxPods, &out.MaxPods); err != nil || out.MaxPods < 0 || out.MaxPods > math.MaxInt32 {
			problems = append(problems, sentence("spec.kubelet.maxPods", string(fields.MaxPods), "must be a whole number; expressions are not supported yet", "Write a number."))
			out.MaxPods = 0
		}
	}
	var more []string
	out.KubeReserved, more = reserved("spec.kubelet.kubeReserved", fields.KubeReserved)
	problems = append(problems, more...)
	out.SystemReserved, more = reserved("spec.kubelet.systemReserved", fields.SystemReserved)
	return out, append(problems, more...)
}

func reserved(field string, texts map[string]string) (model.Resources, []string) {
	list := make(corev1.ResourceList, len(texts))
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		q, err := resource.ParseQuantity(texts[name])
		if err != nil {
			problems = append(problems, sentence(fmt.Sprintf("%s[%s]", field, name), texts[name], "must be a quantity; expressions are not supported yet", "Write a quantity such as 100Mi."))
			continue
		}
		list[corev1.ResourceName(name)] = q
	}
	out, more := amounts(list, field)
	if len(out) == 0 {
		out = nil
	}
	return out, append(problems, more...)
}
