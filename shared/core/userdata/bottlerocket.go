package userdata

import (
	"encoding/base64"

	"github.com/pelletier/go-toml/v2"

	"github.com/joiner-sh/joiner/shared/fault"
)

// storageCommand is the name of the bootstrap command that makes an array of the local disks; commands run in the order
// of their names.
const storageCommand = "000-mount-instance-storage"

// storageDirs are what releases that do not choose for themselves must be set to move onto the array.
var storageDirs = []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"}

// renderBottlerocket returns the user's settings with ours laid over them. The document is written anew from what was
// read, so that no text of a user can reach beyond its own value. Source of the settings: bottlerocket.dev, API
// reference, settings.kubernetes and settings.bootstrap-commands.
func renderBottlerocket(in Input) ([]byte, error) {
	if err := in.needed(false); err != nil {
		return nil, err
	}
	k, err := readKubelet(in, "podsPerCore")
	if err != nil {
		return nil, err
	}
	document := map[string]any{}
	if err := toml.Unmarshal([]byte(in.Class.UserData), &document); err != nil {
		return nil, fault.Wrap(fault.Invalid, "InvalidUserData", err, "spec.userData of EC2NodeClass %s is not TOML; Bottlerocket reads nothing else", in.Class.Name)
	}
	settings, err := in.table(document, "settings", "settings")
	if err != nil {
		return nil, err
	}
	kubernetes, err := in.table(settings, "kubernetes", "settings.kubernetes")
	if err != nil {
		return nil, err
	}
	if err := layKubernetes(in, k, kubernetes); err != nil {
		return nil, err
	}
	if in.Class.InstanceStorePolicy == raid0 {
		commands, err := in.table(settings, "bootstrap-commands", "settings.bootstrap-commands")
		if err != nil {
			return nil, err
		}
		if commands[storageCommand], err = storage(in); err != nil {
			return nil, err
		}
	}
	text, err := toml.Marshal(document)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "InvalidUserData", err, "encode settings of EC2NodeClass %s", in.Class.Name)
	}
	return text, nil
}

// table returns the table of that name, made where it is missing. Invalid where something else has its place.
func (in Input) table(parent map[string]any, name, path string) (map[string]any, error) {
	if parent[name] == nil {
		parent[name] = map[string]any{}
	}
	table, ok := parent[name].(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "InvalidUserData", "%s in spec.userData of EC2NodeClass %s is not a table; write it as [%s]", path, in.Class.Name, path)
	}
	return table, nil
}

// layKubernetes sets what we know better. Labels of the user stay unless one of ours has their key; taints do not: only
// those of the claim are planned with.
func layKubernetes(in Input, k kubelet, settings map[string]any) error {
	settings["cluster-name"] = in.Cluster
	settings["api-server"] = in.Endpoint
	settings["cluster-certificate"] = base64.StdEncoding.EncodeToString(in.CA)
	labels, err := in.table(settings, "node-labels", "settings.kubernetes.node-labels")
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(labels) {
		if _, text := labels[key].(string); !text {
			return fault.New(fault.Invalid, "InvalidUserData",
				"settings.kubernetes.node-labels.%q in spec.userData of EC2NodeClass %s is not a text; put its value in quotes", key, in.Class.Name)
		}
	}
	for key, value := range nodeLabels(in) {
		labels[key] = value
	}
	byKey := map[string][]string{}
	for _, t := range taints(in) {
		byKey[t.Key] = append(byKey[t.Key], t.Value+":"+t.Effect)
	}
	settings["node-taints"] = byKey
	if k.MaxPods > 0 {
		settings["max-pods"] = k.MaxPods
	}
	if address := k.dns(); address != "" {
		settings["cluster-dns-ip"] = address
	}
	return layKubelet(in, k, settings)
}

// layKubelet sets the settings that stand for fields of spec.kubelet.
func layKubelet(in Input, k kubelet, settings map[string]any) error {
	for name, values := range map[string]map[string]string{
		"system-reserved": k.SystemReserved, "kube-reserved": k.KubeReserved,
		"eviction-hard": k.EvictionHard, "eviction-soft": k.EvictionSoft, "eviction-soft-grace-period": k.EvictionSoftGracePeriod,
	} {
		if len(values) > 0 {
			settings[name] = values
		}
	}
	for _, field := range []struct {
		name   string
		values map[string]string
	}{{"kubeReserved", k.KubeReserved}, {"systemReserved", k.SystemReserved}} {
		if _, has := field.values["pid"]; has {
			return fault.New(fault.Invalid, "UnsupportedKubeletConfiguration",
				"spec.kubelet.%s[pid] of EC2NodeClass %s cannot be set with amiFamily Bottlerocket, which takes cpu, memory and ephemeral-storage; remove it", field.name, in.Class.Name)
		}
	}
	if k.EvictionMaxPodGracePeriod != nil {
		settings["eviction-max-pod-grace-period"] = *k.EvictionMaxPodGracePeriod
	}
	for name, percent := range map[string]*int64{
		"image-gc-high-threshold-percent": k.ImageGCHighThresholdPercent, "image-gc-low-threshold-percent": k.ImageGCLowThresholdPercent,
	} {
		if percent != nil {
			settings[name] = count(percent) // a text in Bottlerocket's model
		}
	}
	if k.CPUCFSQuota != nil {
		settings["cpu-cfs-quota-enforced"] = *k.CPUCFSQuota
	}
	return nil
}

// storage is the bootstrap command that makes an array of the local disks and moves what pods write to onto it.
func storage(in Input) (map[string]any, error) {
	v, known := releaseOf(in)
	if known && v.less(firstWithCommands) {
		return nil, fault.New(fault.Invalid, "UnsupportedInstanceStorePolicy",
			"spec.instanceStorePolicy RAID0 of EC2NodeClass %s needs Bottlerocket %s or later, and its image is %s; select a later one, or remove the policy",
			in.Class.Name, firstWithCommands, v)
	}
	bind := []string{"apiclient", "ephemeral-storage", "bind"}
	if !known || v.less(firstWithDefaultDirs) {
		bind = append(append(bind, "--dirs"), storageDirs...)
	}
	return map[string]any{
		"commands": [][]string{{"apiclient", "ephemeral-storage", "init"}, bind}, "mode": "always", "essential": true,
	}, nil
}
