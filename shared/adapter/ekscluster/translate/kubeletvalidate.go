package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/kubeletv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
)

// signals are what a kubelet evicts pods by, as far as node classes may set them.
var signals = []string{"imagefs.available", "imagefs.inodesFree", "memory.available", "nodefs.available",
	"nodefs.inodesFree", "pid.available"}

// validate adds what no kubelet, or no node of ours, can be given.
func validate(k *kubeletv1beta1.KubeletConfiguration, wrong *complaints) {
	if k.RegisterWithTaints != nil {
		wrong.add("spec.kubelet.registerWithTaints", len(k.RegisterWithTaints), "taints come from the NodePool",
			"Write them into spec.template.spec.taints of the NodePool.")
	}
	numbers := []struct {
		field string
		value int32
	}{{"maxPods", k.MaxPods}, {"podsPerCore", k.PodsPerCore}, {"evictionMaxPodGracePeriod",
		k.EvictionMaxPodGracePeriod}}
	for _, n := range numbers {
		if n.value < 0 {
			wrong.add("spec.kubelet."+n.field, n.value, "must not be below zero", "Write 0 or more.")
		}
	}
	validateThresholds("spec.kubelet.evictionHard", k.EvictionHard, wrong)
	validateThresholds("spec.kubelet.evictionSoft", k.EvictionSoft, wrong)
	validateThresholds("spec.kubelet.evictionMinimumReclaim", k.EvictionMinimumReclaim, wrong)
	validateGracePeriods(k, wrong)
	validateImageCollection(k, wrong)
	for i, address := range k.ClusterDNS {
		if _, err := netip.ParseAddr(address); err != nil {
			wrong.add(fmt.Sprintf("spec.kubelet.clusterDNS[%d]", i), address, "is not an IP address",
				"Write the address of the cluster's DNS service.")
		}
	}
}

func validateThresholds(field string, thresholds map[string]string, wrong *complaints) {
	for _, signal := range slices.Sorted(maps.Keys(thresholds)) {
		at, text := fmt.Sprintf("%s[%s]", field, signal), thresholds[signal]
		if !slices.Contains(signals, signal) {
			wrong.add(at, text, "no such signal", "Use "+strings.Join(signals, ", ")+".")
			continue
		}
		if percentage, is := strings.CutSuffix(text, "%"); is {
			if value, err := strconv.ParseFloat(percentage, 32); err != nil || !(value >= 0 && value <= 100) {
				wrong.add(at, text, "must be from 0% to 100%", "Write such a percentage, or a quantity.")
			}
			continue
		}
		if q, err := resource.ParseQuantity(text); err != nil || q.Sign() < 0 {
			wrong.add(at, text, "must be a quantity from 0 on, or a percentage", "Write one such as 100Mi or 5%.")
		}
	}
}

// validateGracePeriods looks at the soft thresholds and their periods, which go in pairs.
func validateGracePeriods(k *kubeletv1beta1.KubeletConfiguration, wrong *complaints) {
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, paired := k.EvictionSoftGracePeriod[signal]; !paired {
			wrong.add(fmt.Sprintf("spec.kubelet.evictionSoft[%s]", signal), k.EvictionSoft[signal],
				"has no grace period",
				"Write one into evictionSoftGracePeriod.")
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		at, text := fmt.Sprintf("spec.kubelet.evictionSoftGracePeriod[%s]", signal), k.EvictionSoftGracePeriod[signal]
		if _, paired := k.EvictionSoft[signal]; !paired {
			wrong.add(at, text, "has no threshold", "Write one into evictionSoft.")
		}
		if period, err := time.ParseDuration(text); err != nil || period < 0 {
			wrong.add(at, text, "must be a duration from 0 on", "Write one such as 1m30s.")
		}
	}
}

// validateImageCollection looks at the two percentages between which images are deleted.
func validateImageCollection(k *kubeletv1beta1.KubeletConfiguration, wrong *complaints) {
	high, low := k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent
	percentages := []struct {
		field string
		value *int32
	}{{"imageGCHighThresholdPercent", high}, {"imageGCLowThresholdPercent", low}}
	for _, p := range percentages {
		if p.value != nil && (*p.value < 0 || *p.value > 100) {
			wrong.add("spec.kubelet."+p.field, *p.value, "must be from 0 to 100", "Write such a percentage.")
		}
	}
	if high != nil && low != nil && *high <= *low {
		wrong.add("spec.kubelet.imageGCHighThresholdPercent", *high,
			fmt.Sprintf("must be above imageGCLowThresholdPercent, which is %d", *low),
			"Raise the one or lower the other.")
	}
}

// everywhere are the fields that nodes of every family are given.
var everywhere = []string{
	"clusterDNS", "cpuCFSQuota", "evictionHard", "evictionMaxPodGracePeriod", "evictionSoft", "evictionSoftGracePeriod",
	"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "kubeReserved", "maxPods", "podsPerCore",
	"systemReserved",
}

// beyondFamily returns what is asked for and nodes of the family cannot be given. AL2023 takes the whole configuration,
// and of Custom nothing is known.
func beyondFamily(canonical []byte, k *kubeletv1beta1.KubeletConfiguration,
	family awsv1.AMIFamily) []model.ClassProblem {
	if family == awsv1.FamilyAL2023 || family == awsv1.FamilyCustom {
		return nil
	}
	wrong := complaints{reason: reasonUnsupported}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil {
		return nil // said already
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		typed := name == "apiVersion" || name == "kind"
		if string(members[name]) != "null" && !typed && !slices.Contains(everywhere, name) {
			wrong.add("spec.kubelet."+name, string(members[name]),
				fmt.Sprintf("cannot be set on nodes of amiFamily %s", family),
				"Leave the field out, or use AL2023.")
		}
	}
	if family == awsv1.FamilyBottlerocket && k.PodsPerCore != 0 {
		wrong.add("spec.kubelet.podsPerCore", k.PodsPerCore, "Bottlerocket has no such setting", "Use maxPods.")
	}
	if len(k.ClusterDNS) > 1 {
		wrong.add("spec.kubelet.clusterDNS", len(k.ClusterDNS),
			fmt.Sprintf("nodes of amiFamily %s take one address", family),
			"Leave one address, or use AL2023.")
	}
	return wrong.list
}
