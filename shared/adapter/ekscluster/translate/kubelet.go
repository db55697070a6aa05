package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/kubeletv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of the condition ValidationSucceeded.
const (
	conditionValidation = "ValidationSucceeded"
	reasonInvalid       = "InvalidKubeletConfiguration"
	reasonUnsupported   = "UnsupportedKubeletConfiguration"
)

// complaints collects what is wrong with a kubelet configuration, all for one reason.
type complaints struct {
	reason string
	list   []model.ClassProblem
}

func (c *complaints) add(field string, value any, message, remedy string) {
	c.list = append(c.list, model.ClassProblem{
		Condition: conditionValidation, Reason: c.reason, Message: sentence(field, value, message, remedy),
	})
}

// unreadable adds what is wrong with the configuration as a whole.
func (c *complaints) unreadable(err error) {
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "json: "), "KubeletConfiguration.", "")
	c.list = append(c.list,
		model.ClassProblem{Condition: conditionValidation, Reason: c.reason, Message: "spec.kubelet: " + text +
			". Remedy: Correct the field, or leave it out; see KubeletConfiguration of kubelet.config.k8s.io/v1beta1."})
}

// kubelet returns the part of a kubelet configuration that changes what a node can hold, the whole of it as canonical
// JSON, and what is wrong with it: fields a kubelet does not know, values that mean nothing, and what nodes of the
// family cannot be configured with. A text as maxPods, and a reserved amount that is no quantity, are expressions; whether they
// are any is asked later.
func kubelet(config *awsv1.KubeletConfiguration, family awsv1.AMIFamily) (model.Kubelet, []model.ClassProblem) {
	wrong := complaints{reason: reasonInvalid}
	canonical, err := config.Canonical()
	if err != nil {
		wrong.unreadable(err)
		return model.Kubelet{}, wrong.list
	}
	if string(canonical) == "{}" {
		return model.Kubelet{}, nil
	}
	out := model.Kubelet{JSON: string(canonical)}
	fields, maxPodsExpr := written(config, canonical, &wrong)
	if wrong.list != nil {
		return out, wrong.list
	}
	out.MaxPodsExpr = maxPodsExpr
	out.MaxPods, out.PodsPerCore = int64(fields.MaxPods), int64(fields.PodsPerCore)
	out.EvictionHard = nonEmpty(fields.EvictionHard)
	out.KubeReserved, out.KubeReservedExpr = reserved("spec.kubelet.kubeReserved", fields.KubeReserved, &wrong)
	out.SystemReserved, out.SystemReservedExpr = reserved("spec.kubelet.systemReserved", fields.SystemReserved, &wrong)
	validate(fields, &wrong)
	return out, append(wrong.list, beyondFamily(canonical, fields, family)...)
}

// written reads the configuration as a kubelet of our version would, strictly; an expression as maxPods is taken out
// first.
func written(config *awsv1.KubeletConfiguration, canonical []byte,
	wrong *complaints) (fields *kubeletv1beta1.KubeletConfiguration, maxPodsExpr string) {
	text := config.Raw
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil {
		wrong.unreadable(err)
		return nil, ""
	}
	if err := json.Unmarshal(members["maxPods"], &maxPodsExpr); err == nil && maxPodsExpr != "" {
		delete(members, "maxPods")
		rest, err := json.Marshal(members)
		if err != nil {
			wrong.unreadable(err)
			return nil, ""
		}
		text = rest
	}
	fields = &kubeletv1beta1.KubeletConfiguration{}
	strict, err := kjson.UnmarshalStrict(text, fields)
	if err != nil {
		wrong.unreadable(err)
	}
	for _, problem := range strict {
		wrong.unreadable(problem)
	}
	if kind := fields.Kind; kind != "" && kind != kubeletv1beta1.Kind {
		wrong.add("spec.kubelet.kind", kind, "is not KubeletConfiguration", "Leave the field out.")
	}
	if version := fields.APIVersion; version != "" && version != kubeletv1beta1.APIVersion {
		wrong.add("spec.kubelet.apiVersion", version, "is not "+kubeletv1beta1.APIVersion, "Leave the field out.")
	}
	return fields, maxPodsExpr
}

// reservable are the resources a kubelet reserves.
var reservable = []string{"cpu", "ephemeral-storage", "memory", "pid"}

// reserved returns the amounts of a list of reserved resources, and the texts of those that are no quantity.
func reserved(field string, texts map[string]string, wrong *complaints) (model.Resources, map[string]string) {
	list, expressions := make(corev1.ResourceList, len(texts)), map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		at, text := fmt.Sprintf("%s[%s]", field, name), texts[name]
		q, err := resource.ParseQuantity(text)
		switch {
		case !slices.Contains(reservable, name):
			wrong.add(at, text, "only cpu, memory, ephemeral-storage and pid can be reserved", "Leave it out.")
		case strings.HasPrefix(text, "-"):
			wrong.add(at, text, "must not be below zero", "Write a quantity such as 100Mi.")
		case strings.TrimSpace(text) == "":
			wrong.add(at, text, "must be a quantity or an expression", "Write a quantity such as 100Mi.")
		case err != nil:
			expressions[name] = text
		default:
			list[corev1.ResourceName(name)] = q
		}
	}
	out, problems := amounts(list, field)
	for _, problem := range problems {
		wrong.list = append(wrong.list, model.ClassProblem{Condition: conditionValidation, Reason: wrong.reason,
			Message: problem + ". Remedy: Write a smaller quantity."})
	}
	if len(out) == 0 {
		out = nil
	}
	return out, nonEmpty(expressions)
}
