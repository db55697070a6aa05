package crds_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
)

const minimalClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
`

func images(terms string) string  { return "spec: {amiSelectorTerms: " + terms + "}" }
func devices(list string) string  { return "spec: {blockDeviceMappings: " + list + "}" }
func network(list string) string  { return "spec: {networkInterfaces: " + list + "}" }
func metadata(spec string) string { return "spec: {metadataOptions: " + spec + "}" }

func TestNC12MetadataOptionsAreStoredWithDefaults(t *testing.T) {
	k := newServer(t)["EC2NodeClass"]
	want := object{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": int64(1), "httpTokens": "required"}
	for name, patch := range map[string]string{"NC-12 absent": "{}", "NC-12 empty": metadata("{}")} {
		t.Run(name, func(t *testing.T) {
			stored, errs := k.admit(t, merged(t, minimalClass, patch), nil)
			if len(errs) > 0 {
				t.Fatalf("refused: %v", errs)
			}
			spec, _ := stored["spec"].(object)
			got, _ := spec["metadataOptions"].(object)
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("metadataOptions = %v, want %v", got, want)
			}
		})
	}
}

func TestNC06NC08ImageSelection(t *testing.T) {
	const at, first = "spec.amiSelectorTerms", "spec.amiSelectorTerms[0]"
	cases := []admission{
		{name: "NC-06 second term beside an alias", patch: images("[{alias: al2023@latest}, {id: ami-1}]"), path: at, message: "only term"},
		{name: "NC-06 bad family", patch: images("[{alias: ubuntu@latest}]"), path: first + ".alias", message: "family"},
		{name: "NC-06 family in capitals", patch: images("[{alias: AL2023@latest}]"), path: first + ".alias", message: "family"},
		{name: "NC-06 no at sign", patch: images("[{alias: al2023}]"), path: first + ".alias", message: "family@version"},
		{name: "NC-06 no version", patch: images("[{alias: al2023@}]"), path: first + ".alias", message: "family@version"},
		{name: "NC-06 30 characters", patch: images("[{alias: bottlerocket@v1.40.0-abcdefgh1}]")},
		{name: "NC-06 31 characters", patch: images("[{alias: bottlerocket@v1.40.0-abcdefgh12}]"), path: first + ".alias", message: "may not be more than 30"},
		{name: "NC-06 Windows of a version", patch: images("[{alias: windows2022@v20250101}]"), path: first + ".alias", message: "latest"},

		{name: "NC-08 family of the alias", patch: "spec: {amiFamily: AL2023}"},
		{name: "NC-08 another family than the alias", patch: "spec: {amiFamily: Bottlerocket}", path: "spec", message: "family of the 'alias'"},
		{name: "NC-08 a family that begins like the alias", patch: "spec: {amiFamily: AL2}", path: "spec", message: "family of the 'alias'"},
		{name: "NC-08 Custom with an alias", patch: "spec: {amiFamily: Custom}"},
		{name: "NC-08 Windows", patch: "spec: {amiFamily: Windows2022, amiSelectorTerms: [{alias: windows2022@latest}]}"},
		{name: "NC-08 no alias and no family", patch: images("[{id: ami-1}]"), path: "spec", message: "'amiFamily' must be set"},
		{name: "NC-08 no alias and a family", patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{id: ami-1}, {name: 'my-*', owner: self}, {tags: {a: '*'}}, {ssmParameter: /my/image}]}"},
		{name: "NC-08 unknown family", patch: "spec: {amiFamily: Ubuntu}", path: "spec.amiFamily", message: "Unsupported value"},

		{name: "no terms", patch: images("[]"), path: at, message: "at least 1"},
		{name: "31 terms", patch: "spec: {amiFamily: AL2, amiSelectorTerms: " + repeat(31, "{id: ami-%d}") + "}", path: at, message: "Too many"},
		{name: "owner alone", patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{owner: self}]}", path: first, message: "a term needs one of"},
		{name: "id that is none", patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{id: i-1}]}", path: first + ".id", message: "should match"},
		{name: "empty tag value", patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{tags: {a: ''}}]}", path: first + ".tags", message: "cannot be empty"},
		{name: "no tags", patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{tags: {}}]}", path: first + ".tags", message: "at least 1"},
	}
	for _, alias := range []string{"al2@latest", "al2023@v20250212", "bottlerocket@v1.40.0", "bottlerocket@1.40.0", "windows2019@latest", "windows2025@latest"} {
		cases = append(cases, admission{name: "NC-06 " + alias, patch: images("[{alias: " + alias + "}]")})
	}
	for _, other := range []string{"id: ami-1", "name: a", "owner: self", "tags: {a: b}", "ssmParameter: /a"} {
		cases = append(cases, admission{name: "NC-06 alias with " + other, patch: images("[{alias: al2023@latest, " + other + "}]"), path: first, message: "'alias' cannot be combined"})
	}
	for _, other := range []string{"name: a", "owner: self", "tags: {a: b}", "ssmParameter: /a"} {
		cases = append(cases, admission{
			name: "id with " + other, path: "spec.amiSelectorTerms[1]", message: "'id' cannot be combined",
			patch: "spec: {amiFamily: AL2, amiSelectorTerms: [{id: ami-1}, {id: ami-1, " + other + "}]}",
		})
	}
	run(t, newServer(t)["EC2NodeClass"], minimalClass, false, cases)
}

func TestNetworkSelection(t *testing.T) {
	subnets := func(terms string) string { return "spec: {subnetSelectorTerms: " + terms + "}" }
	groups := func(terms string) string { return "spec: {securityGroupSelectorTerms: " + terms + "}" }
	reservations := func(terms string) string { return "spec: {capacityReservationSelectorTerms: " + terms + "}" }
	placement := func(s string) string { return "spec: {placementGroupSelector: " + s + "}" }
	run(t, newServer(t)["EC2NodeClass"], minimalClass, false, []admission{
		{name: "subnets by id and by tags", patch: subnets("[{id: subnet-0a1}, {tags: {Name: '*Private*', a: '*'}}]")},
		{name: "subnet with id and tags beside a good one", patch: subnets("[{id: subnet-1}, {id: subnet-2, tags: {a: b}}]"), path: "spec.subnetSelectorTerms[1]", message: "'id' cannot be combined"},
		{name: "subnet term with nothing", patch: subnets("[{}]"), path: "spec.subnetSelectorTerms[0]", message: "a term needs one of"},
		{name: "subnet id in the middle of another text", patch: subnets("[{id: my-subnet-1}]"), path: "spec.subnetSelectorTerms[0].id", message: "should match"},
		{name: "30 subnets", patch: subnets(repeat(30, "{id: subnet-%d}"))},
		{name: "31 subnets", patch: subnets(repeat(31, "{id: subnet-%d}")), path: "spec.subnetSelectorTerms", message: "Too many"},
		{name: "no subnets", patch: subnets("null"), path: "spec.subnetSelectorTerms", message: "Required value"},
		{name: "20 tags", patch: subnets("[{tags: {" + strings.Trim(repeat(20, "k%d: v"), "[]") + "}}]")},
		{name: "21 tags", patch: subnets("[{tags: {" + strings.Trim(repeat(21, "k%d: v"), "[]") + "}}]"), path: "spec.subnetSelectorTerms[0].tags", message: "Too many"},
		{name: "empty tag key", patch: subnets("[{tags: {'': v}}]"), path: "spec.subnetSelectorTerms[0].tags", message: "cannot be empty"},

		{name: "groups by id, name and tags", patch: groups("[{id: sg-0a1}, {name: my-group}, {tags: {a: b}}]")},
		{name: "group with id and name beside a good one", patch: groups("[{id: sg-1}, {id: sg-2, name: a}]"), path: "spec.securityGroupSelectorTerms[1]", message: "'id' cannot be combined"},
		{name: "group with name and tags beside a good one", patch: groups("[{id: sg-1}, {name: a, tags: {a: b}}]"), path: "spec.securityGroupSelectorTerms[1]", message: "'name' cannot be combined"},
		{name: "group term with nothing", patch: groups("[{}]"), path: "spec.securityGroupSelectorTerms[0]", message: "a term needs one of"},
		{name: "no groups", patch: groups("[]"), path: "spec.securityGroupSelectorTerms", message: "at least 1"},

		{name: "reservations", patch: reservations("[{id: cr-0a1}, {tags: {a: b}, ownerID: '123456789012', instanceMatchCriteria: targeted}, {instanceMatchCriteria: open}]")},
		{name: "no reservations", patch: reservations("[]")},
		{name: "reservation of an owner alone", patch: reservations("[{ownerID: '123456789012'}]"), path: "spec.capacityReservationSelectorTerms[0]", message: "a term needs one of"},
		{name: "reservation with id and owner beside a good one", patch: reservations("[{id: cr-1}, {id: cr-2, ownerID: '123456789012'}]"), path: "spec.capacityReservationSelectorTerms[1]", message: "'id' cannot be combined"},
		{name: "reservation of a short account", patch: reservations("[{ownerID: '12345', tags: {a: b}}]"), path: "spec.capacityReservationSelectorTerms[0].ownerID", message: "should match"},
		{name: "reservation of other criteria", patch: reservations("[{instanceMatchCriteria: any}]"), path: "spec.capacityReservationSelectorTerms[0].instanceMatchCriteria", message: "Unsupported value"},

		{name: "placement group by name", patch: placement("{name: my-group}")},
		{name: "placement group by id", patch: placement("{id: pg-0a1}")},
		{name: "placement group by both", patch: placement("{id: pg-0a1, name: a}"), path: "spec.placementGroupSelector", message: "exactly one"},
		{name: "placement group by nothing", patch: placement("{}"), path: "spec.placementGroupSelector", message: "exactly one"},
		{name: "placement group with empty name", patch: placement("{name: ''}"), path: "spec.placementGroupSelector.name", message: "at least 1"},
		{name: "placement group with another id", patch: placement("{id: sg-1}"), path: "spec.placementGroupSelector.id", message: "should match"},
	})
}

func TestNC09NC10IdentityAndTags(t *testing.T) {
	tags := func(entries string) string { return "spec: {tags: " + entries + "}" }
	cases := []admission{
		{name: "NC-09 both", patch: "spec: {instanceProfile: p}", path: "spec", message: "exactly one of 'role'"},
		{name: "NC-09 neither", patch: "spec: {role: null}", path: "spec", message: "exactly one of 'role'"},
		{name: "NC-09 profile alone", patch: "spec: {role: null, instanceProfile: p}"},
		{name: "NC-09 empty role", patch: "spec: {role: ''}", path: "spec.role", message: "at least 1"},
		{name: "NC-09 empty profile", patch: "spec: {role: null, instanceProfile: ''}", path: "spec.instanceProfile", message: "at least 1"},
		{name: "NC-10 Name", patch: tags("{Name: mine, team: a, empty: ''}")},
		{name: "NC-10 many tags", patch: tags("{" + strings.Trim(repeat(49, "k%d: v"), "[]") + "}")},
	}
	for _, key := range []string{"", "eks:eks-cluster-name", "kubernetes.io/cluster/demo", "kubernetes.io/cluster", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"} {
		message := "restricted"
		if key == "" {
			message = "cannot be empty"
		}
		cases = append(cases, admission{name: "NC-10 restricted tag " + key, patch: tags("{'" + key + "': v}"), path: "spec.tags", message: message})
	}
	run(t, newServer(t)["EC2NodeClass"], minimalClass, false, cases)
}

func TestNC11BlockDevices(t *testing.T) {
	const first = "spec.blockDeviceMappings[0]"
	size := func(text string) string { return devices("[{deviceName: /dev/xvda, ebs: {volumeSize: " + text + "}}]") }
	cases := []admission{
		{name: "NC-11 two root volumes", patch: devices("[{deviceName: a, rootVolume: true, ebs: {volumeSize: 1Gi}}, {deviceName: b, rootVolume: true, ebs: {volumeSize: 1Gi}}]"), path: "spec.blockDeviceMappings", message: "rootVolume"},
		{name: "NC-11 one root volume", patch: devices("[{deviceName: a, rootVolume: true, ebs: {volumeSize: 1Gi}}, {deviceName: b, rootVolume: false, ebs: {volumeSize: 1Gi}}]")},
		{name: "NC-11 neither size nor snapshot", patch: devices("[{deviceName: a, ebs: {volumeType: gp3}}]"), path: first + ".ebs", message: "'volumeSize' and 'snapshotID'"},
		{name: "NC-11 rate without snapshot", patch: devices("[{deviceName: a, ebs: {volumeSize: 1Gi, volumeInitializationRate: 100}}]"), path: first + ".ebs", message: "needs 'snapshotID'"},
		{name: "NC-11 rate with an empty snapshot", patch: devices("[{deviceName: a, ebs: {volumeSize: 1Gi, snapshotID: '', volumeInitializationRate: 100}}]"), path: first + ".ebs", message: "needs 'snapshotID'"},
		{name: "NC-11 rate with snapshot", patch: devices("[{deviceName: a, ebs: {snapshotID: snap-1, volumeInitializationRate: 300}}]")},
		{name: "NC-11 rate too high", patch: devices("[{deviceName: a, ebs: {snapshotID: snap-1, volumeInitializationRate: 301}}]"), path: first + ".ebs.volumeInitializationRate", message: "less than or equal to 300"},
		{name: "NC-11 device without volume", patch: devices("[{deviceName: a}]"), path: first, message: "'ebs' must be set"},
		{name: "NC-11 volume without device", patch: devices("[{ebs: {volumeSize: 1Gi}}]"), path: first, message: "'deviceName' must be set"},
		{name: "NC-11 50 devices", patch: devices(repeat(50, "{deviceName: d%d, ebs: {volumeSize: 1Gi}}"))},
		{name: "NC-11 51 devices", patch: devices(repeat(51, "{deviceName: d%d, ebs: {volumeSize: 1Gi}}")), path: "spec.blockDeviceMappings", message: "Too many"},
		{name: "NC-11 unknown type", patch: devices("[{deviceName: a, ebs: {volumeSize: 1Gi, volumeType: gp9}}]"), path: first + ".ebs.volumeType", message: "Unsupported value"},
	}
	for _, good := range []string{"1Gi", "20Gi", "59000Gi", "1G", "64000G", "1Ti", "18Ti", "29Ti", "58Ti", "64T"} {
		cases = append(cases, admission{name: "NC-11 size " + good, patch: size(good)})
	}
	for _, bad := range []string{"0Gi", "20", "20Mi", "1.5Ti", "-1Gi", "020Gi", "''"} {
		cases = append(cases, admission{name: "NC-11 size " + bad, patch: size("'" + strings.Trim(bad, "'") + "'"), path: first + ".ebs.volumeSize", message: "should match"})
	}
	for _, bad := range []string{"59Ti", "65T", "64001G", "99999Gi"} {
		cases = append(cases, admission{name: "NC-11 size " + bad, patch: size(bad), path: first + ".ebs.volumeSize", message: "at most 64T"})
	}
	run(t, newServer(t)["EC2NodeClass"], minimalClass, false, cases)
}

func TestNC12NC13InstanceOptions(t *testing.T) {
	primary := "{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}"
	tracking := func(spec string) string { return "spec: {connectionTracking: " + spec + "}" }
	run(t, newServer(t)["EC2NodeClass"], minimalClass, false, []admission{
		{name: "NC-12 hop limit of 64", patch: metadata("{httpPutResponseHopLimit: 64}")},
		{name: "NC-12 hop limit of 65", patch: metadata("{httpPutResponseHopLimit: 65}"), path: "spec.metadataOptions.httpPutResponseHopLimit", message: "less than or equal to 64"},
		{name: "NC-12 hop limit of 0", patch: metadata("{httpPutResponseHopLimit: 0}"), path: "spec.metadataOptions.httpPutResponseHopLimit", message: "greater than or equal to 1"},
		{name: "NC-12 other tokens", patch: metadata("{httpTokens: never}"), path: "spec.metadataOptions.httpTokens", message: "Unsupported value"},

		{name: "NC-13 primary and EFA", patch: network("[" + primary + ", {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}, {networkCardIndex: 1, deviceIndex: 0, interfaceType: efa-only}]")},
		{name: "NC-13 missing primary", patch: network("[{networkCardIndex: 0, deviceIndex: 1, interfaceType: interface}]"), path: "spec.networkInterfaces", message: "network card index 0 and device index 0"},
		{name: "NC-13 primary is EFA only", patch: network("[{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]"), path: "spec.networkInterfaces", message: "network card index 0 and device index 0"},
		{name: "NC-13 duplicate pair", patch: network("[" + primary + ", " + primary + "]"), path: "spec.networkInterfaces", message: "no two interfaces"},
		{name: "NC-13 two EFA on one card", patch: network("[" + primary + ", {networkCardIndex: 1, deviceIndex: 0, interfaceType: efa-only}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]"), path: "spec.networkInterfaces", message: "at most one 'efa-only'"},
		{name: "NC-13 no card", patch: network("[{deviceIndex: 0, interfaceType: interface}]"), path: "spec.networkInterfaces[0].networkCardIndex", message: "Required value"},
		{name: "NC-13 other type", patch: network("[{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa}]"), path: "spec.networkInterfaces[0].interfaceType", message: "Unsupported value"},
		{name: "NC-13 150 interfaces", patch: network(repeat(150, "{networkCardIndex: %d, deviceIndex: 0, interfaceType: interface}"))},
		{name: "NC-13 151 interfaces", patch: network(repeat(151, "{networkCardIndex: %d, deviceIndex: 0, interfaceType: interface}")), path: "spec.networkInterfaces", message: "Too many"},

		{name: "connection tracking", patch: tracking("{tcpEstablishedTimeout: 432000, udpStreamTimeout: 60, udpTimeout: 30}")},
		{name: "connection tracking of nothing", patch: tracking("{}"), path: "spec.connectionTracking", message: "at least 1"},
		{name: "connection tracking of TCP too short", patch: tracking("{tcpEstablishedTimeout: 59}"), path: "spec.connectionTracking.tcpEstablishedTimeout", message: "greater than or equal to 60"},
		{name: "connection tracking of UDP too long", patch: tracking("{udpTimeout: 61}"), path: "spec.connectionTracking.udpTimeout", message: "less than or equal to 60"},
		{name: "connection tracking of UDP streams too long", patch: tracking("{udpStreamTimeout: 181}"), path: "spec.connectionTracking.udpStreamTimeout", message: "less than or equal to 180"},
		{name: "prefixes", patch: "spec: {ipPrefixCount: 0}"},
		{name: "prefixes below zero", patch: "spec: {ipPrefixCount: -1}", path: "spec.ipPrefixCount", message: "greater than or equal to 0"},
		{name: "nested virtualization", patch: "spec: {cpuOptions: {nestedVirtualization: enabled}}"},
		{name: "other nested virtualization", patch: "spec: {cpuOptions: {nestedVirtualization: 'on'}}", path: "spec.cpuOptions.nestedVirtualization", message: "Unsupported value"},
		{name: "RAID0", patch: "spec: {instanceStorePolicy: RAID0, detailedMonitoring: true, associatePublicIPAddress: false, context: abc, userData: '#!/bin/sh'}"},
		{name: "RAID1", patch: "spec: {instanceStorePolicy: RAID1}", path: "spec.instanceStorePolicy", message: "Unsupported value"},
	})
}

// What Karpenter's definition says of fields of the kubelet's is said as well.
func TestKubeletFieldsHaveTheValuesOfKarpenters(t *testing.T) {
	k := newServer(t)["EC2NodeClass"]
	cases := []admission{
		{name: "thresholds", patch: "spec: {kubelet: {evictionHard: {memory.available: 5%, nodefs.available: 1.5Gi}}}"},
		{name: "pairs", patch: "spec: {kubelet: {evictionSoft: {memory.available: 100.00%}, " +
			"evictionSoftGracePeriod: {memory.available: 1m30s}}}"},
		{name: "one of the percentages", patch: "spec: {kubelet: {imageGCHighThresholdPercent: 10}}"},
	}
	for _, row := range []struct{ kubelet, path, message string }{
		{"evictionHard: {memory: 5%}", ".evictionHard", "valid keys"},
		{"evictionHard: {memory.available: 110%}", ".evictionHard.memory.available", "should match"},
		{"evictionHard: {memory.available: 5%3}", ".evictionHard.memory.available", "should match"},
		{"evictionHard: {memory.available: 110GB}", ".evictionHard.memory.available", "should match"},
		{"evictionSoft: {memory: 5%}, evictionSoftGracePeriod: {memory: 1m}", ".evictionSoft", "valid keys"},
		{"evictionSoft: {pid.available: 5%}", "", "each key of evictionSoft must be in"},
		{"evictionSoftGracePeriod: {pid.available: 1m}", "", "each key of evictionSoftGracePeriod must be in"},
		{"kubeReserved: {pods: '2'}", ".kubeReserved", "valid keys"},
		{"systemReserved: {cpu: '-1'}", ".systemReserved", "must not be negative"},
		{"imageGCLowThresholdPercent: 101", ".imageGCLowThresholdPercent", "less than or equal to 100"},
		{"imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50", "", "must be greater than"},
	} {
		cases = append(cases, admission{name: row.kubelet, patch: "spec: {kubelet: {" + row.kubelet + "}}",
			path: "spec.kubelet" + row.path, message: row.message})
	}
	run(t, k, minimalClass, false, cases)
}

// The kubelet's fields may be any: the schema drops none.
func TestKubeletFieldsAreKept(t *testing.T) {
	k := newServer(t)["EC2NodeClass"]
	const patch = "spec: {kubelet: {maxPods: 'vcpus * 10', registryPullQPS: 5, " +
		"evictionHard: {memory.available: 5%}, kubeReserved: {cpu: 'vcpus * 20m'}, nested: {unknown: [1, 2]}}}"
	stored, errs := k.admit(t, merged(t, minimalClass, patch), nil)
	if len(errs) > 0 {
		t.Fatalf("refused: %v", errs)
	}
	want, _ := merged(t, minimalClass, patch)["spec"].(object)
	got, _ := stored["spec"].(object)
	if !equality.Semantic.DeepEqual(got["kubelet"], want["kubelet"]) {
		t.Errorf("kubelet = %v, want %v", got["kubelet"], want["kubelet"])
	}
	run(t, k, minimalClass, false, []admission{
		{name: "kubelet that is no object", patch: "spec: {kubelet: [1]}", path: "spec.kubelet", message: "must be of type object"},
	})
}
