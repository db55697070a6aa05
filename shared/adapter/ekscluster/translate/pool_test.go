package translate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

func ptr[T any](v T) *T { return &v }

// M92: the time zone of a NodePool is that of all its budgets that have a schedule.
func TestM92BudgetsHaveTheTimeZoneOfTheirPool(t *testing.T) {
	got := Pool(parse[apiv1.NodePool](t, `
metadata: {name: general, annotations: {joiner.sh/budget-time-zone: Europe/Berlin}}
spec: {disruption: {budgets: [{nodes: "0", schedule: "@daily", duration: 8h}, {nodes: 20%}]}}
`)).Disruption.Budgets
	want := []model.Budget{
		{Nodes: "0", Schedule: "@daily", DurationSeconds: 8 * 3600, TimeZone: "Europe/Berlin"}, {Nodes: "20%"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestPool(t *testing.T) {
	object := parse[apiv1.NodePool](t, `
metadata: {name: general, uid: u, generation: 3}
spec:
  weight: 10
  limits: {cpu: "100", memory: 1Ti, nodes: "5"}
  template:
    metadata: {labels: {team: a}, annotations: {note: b}}
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand], minValues: 1}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gte, values: ["4"]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: team, value: a, effect: NoSchedule}]
      startupTaints: [{key: cni, effect: NoExecute}]
      terminationGracePeriod: 1h
  disruption:
    consolidateAfter: Never
    budgets: [{nodes: "0", schedule: "@daily", duration: 8h, reasons: [Drifted]}, {nodes: 20%}]
`)
	before := parse[apiv1.NodePool](t, "{}")
	*before = *object
	got := Pool(object)
	want := model.Pool{
		Name: "general", UID: "u", Generation: 3, Weight: 10,
		Limits: model.Resources{"cpu": 100_000, "memory": 1 << 40, "nodes": 5},
		Hash:   got.Hash,
		Template: model.Template{
			Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"note": "b"},
			Requirements: []model.Requirement{
				{Key: "karpenter.sh/capacity-type", Operator: model.In, Values: []string{"spot", "on-demand"}, MinValues: 1},
				{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Gte, Values: []string{"4"}},
			},
			Taints:        []model.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}},
			StartupTaints: []model.Taint{{Key: "cni", Effect: "NoExecute"}},
			ClassGroup:    "karpenter.k8s.aws", ClassKind: "EC2NodeClass", ClassName: "default",
			GraceSeconds: ptr(int64(3600)), ExpireAfterSeconds: ptr(int64(720 * 3600)),
		},
		Disruption: model.Disruption{Policy: "WhenEmptyOrUnderutilized", Budgets: []model.Budget{
			{Nodes: "0", Schedule: "@daily", DurationSeconds: 8 * 3600, Reasons: []string{"Drifted"}}, {Nodes: "20%"},
		}},
	}
	if !reflect.DeepEqual(got, want) || got.Hash == "" {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if !reflect.DeepEqual(before, object) {
		t.Error("the object was written to")
	}
	if !Managed(object.Spec.Template.Spec.NodeClassRef) || Managed(apiv1.NodeClassReference{Group: "g", Kind: "EC2NodeClass"}) {
		t.Error("a pool is ours by group and kind of its class")
	}
}

func TestInvalidPoolNamesFieldValueAndRemedy(t *testing.T) {
	got := Pool(parse[apiv1.NodePool](t, `
metadata: {name: broken}
spec:
  limits: {cpu: "-4"}
  template:
    metadata: {labels: {kubernetes.io/hostname: x}}
    spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
`))
	if len(got.Invalid) != 2 || !strings.Contains(got.Invalid[0], "kubernetes.io/hostname") || !strings.Contains(got.Invalid[0], "Remedy") ||
		!strings.Contains(got.Invalid[1], `spec.limits[cpu]: "-4"`) {
		t.Errorf("got %q", got.Invalid)
	}
}

func TestPoolOfZeroCPUIsLimitedToNothing(t *testing.T) {
	got := Pool(parse[apiv1.NodePool](t, `spec: {limits: {cpu: 0}, template: {spec: {requirements: [], nodeClassRef: {group: g, kind: k, name: n}}}}`))
	if amount, ok := got.Limits["cpu"]; !ok || amount != 0 {
		t.Errorf("got %v", got.Limits)
	}
}

func TestPoolLimitedToDollarsAnHour(t *testing.T) {
	for text, want := range map[string]int64{"1": 1_000_000, "1500m": 1_500_000, `"0.0000019"`: 1} {
		got := Pool(parse[apiv1.NodePool](t, `spec: {limits: {joiner.sh/usd-per-hour: `+text+`}, template: {spec: {requirements: [], nodeClassRef: {group: g, kind: k, name: n}}}}`))
		if got.Limits[model.Dollars] != want {
			t.Errorf("%s: %d micro-USD, want %d", text, got.Limits[model.Dollars], want)
		}
	}
}

const class = `
metadata: {name: default, uid: u, generation: 2, annotations: {karpenter.k8s.aws/ec2nodeclass-hash: "7", other: x}}
spec:
  role: nodes
  userData: "#!/bin/sh"
  tags: {team: a}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}, {id: subnet-1}]
  securityGroupSelectorTerms: [{name: nodes}]
  amiSelectorTerms: [{alias: al2023@latest}]
  detailedMonitoring: true
  associatePublicIPAddress: false
  metadataOptions: {httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required}
  blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 100G, volumeType: gp3, iops: 3000, encrypted: true}}]
  kubelet: {maxPods: 50, podsPerCore: 8, kubeReserved: {cpu: 200m, memory: 1Gi}, evictionHard: {memory.available: 5%}, cpuCFSQuota: true}
status:
  instanceProfile: p
  subnets: [{id: subnet-1, zone: us-west-2a, zoneID: usw2-az1}]
  securityGroups: [{id: sg-1, name: nodes}]
  amis: [{id: ami-1, name: al2023, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]
  conditions:
  - {type: Ready, status: "False", observedGeneration: 2, reason: UnhealthyDependents, message: "", lastTransitionTime: "2026-11-20T12:00:00Z"}
  - {type: SubnetsReady, status: "False", reason: SubnetsNotFound, message: none, lastTransitionTime: "2026-11-20T12:00:00Z"}
  - {type: AMIsReady, status: "True", reason: AMIsReady, message: "", lastTransitionTime: "2026-11-20T12:00:00Z"}
  - {type: SomebodyElsesReady, status: "False", reason: Old, message: old, lastTransitionTime: "2026-11-20T12:00:00Z"}
  - {type: ValidationSucceeded, status: Unknown, reason: AwaitingReconciliation, message: soon, lastTransitionTime: "2026-11-20T12:00:00Z"}
`

func TestClass(t *testing.T) {
	got := Class(parse[awsv1.EC2NodeClass](t, class))
	want := model.Class{
		Name: "default", UID: "u", Generation: 2, Hash: got.Hash, Annotations: map[string]string{"karpenter.k8s.aws/ec2nodeclass-hash": "7"},
		Subnets:        []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "prod"}}, {ID: "subnet-1"}},
		SecurityGroups: []model.SelectorTerm{{Name: "nodes"}},
		Images:         []model.SelectorTerm{{Alias: "al2023@latest"}},
		Family:         "AL2023", UserData: "#!/bin/sh", Role: "nodes", Tags: map[string]string{"team": "a"},
		BlockDevices: []model.BlockDevice{{DeviceName: "/dev/xvda", RootVolume: true, VolumeSizeGiB: 94, VolumeType: "gp3", IOPS: 3000, Encrypted: ptr(true)}},
		Metadata:     model.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: 1, HTTPTokens: "required"},
		Kubelet: model.Kubelet{
			MaxPods: 50, PodsPerCore: 8, KubeReserved: model.Resources{"cpu": 200, "memory": 1 << 30}, EvictionHard: map[string]string{"memory.available": "5%"},
			JSON: `{"cpuCFSQuota":true,"evictionHard":{"memory.available":"5%"},"kubeReserved":{"cpu":"200m","memory":"1Gi"},"maxPods":50,"podsPerCore":8}`,
		},
		DetailedMonitoring: true, AssociatePublicIPAddress: ptr(false),
		Status: model.ClassStatus{
			ObservedGeneration: 2, InstanceProfile: "p",
			Subnets:        []model.Subnet{{ID: "subnet-1", Zone: "us-west-2a", ZoneID: "usw2-az1"}},
			SecurityGroups: []model.SecurityGroup{{ID: "sg-1", Name: "nodes"}},
			Images:         []model.Image{{ID: "ami-1", Name: "al2023", Requirements: []model.Requirement{{Key: "kubernetes.io/arch", Operator: model.In, Values: []string{"amd64"}}}}},
			Problems: []model.ClassProblem{
				{Condition: "SubnetsReady", Reason: "SubnetsNotFound", Message: "none"},
				{Condition: "ValidationSucceeded", Reason: "AwaitingReconciliation", Message: "soon", Unknown: true},
			},
		},
	}
	if !reflect.DeepEqual(got, want) || got.Hash == "" {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// Every field of a class reaches whoever honors it.
func TestFieldsOfAClassAreHandedOn(t *testing.T) {
	got := Class(parse[awsv1.EC2NodeClass](t, `
spec:
  amiFamily: AL2023
  capacityReservationSelectorTerms: [{id: cr-1}, {tags: {a: b}, ownerID: "123456789012", instanceMatchCriteria: open}]
  placementGroupSelector: {name: group}
  ipPrefixCount: 3
  instanceStorePolicy: RAID0
  networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]
  connectionTracking: {tcpEstablishedTimeout: 100, udpStreamTimeout: 90, udpTimeout: 60}
  context: c
  cpuOptions: {nestedVirtualization: enabled}
  blockDeviceMappings:
  - deviceName: /dev/sda1
    rootVolume: true
    ebs: {volumeSize: 7Gi, volumeType: io2, iops: 500, throughput: 300, snapshotID: snap-1, kmsKeyID: alias/disks,
      encrypted: false, deleteOnTermination: false, volumeInitializationRate: 150}
`))
	want := model.Class{
		Family: "AL2023", Hash: got.Hash,
		Reservations:   []model.SelectorTerm{{ID: "cr-1"}, {Tags: map[string]string{"a": "b"}, Owner: "123456789012", MatchCriteria: "open"}},
		PlacementGroup: &model.SelectorTerm{Name: "group"}, IPPrefixCount: ptr(int64(3)), InstanceStorePolicy: "RAID0",
		NetworkInterfaces:  []model.NetworkInterface{{Type: "interface"}, {Card: 1, Device: 1, Type: "efa-only"}},
		ConnectionTracking: &model.ConnectionTracking{TCPEstablishedSeconds: 100, UDPStreamSeconds: 90, UDPSeconds: 60},
		Context:            "c", NestedVirtualization: "enabled",
		BlockDevices: []model.BlockDevice{{
			DeviceName: "/dev/sda1", RootVolume: true, VolumeSizeGiB: 7, VolumeType: "io2", IOPS: 500, Throughput: 300,
			SnapshotID: "snap-1", KMSKeyID: "alias/disks", Encrypted: ptr(false), DeleteOnTermination: ptr(false),
			InitializationRate: 150,
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestDisksAreJoinedWhereAFamilyCan(t *testing.T) {
	for _, family := range []string{"AL2", "AL2023", "Bottlerocket", "Windows2022"} {
		got := Class(parse[awsv1.EC2NodeClass](t, "spec: {amiFamily: "+family+", amiSelectorTerms: [{id: ami-1}], instanceStorePolicy: RAID0}"))
		if refused := got.Unsupported != nil; refused != (family == "Windows2022") || got.InstanceStorePolicy != "RAID0" {
			t.Errorf("an array of disks with %s: %q", family, got.Unsupported)
		}
	}
	if plain := Class(parse[awsv1.EC2NodeClass](t, class)); plain.Unsupported != nil {
		t.Errorf("an ordinary class: %q", plain.Unsupported)
	}
}

// Of a NodePool's annotations those are kept that speak to us.
func TestPoolKeepsOurAnnotations(t *testing.T) {
	pool := &apiv1.NodePool{}
	pool.Annotations = map[string]string{model.AnnotationGentleExpiry: "true", "team": "a", model.AnnotationPoolHash: "1"}
	if got := Pool(pool).Annotations; len(got) != 1 || got[model.AnnotationGentleExpiry] != "true" {
		t.Errorf("%v", got)
	}
}

// K11: a pool is ours by the same rule wherever it is asked.
func TestAPoolIsOursByOneRule(t *testing.T) {
	for _, ref := range []apiv1.NodeClassReference{
		{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass"}, {Group: "karpenter.k8s.aws", Kind: "NodeClass"}, {Group: "karpenter.azure.com", Kind: "EC2NodeClass"}, {},
	} {
		pool := &apiv1.NodePool{}
		pool.Spec.Template.Spec.NodeClassRef = ref
		if template := Pool(pool).Template; template.UsesEC2NodeClass() != Managed(ref) {
			t.Errorf("%+v: %v in a snapshot, %v as an object", ref, template.UsesEC2NodeClass(), Managed(ref))
		}
	}
}
