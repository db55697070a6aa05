package machine

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// settingsDocument is user data of Bottlerocket. Settings that have no bearing on
// the Node are read over.
type settingsDocument struct {
	Settings map[string]any `toml:"settings"`
}

// kubernetesSettings are the names in settings.kubernetes. The image refuses the
// whole document where there is another.
var kubernetesSettings = strings.Fields(`
	allowed-unsafe-sysctls api-server authentication-mode bootstrap-token cloud-provider cluster-certificate cluster-dns-ip
	cluster-domain cluster-name container-log-max-files container-log-max-size container-log-max-workers
	container-log-monitor-interval cpu-cfs-quota-enforced cpu-manager-policy cpu-manager-policy-options
	cpu-manager-reconcile-period credential-providers device-ownership-from-security-context event-burst event-qps
	eviction-hard eviction-max-pod-grace-period eviction-soft eviction-soft-grace-period hostname-override
	hostname-override-source ids-per-pod image-gc-high-threshold-percent image-gc-low-threshold-percent image-maximum-gc-age
	image-minimum-gc-age kube-api-burst kube-api-qps kube-reserved log-level max-parallel-image-pulls max-pods
	memory-manager-policy memory-manager-reserved-memory memory-swap-behavior node-ip node-labels node-taints
	pod-infra-container-image pod-pids-limit provider-id registry-burst registry-qps reserved-cpus seccomp-default
	server-certificate server-key server-tls-bootstrap shutdown-grace-period shutdown-grace-period-for-critical-pods
	single-process-oom-kill standalone-mode static-pods static-pods-enabled system-reserved topology-manager-policy
	topology-manager-policy-options topology-manager-scope`)

// readSettings does what Bottlerocket does with its user data: TOML, checked as
// a whole, laid over the image's settings. addressable is how many pods the
// instance's network interfaces can address.
func readSettings(data []byte, addressable int, release string) (NodeConfig, error) {
	if len(data) > maxUserDataBytes {
		return NodeConfig{}, fmt.Errorf("user data has %d bytes, EC2 allows %d", len(data), maxUserDataBytes)
	}
	var document settingsDocument
	if err := toml.Unmarshal(data, &document); err != nil {
		return NodeConfig{}, fmt.Errorf("user data is no TOML: %w", err)
	}
	k, ok := document.Settings["kubernetes"].(map[string]any)
	if !ok {
		return NodeConfig{}, errors.New("user data has no settings.kubernetes")
	}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if !slices.Contains(kubernetesSettings, name) {
			return NodeConfig{}, fmt.Errorf("there is no setting settings.kubernetes.%s", name)
		}
	}
	c, err := settingsConfig(addressable, table{k, "settings.kubernetes"})
	if err != nil {
		return NodeConfig{}, err
	}
	array, err := arrayOf(document.Settings["bootstrap-commands"], release)
	if array {
		c.Spec.Instance.LocalStorage.Strategy = "RAID0"
	}
	return c, err
}

// table is a table of settings; its readers keep the first error.
type table struct {
	values map[string]any
	path   string
}

func (t table) text(name string) (string, error) {
	value, set := t.values[name]
	text, ok := value.(string)
	if set && !ok {
		return "", fmt.Errorf("%s.%s is not a text", t.path, name)
	}
	return text, nil
}

// texts returns a table of texts whose names must be among those given, any where none are.
func (t table) texts(name string, allowed ...string) (map[string]string, error) {
	value, set := t.values[name]
	if !set {
		return nil, nil
	}
	values, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s is not a table", t.path, name)
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[key].(string)
		if !ok {
			return nil, fmt.Errorf("%s.%s.%q is not a text", t.path, name, key)
		}
		if len(allowed) > 0 && !slices.Contains(allowed, key) {
			return nil, fmt.Errorf("%s.%s has no %q", t.path, name, key)
		}
		out[key] = text
	}
	return out, nil
}

