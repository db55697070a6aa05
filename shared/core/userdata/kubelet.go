package userdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/fault"
)

// kubelet is the part of a kubelet configuration that can be said to instances of every family.
type kubelet struct {
	ClusterDNS                  []string          `json:"clusterDNS"`
	PodsPerCore                 *int64            `json:"podsPerCore"`
	SystemReserved              map[string]string `json:"systemReserved"`
	KubeReserved                map[string]string `json:"kubeReserved"`
	EvictionHard                map[string]string `json:"evictionHard"` // signal → threshold
	EvictionSoft                map[string]string `json:"evictionSoft"`
	EvictionSoftGracePeriod     map[string]string `json:"evictionSoftGracePeriod"`
	EvictionMaxPodGracePeriod   *int64            `json:"evictionMaxPodGracePeriod"` // seconds
	ImageGCHighThresholdPercent *int64            `json:"imageGCHighThresholdPercent"`
	ImageGCLowThresholdPercent  *int64            `json:"imageGCLowThresholdPercent"`
	CPUCFSQuota                 *bool             `json:"cpuCFSQuota"`
	MaxPods                     int64             `json:"-"` // 0 = the node's own default
}

// everyFamily names the fields of kubelet as people write them.
var everyFamily = []string{
	"clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft", "evictionSoftGracePeriod",
	"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "kubeReserved", "maxPods", "podsPerCore", "systemReserved",
}

// kubeletMap returns the user's kubelet map with what we know better laid over it: the number of pods, what is
// reserved, the address of DNS where the user names none. Numbers stay as they were written. Never nil.
func kubeletMap(in Input) (map[string]any, error) {
	config := map[string]any{}
	if text := in.Class.Kubelet.JSON; text != "" {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&config); err != nil {
			return nil, fault.Wrap(fault.Invalid, "InvalidKubeletConfiguration", err, "spec.kubelet of EC2NodeClass %s is not an object", in.Class.Name)
		}
		if config == nil { // null
			config = map[string]any{}
		}
	}
	if in.MaxPods > 0 {
		config["maxPods"] = in.MaxPods
	}
	if text, expression := config["maxPods"].(string); expression {
		return nil, fault.New(fault.Invalid, "InvalidKubeletConfiguration",
			"spec.kubelet.maxPods %q of EC2NodeClass %s is not a number, and its value on an instance type is unknown; write a number", text, in.Class.Name)
	}
	for _, field := range []struct {
		name     string
		resolved map[string]string
	}{{"kubeReserved", in.KubeReserved}, {"systemReserved", in.SystemReserved}} {
		if err := layReserved(in.Class.Name, config, field.name, field.resolved); err != nil {
			return nil, err
		}
	}
	if _, own := config["clusterDNS"]; !own && in.ClusterDNS != "" {
		config["clusterDNS"] = []string{in.ClusterDNS}
	}
	return config, nil
}

// layReserved puts resolved amounts over those of a field, and refuses what is no quantity then: the kubelet would not
// start with it.
func layReserved(class string, config map[string]any, field string, resolved map[string]string) error {
	amounts, _ := config[field].(map[string]any)
	if config[field] != nil && amounts == nil {
		return fault.New(fault.Invalid, "InvalidKubeletConfiguration", "spec.kubelet.%s of EC2NodeClass %s is not an object; write amounts by resource", field, class)
	}
	if len(resolved) > 0 && amounts == nil {
		amounts = map[string]any{}
	}
	for name, amount := range resolved {
		amounts[name] = amount
	}
	for _, name := range sortedKeys(amounts) {
		text, ok := amounts[name].(string)
		if ok {
			_, err := resource.Parse(name, text)
			ok = err == nil
		}
		if !ok {
			return fault.New(fault.Invalid, "InvalidKubeletConfiguration",
				"spec.kubelet.%s[%s] %v of EC2NodeClass %s is not a quantity, and its value on an instance type is unknown; write a quantity such as 100Mi",
				field, name, amounts[name], class)
		}
	}
	if amounts != nil {
		config[field] = amounts
	}
	return nil
}

