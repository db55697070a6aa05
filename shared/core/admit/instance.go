package admit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// plannedBy are the fields of a kubelet configuration that plans go by, whatever the kubelet does.
var plannedBy = []string{"evictionHard", "kubeReserved", "maxPods", "podsPerCore", "systemReserved"}

// customKubelet warns of a kubelet configuration beside amiFamily Custom, for which Joiner writes no user data.
func customKubelet(class *model.Class) []model.Finding {
	var fields map[string]json.RawMessage
	if class.Family != "Custom" || json.Unmarshal([]byte(class.Kubelet.JSON), &fields) != nil {
		return nil // without one there is no JSON
	}
	var planned, ignored []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(plannedBy, name) {
			planned = append(planned, name)
		} else {
			ignored = append(ignored, name)
		}
	}
	const alone = "amiFamily Custom: no kubelet is configured by it, and "
	const configure = "Configure the kubelet in spec.userData or in the image"
	var out []model.Finding
	if len(ignored) > 0 {
		out = append(out, model.Finding{Field: "spec.kubelet",
			Message: alone + "nothing goes by " + offering.AbbreviateValues(ignored),
			Remedy:  configure + ", and remove it here."})
	}
	if len(planned) > 0 {
		out = append(out, model.Finding{Field: "spec.kubelet",
			Message: alone + "plans go by " + offering.AbbreviateValues(planned),
			Remedy:  configure + " to the same."})
	}
	return out
}

// span is what EC2 takes for a number of a volume.
type span struct{ least, most int64 }

// What EC2 takes for each type of volume. Others have no such number. Source: "Amazon EBS volume types" in the EBS user
// guide.
var (
	iopsOf       = map[string]span{"gp3": {3_000, 80_000}, "io1": {100, 64_000}, "io2": {100, 256_000}}
	throughputOf = map[string]span{"gp3": {125, 2_000}}
)

// volumeWarnings warns of numbers that EC2 refuses for the type of a volume.
func volumeWarnings(devices []model.BlockDevice) []model.Finding {
	var out []model.Finding
	for i, d := range devices {
		field := fmt.Sprintf("spec.blockDeviceMappings[%d].ebs.", i)
		out = append(out, ofVolume(field+"iops", d.VolumeType, d.IOPS, iopsOf)...)
		out = append(out, ofVolume(field+"throughput", d.VolumeType, d.Throughput, throughputOf)...)
	}
	return out
}

func ofVolume(field, kind string, n int64, of map[string]span) []model.Finding {
	takes, has := of[kind]
	f := model.Finding{Field: field, Value: fmt.Sprint(n)}
	switch {
	case n == 0 || kind == "":
		return nil
	case !has:
		f.Message = "volumes of type " + kind + " have no such number: EC2 refuses the launch"
		f.Remedy = "Remove it, or choose " + offering.AbbreviateValues(slices.Sorted(maps.Keys(of))) + "."
	case n < takes.least || n > takes.most:
		f.Message = "EC2 refuses the launch of such a volume of type " + kind
		f.Remedy = fmt.Sprintf("Write %d to %d.", takes.least, takes.most)
	default:
		return nil
	}
	return []model.Finding{f}
}