func settingsConfig(addressable int, t table) (NodeConfig, error) {
	var c NodeConfig
	var errs [5]error
	c.Spec.Cluster.Name, errs[0] = t.text("cluster-name")
	c.Spec.Cluster.APIServerEndpoint, errs[1] = t.text("api-server")
	certificate, err := t.text("cluster-certificate")
	errs[2] = err
	c.Spec.Cluster.CertificateAuthority, errs[3] = base64.StdEncoding.DecodeString(certificate)
	c.Spec.Kubelet.Config, errs[4] = settingsKubelet(addressable, t)
	labels, err := t.texts("node-labels")
	if err := errors.Join(append(errs[:], err)...); err != nil {
		return NodeConfig{}, err
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	if len(pairs) > 0 {
		c.Spec.Kubelet.Flags = []string{"--node-labels=" + strings.Join(pairs, ",")}
	}
	return c, nil
}

// settingsKubelet is the kubelet configuration the image writes: what is set over
// its own, which reserves by the number of pods in force.
func settingsKubelet(addressable int, t table) (map[string]any, error) {
	maxPods := int64(addressable)
	if value, set := t.values["max-pods"]; set {
		number, ok := value.(int64)
		if !ok || number < 0 {
			return nil, fmt.Errorf("%s.max-pods %v is not a number of pods", t.path, value)
		}
		maxPods = number
	}
	config := map[string]any{
		"maxPods":      maxPods,
		"kubeReserved": map[string]any{"memory": fmt.Sprintf("%dMi", 11*maxPods+255)},
	}
	for setting, field := range map[string]string{"kube-reserved": "kubeReserved", "system-reserved": "systemReserved"} {
		amounts, err := t.texts(setting, "cpu", "memory", "ephemeral-storage")
		if err != nil {
			return nil, err
		}
		into, _ := config[field].(map[string]any)
		if into == nil {
			into = map[string]any{}
		}
		for name, amount := range amounts {
			into[name] = amount
		}
		config[field] = into
	}
	for setting, field := range map[string]string{
		"eviction-hard": "evictionHard", "eviction-soft": "evictionSoft", "eviction-soft-grace-period": "evictionSoftGracePeriod",
	} {
		signals, err := t.texts(setting, "memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "pid.available")
		if err != nil {
			return nil, err
		}
		if signals == nil {
			continue
		}
		into := map[string]any{}
		if field == "evictionHard" { // takes the place of all defaults
			into = map[string]any{"memory.available": nil, "nodefs.available": nil, "nodefs.inodesFree": nil}
		}
		for name, value := range signals {
			into[name] = value
		}
		config[field] = into
	}
	taints, err := settingsTaints(t)
	if taints != nil {
		config["registerWithTaints"] = taints
	}
	return config, err
}

// settingsTaints reads taints: by key, value:effect.
func settingsTaints(t table) ([]any, error) {
	value, set := t.values["node-taints"]
	if !set {
		return nil, nil
	}
	byKey, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s.node-taints is not a table", t.path)
	}
	var out []any
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		list, ok := byKey[key].([]any)
		if !ok {
			return nil, fmt.Errorf("%s.node-taints.%q is not a list", t.path, key)
		}
		for _, one := range list {
			text, _ := one.(string)
			value, effect, ok := strings.Cut(text, ":")
			if !ok {
				return nil, fmt.Errorf("%s.node-taints.%q: %v is not value:effect", t.path, key, one)
			}
			out = append(out, map[string]any{"key": key, "value": value, "effect": effect})
		}
	}
	return out, nil
}

// arrayOf reports whether bootstrap commands make an array of the local disks
// and move what pods write to onto it. Before release 1.46 bind must be told
// what to move. The error is one at which an essential command halts the boot.
func arrayOf(section any, release string) (bool, error) {
	commands, _ := section.(map[string]any)
	var made, moved bool
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		command, _ := commands[name].(map[string]any)
		if command["mode"] == "off" {
			continue
		}
		lines, _ := command["commands"].([]any)
		for _, line := range lines {
			var words []string
			list, _ := line.([]any)
			for _, word := range list {
				words = append(words, fmt.Sprint(word))
			}
			if len(words) < 3 || words[0] != "apiclient" || words[1] != "ephemeral-storage" {
				continue
			}
			switch {
			case words[2] == "init":
				made = true
			case words[2] == "bind" && !made:
				return false, fmt.Errorf("bootstrap command %s binds disks before they are made an array", name)
			case words[2] == "bind" && len(words) == 3 && !choosesDirs(release):
				return false, fmt.Errorf("bootstrap command %s does not say what to bind, which Bottlerocket %s must be told", name, release)
			case words[2] == "bind":
				moved = len(words) == 3 || words[3] == "--dirs" && slices.Contains(words, "/var/lib/kubelet") && slices.Contains(words, "/var/lib/containerd")
			}
		}
	}
	return made && moved, nil
}

// choosesDirs reports whether a release, such as v1.50.0-1a2b3c4d, is 1.46 or later.
func choosesDirs(release string) bool {
	parts := strings.Split(strings.TrimPrefix(release, "v"), ".")
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > 1 || major == 1 && minor >= 46)
}