// readKubelet returns the kubelet configuration for a family that takes the common fields only, less those it names.
// Invalid where another is set: it would be planned with and never reach the node.
func readKubelet(in Input, less ...string) (kubelet, error) {
	config, err := kubeletMap(in)
	if err != nil {
		return kubelet{}, err
	}
	for _, name := range sortedKeys(config) {
		if name == "kind" || name == "apiVersion" || slices.Contains(less, name) && fmt.Sprint(config[name]) == "0" {
			delete(config, name) // says nothing
			continue
		}
		if !slices.Contains(everyFamily, name) || slices.Contains(less, name) {
			return kubelet{}, fault.New(fault.Invalid, "UnsupportedKubeletConfiguration",
				"spec.kubelet.%s of EC2NodeClass %s cannot be set with amiFamily %s; remove it, or use AL2023", name, in.Class.Name, in.Class.Family)
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return kubelet{}, fault.Wrap(fault.Invalid, "InvalidKubeletConfiguration", err, "encode spec.kubelet of EC2NodeClass %s", in.Class.Name)
	}
	var fields struct {
		kubelet
		MaxPods int64 `json:"maxPods"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&fields); err != nil {
		return kubelet{}, fault.Wrap(fault.Invalid, "InvalidKubeletConfiguration", err, "spec.kubelet of EC2NodeClass %s; give each field the type it has in a KubeletConfiguration", in.Class.Name)
	}
	out := fields.kubelet
	out.MaxPods = fields.MaxPods
	if len(out.ClusterDNS) > 1 {
		return kubelet{}, fault.New(fault.Invalid, "UnsupportedKubeletConfiguration",
			"spec.kubelet.clusterDNS of EC2NodeClass %s has %d addresses, and amiFamily %s takes one; leave one, or use AL2023", in.Class.Name, len(out.ClusterDNS), in.Class.Family)
	}
	return out, nil
}

// dns returns the address of cluster DNS, "" for the node's own default.
func (k kubelet) dns() string {
	if len(k.ClusterDNS) == 0 {
		return ""
	}
	return k.ClusterDNS[0]
}

// flags returns the kubelet's command line, sorted sets inside, flags in a fixed order. Invalid where a value could end
// the argument the line stands in.
func (k kubelet) flags(in Input) (string, error) {
	flags := []struct{ name, value string }{
		{"node-labels", pairs(nodeLabels(in), "=")},
		{"register-with-taints", taintFlag(in)},
		{"max-pods", number(&k.MaxPods)},
		{"pods-per-core", number(k.PodsPerCore)},
		{"system-reserved", pairs(k.SystemReserved, "=")},
		{"kube-reserved", pairs(k.KubeReserved, "=")},
		{"eviction-hard", pairs(k.EvictionHard, "<")},
		{"eviction-soft", pairs(k.EvictionSoft, "<")},
		{"eviction-soft-grace-period", pairs(k.EvictionSoftGracePeriod, "=")},
		{"eviction-max-pod-grace-period", number(k.EvictionMaxPodGracePeriod)},
		{"image-gc-high-threshold", count(k.ImageGCHighThresholdPercent)},
		{"image-gc-low-threshold", count(k.ImageGCLowThresholdPercent)},
		{"cpu-cfs-quota", boolean(k.CPUCFSQuota)},
	}
	var line []string
	for _, f := range flags {
		if f.value == "" {
			continue
		}
		if err := in.checkPlain("kubelet flag --"+f.name, f.value); err != nil {
			return "", err
		}
		line = append(line, "--"+f.name+"="+f.value)
	}
	return strings.Join(line, " "), nil
}

// taintFlag writes the taints a node registers with, as --register-with-taints takes them.
func taintFlag(in Input) string {
	var texts []string
	for _, t := range taints(in) {
		text := t.Key + ":" + t.Effect
		if t.Value != "" {
			text = t.Key + "=" + t.Value + ":" + t.Effect
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

// number writes a number that 0 leaves unset.
func number(n *int64) string {
	if n == nil || *n == 0 {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// count writes a number of which 0 says something.
func count(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func boolean(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func sortedKeys(table map[string]any) []string { return slices.Sorted(maps.Keys(table)) }
