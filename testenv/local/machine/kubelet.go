package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// instanceIDNodeName is the feature gate that names Nodes after instances.
const instanceIDNodeName = "InstanceIdNodeName"

// kubelet is how the kubelet of an instance is set up.
type kubelet struct {
	nodeName string
	labels   map[string]string // of --node-labels
	config   kubeletconfig.KubeletConfiguration
	version  string // such as v1.36.3-eks-0000000

	providerID    string // "" = the cloud controller manager says it
	externalCloud bool   // it awaits that one
}

// configureKubelet does what nodeadm and then the kubelet do with a
// NodeConfig: the image's own settings, the document's over them, flags over
// both. The error is one at which the kubelet would not start.
func configureKubelet(i Instance, c NodeConfig) (kubelet, error) {
	k := kubelet{
		nodeName: i.PrivateDNSName, labels: map[string]string{}, providerID: i.providerID(), externalCloud: true,
	}
	if c.Spec.FeatureGates[instanceIDNodeName] {
		k.nodeName = i.ID
	}
	var err error
	if k.config, err = mergeKubeletConfig(imageKubeletConfig(i), c.Spec.Kubelet.Config); err != nil {
		return kubelet{}, fmt.Errorf("kubelet configuration: %w", err)
	}
	if err := k.applyFlags(c.Spec.Kubelet.Flags); err != nil {
		return kubelet{}, fmt.Errorf("kubelet flags: %w", err)
	}
	if err := k.validate(); err != nil {
		return kubelet{}, err
	}
	return k, nil
}

// imageKubeletConfig is what the image sets for an instance of a type.
func imageKubeletConfig(i Instance) kubeletconfig.KubeletConfiguration {
	return kubeletconfig.KubeletConfiguration{
		MaxPods: int32(i.ENIMaxPods),
		KubeReserved: map[string]string{
			"cpu":               fmt.Sprintf("%dm", reservedCPUMilli(i.VCPUs)),
			"memory":            fmt.Sprintf("%dMi", 11*i.ENIMaxPods+255),
			"ephemeral-storage": "1Gi",
		},
		EvictionHard: map[string]string{
			"memory.available":  "100Mi",
			"nodefs.available":  "10%",
			"nodefs.inodesFree": "5%",
		},
	}
}

// reservedCPUMilli is 6 % of the first core, 1 % of the second, 0.5 % of the
// next two and 0.25 % of all others, each part rounded down.
func reservedCPUMilli(cores int) int {
	reserved := 0
	for _, band := range []struct{ from, to, perTenThousand int }{
		{0, 1, 600}, {1, 2, 100}, {2, 4, 50}, {4, cores, 25},
	} {
		inBand := max(0, min(cores, band.to)-band.from)
		reserved += inBand * 1000 * band.perTenThousand / 10000
	}
	return reserved
}

// mergeKubeletConfig merges as a drop-in file is merged: a JSON merge patch.
func mergeKubeletConfig(base kubeletconfig.KubeletConfiguration, patch map[string]any) (kubeletconfig.KubeletConfiguration, error) {
	var merged kubeletconfig.KubeletConfiguration
	baseJSON, err := json.Marshal(base)
	if err != nil {
		return merged, err
	}
	if len(patch) == 0 {
		patch = map[string]any{}
	}
	patchJSON, err := json.Marshal(patch)
	if err != nil {
		return merged, err
	}
	mergedJSON, err := jsonpatch.MergePatch(baseJSON, patchJSON)
	if err != nil {
		return merged, err
	}
	err = json.Unmarshal(mergedJSON, &merged)
	return merged, err
}

// validate refuses what the kubelet refuses at its start.
func (k *kubelet) validate() error {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(k.labels)) {
		if isKubernetesLabel(key) && !kubeletapis.IsKubeletLabel(key) {
			unknown = append(unknown, key)
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("kubelet flag --node-labels: key %q: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(k.labels[key]); len(problems) > 0 {
			return fmt.Errorf("kubelet flag --node-labels: value %q of %s: %s", k.labels[key], key, strings.Join(problems, "; "))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("kubelet flag --node-labels: a kubelet may not set %s", strings.Join(unknown, ", "))
	}
	for signal := range k.config.EvictionSoft {
		if k.config.EvictionSoftGracePeriod[signal] == "" {
			return fmt.Errorf("kubelet configuration: evictionSoft %s has no evictionSoftGracePeriod", signal)
		}
	}
	if k.config.MaxPods < 0 {
		return errors.New("kubelet configuration: maxPods is negative")
	}
	return k.validateTaints()
}

func (k *kubelet) validateTaints() error {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	seen := map[corev1.Taint]bool{}
	for _, taint := range k.config.RegisterWithTaints {
		if problems := validation.IsQualifiedName(taint.Key); len(problems) > 0 {
			return fmt.Errorf("kubelet configuration: taint key %q: %s", taint.Key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(taint.Value); len(problems) > 0 {
			return fmt.Errorf("kubelet configuration: taint value %q of %s: %s", taint.Value, taint.Key, strings.Join(problems, "; "))
		}
		if !slices.Contains(effects, taint.Effect) {
			return fmt.Errorf("kubelet configuration: taint %s has the unknown effect %q", taint.Key, taint.Effect)
		}
		id := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
		if seen[id] {
			return fmt.Errorf("kubelet configuration: taint %s:%s is there twice", taint.Key, taint.Effect)
		}
		seen[id] = true
	}
	return nil
}

// isKubernetesLabel reports whether the key is in a namespace the project keeps.
func isKubernetesLabel(key string) bool {
	namespace, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	for _, kept := range []string{"kubernetes.io", "k8s.io"} {
		if namespace == kept || strings.HasSuffix(namespace, "."+kept) {
			return true
		}
	}
	return false
}
