package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

// answer is what `joiner plan provision -o json` prints, as far as a comparison reads it.
type answer struct {
	Claims        []claim       `json:"claims"`
	Nominations   []nomination  `json:"nominations"`
	Unschedulable []unscheduled `json:"unschedulable"`
	PricePerHour  float64       `json:"pricePerHour"`
	Stats         stats         `json:"stats"`
}

type claim struct {
	Name          string   `json:"name"`
	NodePool      string   `json:"nodePool"`
	InstanceTypes []string `json:"instanceTypes"`
	Offering      offering `json:"offer"`
	Zones         []string `json:"zones"`
	CapacityTypes []string `json:"capacityTypes"`
	Pods          []string `json:"pods"`
}

type offering struct {
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
}

type nomination struct {
	Node string   `json:"node"`
	Pods []string `json:"pods"`
}

type unscheduled struct {
	Pod     string   `json:"pod"`
	Reasons []reason `json:"reasons"`
}

type reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type stats struct {
	Pods        int     `json:"pods"`
	PlanSeconds float64 `json:"planSeconds"`
	AllocBytes  uint64  `json:"allocBytes"`
	AllocCount  uint64  `json:"allocCount"`
	PeakBytes   uint64  `json:"peakBytes"`
}

// answerOf writes the scheduler's results. A waiting pod that is neither placed nor refused was not reached in time.
func answerOf(results scheduling.Results, waiting []*corev1.Pod) *answer {
	a := &answer{}
	reported := map[string]bool{}
	names := func(pods []*corev1.Pod) []string {
		var out []string
		for _, pod := range pods {
			name := pod.Namespace + "/" + pod.Name
			reported[name] = true
			out = append(out, name)
		}
		return out
	}
	for i, made := range results.NewNodeClaims {
		c := claimOfResult(made)
		c.Name, c.Pods = fmt.Sprintf("claim-%d", i), names(made.Pods)
		a.PricePerHour += c.Offering.PricePerHour
		a.Claims = append(a.Claims, c)
	}
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			a.Nominations = append(a.Nominations, nomination{node.Name(), names(node.Pods)})
		}
	}
	for pod, err := range results.PodErrors {
		name := names([]*corev1.Pod{pod})[0]
		a.Unschedulable = append(a.Unschedulable, unscheduled{name, []reason{{"Refused", err.Error()}}})
	}
	for _, pod := range waiting {
		if name := pod.Namespace + "/" + pod.Name; !reported[name] {
			a.Unschedulable = append(a.Unschedulable, unscheduled{name, []reason{{"Timeout", "not reached before the timeout"}}})
		}
	}
	slices.SortFunc(a.Unschedulable, func(x, y unscheduled) int { return strings.Compare(x.Pod, y.Pod) })
	return a
}

// claimOfResult lists what a new node may become, cheapest first, and its cheapest offer.
func claimOfResult(made *scheduling.NodeClaim) claim {
	c := claim{NodePool: made.NodePoolName, Offering: offering{PricePerHour: math.Inf(1)}}
	zones, capacityTypes := map[string]bool{}, map[string]bool{}
	prices := map[string]float64{}
	for _, t := range made.InstanceTypeOptions {
		prices[t.Name] = math.Inf(1)
		c.InstanceTypes = append(c.InstanceTypes, t.Name)
		for _, o := range t.Offerings {
			if !o.Available || !made.Requirements.IsCompatible(o.Requirements, requirements.AllowUndefinedWellKnownLabels) {
				continue
			}
			zones[o.Zone()], capacityTypes[o.CapacityType()] = true, true
			prices[t.Name] = min(prices[t.Name], o.Price)
			if o.Price < c.Offering.PricePerHour {
				c.Offering = offering{t.Name, o.Zone(), o.CapacityType(), o.Price}
			}
		}
	}
	slices.SortStableFunc(c.InstanceTypes, func(a, b string) int { return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(a, b)) })
	c.Zones = allowed(made, corev1.LabelTopologyZone, zones)
	c.CapacityTypes = allowed(made, karpv1.CapacityTypeLabelKey, capacityTypes)
	return c
}

// allowed returns which of the values found the claim accepts, sorted.
func allowed(made *scheduling.NodeClaim, key string, found map[string]bool) []string {
	var out []string
	for value := range found {
		if made.Requirements.Get(key).Has(value) {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return out
}

// cpuSeconds returns the processor time the process has used so far.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6
}

// resetPeak starts a new count of the process's peak memory, where the system can.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakBytes returns the most memory the process had resident since resetPeak; 0 where the system does not tell.
func peakBytes() uint64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}
