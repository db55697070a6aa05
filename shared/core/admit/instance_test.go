package admit

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func createClass(change func(*model.Class)) model.Verdict {
	class := readyClass("default")
	change(&class)
	return Evaluate(model.Admission{Operation: model.OperationCreate, Class: &class}, known())
}

// M63: tags that only Joiner or AWS sets are refused, and numbers that EC2 refuses for a volume are warned of.
func TestM63WhatEC2RefusesOfAClassIsSaidBefore(t *testing.T) {
	for _, key := range []string{"joiner.sh/intent", "aws:foo"} {
		v := createClass(func(c *model.Class) { c.Tags = map[string]string{key: "x"} })
		said(t, v.Refusals, "spec.tags["+key+"]", "Remedy: Remove it.")
	}
	const at = "spec.blockDeviceMappings[1].ebs."
	volume := func(kind string, iops, throughput int64) model.BlockDevice {
		return model.BlockDevice{VolumeType: kind, IOPS: iops, Throughput: throughput}
	}
	for name, c := range map[string]struct {
		volume model.BlockDevice
		begins string // "" = nothing is said
		parts  []string
	}{
		"io2 with throughput": {volume("io2", 1000, 250), at + `throughput: "250"`, []string{"io2 have no such"}},
		"gp3 beyond EC2":      {volume("gp3", 999_999, 0), at + `iops: "999999"`, []string{"Write 3000 to 80000."}},
		"gp3 below EC2":       {volume("gp3", 0, 1), at + `throughput: "1"`, []string{"Write 125 to 2000."}},
		"gp2 with iops":       {volume("gp2", 3000, 0), at + `iops: "3000"`, []string{"gp3, io1, io2"}},
		"gp3 at its most":     {volume("gp3", 80_000, 2_000), "", nil},
		"io1 at its least":    {volume("io1", 100, 0), "", nil},
		"zero is unset":       {volume("sc1", 0, 0), "", nil},
		"no type":             {volume("", 7, 0), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := createClass(func(m *model.Class) { m.BlockDevices = []model.BlockDevice{{}, c.volume} })
			if c.begins == "" {
				silent(t, append(v.Warnings, v.Refusals...), "blockDeviceMappings")
			} else {
				said(t, v.Warnings, c.begins, c.parts...)
			}
		})
	}
}

// M64: with amiFamily Custom no kubelet is configured. One warning names what plans go by, another what nothing does.
func TestM64KubeletOfCustomIsWarnedOf(t *testing.T) {
	custom := func(family, config string) []model.Finding {
		v := createClass(func(c *model.Class) { c.Family, c.UserData, c.Kubelet.JSON = family, "join", config })
		return append(v.Warnings, v.Refusals...)
	}
	both := `{"clusterDNS":["10.0.0.10"],"maxPods":20}`
	said(t, custom("Custom", both), "spec.kubelet: amiFamily Custom", "nothing goes by clusterDNS", "spec.userData")
	said(t, custom("Custom", both), "spec.kubelet: amiFamily Custom", "plans go by maxPods", "to the same")
	silent(t, custom("Custom", `{"maxPods":20}`), "nothing goes by")
	silent(t, custom("Custom", `{"cpuCFSQuota":true}`), "plans go by")
	silent(t, custom("Custom", ""), "spec.kubelet")
	silent(t, custom("AL2023", both), "spec.kubelet")
}
