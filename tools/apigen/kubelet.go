package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// signals are what thresholds of eviction are about, and reserved what is kept for the system. Source:
// KubeletConfiguration of kubelet.config.k8s.io/v1beta1, as far as Karpenter's EC2NodeClass takes it.
var (
	signals = []string{"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
		"imagefs.inodesFree", "pid.available"}
	reserved = []string{"cpu", "memory", "ephemeral-storage", "pid"}
)

// threshold is a percentage or a quantity.
const threshold = `^(([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%|[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)` +
	`([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?)?$`

// describeKubelet says of some fields of a kubelet configuration, which may have any, what they may hold. Numbers that
// may be expressions have no type.
func describeKubelet(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{
		"evictionHard": amounts(
			"EvictionHard are the thresholds at which pods are evicted at once", threshold, keysOf(signals)),
		"evictionSoft": amounts(
			"EvictionSoft are the thresholds at which pods are evicted after a while", threshold, keysOf(signals)),
		"evictionSoftGracePeriod": amounts(
			"EvictionSoftGracePeriod are the grace periods of EvictionSoft", "", keysOf(signals)),
		"kubeReserved": amounts(
			"KubeReserved is kept for Kubernetes' own components", "", keysOf(reserved), notNegative),
		"systemReserved": amounts(
			"SystemReserved is kept for the operating system", "", keysOf(reserved), notNegative),
		"imageGCHighThresholdPercent": percentage(
			"ImageGCHighThresholdPercent of the disk in use is when images are deleted"),
		"imageGCLowThresholdPercent": percentage(
			"ImageGCLowThresholdPercent of the disk in use is when no more images are deleted"),
	}
	schema.XValidations = apiextensionsv1.ValidationRules{
		{
			Rule: "!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || " +
				"self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",
			Message: "imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent",
		},
		paired("evictionSoft", "evictionSoftGracePeriod"),
		paired("evictionSoftGracePeriod", "evictionSoft"),
	}
}

// amounts is a map of texts.
func amounts(what, pattern string, rules ...apiextensionsv1.ValidationRule) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: what + ".", XValidations: rules,
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
			Schema: &apiextensionsv1.JSONSchemaProps{Type: "string", Pattern: pattern},
		},
	}
}

func percentage(what string) apiextensionsv1.JSONSchemaProps {
	least, most := 0.0, 100.0
	return apiextensionsv1.JSONSchemaProps{
		Type: "integer", Format: "int32", Description: what + ".", Minimum: &least, Maximum: &most,
	}
}

func keysOf(names []string) apiextensionsv1.ValidationRule {
	list := "'" + strings.Join(names, "', '") + "'"
	return apiextensionsv1.ValidationRule{
		Rule: "self.all(key, key in [" + list + "])", Message: "valid keys are " + strings.Join(names, ", "),
	}
}

// notNegative holds of quantities and of expressions.
var notNegative = apiextensionsv1.ValidationRule{
	Rule: "self.all(key, !self[key].startsWith('-'))", Message: "an amount must not be negative",
}

// paired requires of each key of a map that another map has it.
func paired(one, other string) apiextensionsv1.ValidationRule {
	return apiextensionsv1.ValidationRule{
		Rule:    fmt.Sprintf("!has(self.%s) || has(self.%s) && self.%[1]s.all(key, key in self.%[2]s)", one, other),
		Message: fmt.Sprintf("each key of %s must be in %s", one, other),
	}
}
