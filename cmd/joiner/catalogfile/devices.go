package catalogfile

import (
	"encoding/json"
	"fmt"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// slices reads what drivers publish on a node of the type, as model.InstanceType has it. The
// name of a pool without one, and how many slices it has, are filled in.
func (c *checker) slices(field string, written []resourceapi.ResourceSliceSpec) []string {
	count := make(map[string]int64)
	pool := func(s *resourceapi.ResourceSliceSpec) string { return s.Driver + "/" + s.Pool.Name }
	for i := range written {
		c.slice(fmt.Sprintf("%s[%d]", field, i), &written[i])
		if written[i].Pool.Name == "" {
			written[i].Pool.Name = written[i].Driver
		}
		count[pool(&written[i])]++
	}
	var out []string
	for i := range written {
		written[i].Pool.ResourceSliceCount = count[pool(&written[i])]
		text, err := json.Marshal(&written[i])
		if err != nil {
			c.problem(fmt.Sprintf("%s[%d]", field, i), "%v", err)
			continue
		}
		out = append(out, string(text))
	}
	return out
}

// slice checks one of them.
func (c *checker) slice(field string, s *resourceapi.ResourceSliceSpec) {
	if problems := validation.IsDNS1123Subdomain(s.Driver); len(problems) > 0 {
		c.problem(field+".driver", "%q: not the name of a driver; write one such as gpu.nvidia.com", s.Driver)
	}
	if s.NodeName != nil || s.NodeSelector != nil || s.AllNodes != nil || s.PerDeviceNodeSelection != nil {
		c.problem(field, "nodeName, nodeSelector, allNodes and perDeviceNodeSelection do not go here: the devices are "+
			"those of each node of the type; leave them out")
	}
	if len(s.Devices) == 0 && len(s.SharedCounters) == 0 {
		c.problem(field+".devices", "none; list the devices that the driver publishes, or leave the entry out")
	}
	if len(s.Devices) > 0 && len(s.SharedCounters) > 0 {
		c.problem(field, "has devices and sharedCounters; write an entry for each, with the same pool")
	}
	if len(s.Devices) > resourceapi.ResourceSliceMaxDevices {
		c.problem(field+".devices", "%d: at most %d go into one entry; write several with the same pool",
			len(s.Devices), resourceapi.ResourceSliceMaxDevices)
	}
	seen := make(map[string]bool)
	for i := range s.Devices {
		name, at := s.Devices[i].Name, fmt.Sprintf("%s.devices[%d].name", field, i)
		switch problems := validation.IsDNS1123Label(name); {
		case len(problems) > 0:
			c.problem(at, "%q: %s", name, strings.Join(problems, "; "))
		case seen[name]:
			c.problem(at, "%q: another device of the entry has the same name; rename one of them", name)
		}
		seen[name] = true
	}
}
