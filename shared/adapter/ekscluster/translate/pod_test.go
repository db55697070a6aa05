package translate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func parsePod(t testing.TB, text string) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

const fullPod = `
metadata:
  namespace: shop
  name: web-0
  uid: 6f1c2d3e-0000-4000-8000-000000000001
  creationTimestamp: "2026-11-20T12:00:00Z"
  labels: {app: web, statefulset.kubernetes.io/pod-name: web-0, apps.kubernetes.io/pod-index: "0"}
  annotations: {karpenter.sh/do-not-disrupt: "true", joiner.sh/keep-two-zones: "true", controller.kubernetes.io/pod-deletion-cost: "-7"}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: x, controller: true}]
spec:
  priority: 1000
  priorityClassName: high
  preemptionPolicy: Never
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 60
  nodeSelector: {kubernetes.io/arch: arm64}
  tolerations: [{key: team, operator: Equal, value: a, effect: NoSchedule, tolerationSeconds: 3}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a, b]}]
          matchFields: [{key: metadata.name, operator: In, values: [node-1]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchExpressions: [{key: x, operator: Exists}]}}
    podAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 9, podAffinityTerm: {topologyKey: zone, labelSelector: {}, namespaces: [b]}}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, values: [old]}]}
        namespaceSelector: {}
        matchLabelKeys: [pod-template-hash]
  topologySpreadConstraints:
  - {topologyKey: topology.kubernetes.io/zone, maxSkew: 1, minDomains: 3, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor}
  - {topologyKey: kubernetes.io/hostname, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}
  containers:
  - {name: a, ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81}], resources: {requests: {cpu: 1}}}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data-web-0}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}}
  - {name: tmp, emptyDir: {}}
status:
  phase: Pending
  nominatedNodeName: n1
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]
`

func TestPodKeepsWhatSchedulingLooksAt(t *testing.T) {
	pod, shape := Pod(parsePod(t, fullPod))
	wantPod := model.Pod{
		UID: "6f1c2d3e-0000-4000-8000-000000000001", Namespace: "shop", Name: "web-0", NominatedNode: "n1", Unschedulable: true,
		CreatedUnix: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix(), Claims: []string{"data-web-0", "web-0-scratch"},
	}
	if !reflect.DeepEqual(pod, wantPod) {
		t.Errorf("pod\n got %+v\nwant %+v", pod, wantPod)
	}
	wantShape := model.PodShape{
		Namespace: "shop", Labels: map[string]string{"app": "web"}, Requests: model.Resources{"cpu": 1000, "pods": 1},
		NodeSelector: map[string]string{"kubernetes.io/arch": "arm64"},
		RequiredNodeAffinity: []model.NodeTerm{{
			Requirements: []model.Requirement{{Key: "topology.kubernetes.io/zone", Operator: model.In, Values: []string{"a", "b"}}},
			Fields:       []model.Requirement{{Key: "metadata.name", Operator: model.In, Values: []string{"node-1"}}},
		}},
		PreferredNodeAffinity: []model.WeightedTerm{{Weight: 5, Term: model.NodeTerm{Requirements: []model.Requirement{{Key: "x", Operator: model.Exists}}}}},
		Tolerations:           []model.Toleration{{Key: "team", Operator: "Equal", Value: "a", Effect: "NoSchedule"}},
		PodAntiAffinity: []model.PodTerm{{
			TopologyKey:       "kubernetes.io/hostname",
			Selector:          &model.Selector{MatchLabels: map[string]string{"app": "web"}, Expressions: []model.Requirement{{Key: "tier", Operator: model.NotIn, Values: []string{"old"}}}},
			NamespaceSelector: &model.Selector{}, MatchLabelKeys: []string{"pod-template-hash"},
		}},
		PreferredPodAffinity: []model.WeightedPodTerm{{Weight: 9, Term: model.PodTerm{TopologyKey: "zone", Selector: &model.Selector{}, Namespaces: []string{"b"}}}},
		Spread: []model.Spread{
			{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, MinDomains: 3, Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}}, IgnoreNodeAffinity: true, HonorNodeTaints: true},
			{TopologyKey: "kubernetes.io/hostname", MaxSkew: 2, Anyway: true},
		},
		HostPorts: []model.HostPort{{Port: 8080, Protocol: "TCP"}},
		Ephemeral: []model.EphemeralClaim{{Volume: "scratch"}},
		Priority:  1000, PriorityClass: "high", SchedulerName: "default-scheduler", OwnerKind: "StatefulSet", OwnerName: "web",
		DoNotDisrupt: "true", TwoZones: true, DeletionCost: -7, GraceSeconds: 60, NoPreemption: true,
	}
	if !reflect.DeepEqual(shape, wantShape) {
		t.Errorf("shape\n got %+v\nwant %+v", shape, wantShape)
	}
}

// M93: what is a system workload says so in an annotation.
func TestM93SystemWorkloadsAreRead(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "yes": false} {
		object := parse[corev1.Pod](t, `{metadata: {annotations: {joiner.sh/system-workload: "`+value+`"}}}`)
		_, shape := Pod(object)
		if occupant, _ := Occupant(object); shape.System != want || occupant.System != want {
			t.Errorf("%s: planned as %v, looked at as %v", value, shape.System, occupant.System)
		}
	}
}

// M86: the window of a pod is read for plans and for the look at its node before it is drained.
func TestM86WindowsOfPodsAreRead(t *testing.T) {
	object := parse[corev1.Pod](t, `
metadata:
  name: db-0
  annotations:
    joiner.sh/disruption-schedule: 0 2 * * *
    joiner.sh/disruption-duration: 2h
    joiner.sh/disruption-time-zone: Asia/Tokyo
`)
	want := &model.PodWindow{Schedule: "0 2 * * *", Duration: "2h", TimeZone: "Asia/Tokyo"}
	_, shape := Pod(object)
	occupant, _ := Occupant(object)
	if !reflect.DeepEqual(shape.Window, want) || !reflect.DeepEqual(occupant.Window, want) {
		t.Errorf("planned by %+v, looked at by %+v", shape.Window, occupant.Window)
	}
	object.Annotations = map[string]string{"a": "b"}
	if _, shape = Pod(object); shape.Window != nil {
		t.Errorf("none: %+v", shape.Window)
	}
}

func TestPodStates(t *testing.T) {
	cases := map[string]struct {
		status string
		check  func(model.Pod) bool
	}{
		"running and ready":             {`{phase: Running, startTime: "2026-11-20T12:00:00Z", conditions: [{type: Ready, status: "True"}]}`, func(p model.Pod) bool { return p.Phase == model.Running && p.Ready && p.StartedUnix > 0 }},
		"unknown counts as running":     {`{phase: Unknown}`, func(p model.Pod) bool { return p.Phase == model.Running }},
		"succeeded":                     {`{phase: Succeeded}`, func(p model.Pod) bool { return p.Phase == model.Succeeded && p.Terminal() }},
		"failed":                        {`{phase: Failed}`, func(p model.Pod) bool { return p.Phase == model.Failed }},
		"not looked at yet":             {`{}`, func(p model.Pod) bool { return p.Phase == model.Pending && !p.Unschedulable }},
		"gated is not unschedulable":    {`{conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`, func(p model.Pod) bool { return !p.Unschedulable }},
		"scheduled once unschedulable":  {`{conditions: [{type: PodScheduled, status: "True", reason: Unschedulable}]}`, func(p model.Pod) bool { return !p.Unschedulable }},
		"unschedulable says so exactly": {`{conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}`, func(p model.Pod) bool { return p.Unschedulable }},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if pod, _ := Pod(parsePod(t, "status: "+tt.status)); !tt.check(pod) {
				t.Errorf("got %+v", pod)
			}
		})
	}
}

func TestAPodWithoutConditionWaitsOnlyWhereTold(t *testing.T) {
	cases := map[string]struct {
		pod  string
		want bool
	}{
		"a manifest":                {`{metadata: {name: a}}`, true},
		"other conditions only":     {`{metadata: {name: a}, status: {conditions: [{type: Initialized, status: "True"}]}}`, true},
		"bound":                     {`{metadata: {name: a}, spec: {nodeName: n, containers: []}}`, false},
		"gated":                     {`{metadata: {name: a}, status: {conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}}`, false},
		"scheduled a moment ago":    {`{metadata: {name: a}, status: {conditions: [{type: PodScheduled, status: "True"}]}}`, false},
		"unschedulable in any case": {`{metadata: {name: a}, status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}}`, true},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			reported, untold := Builder{AbsentConditionIsPending: true}, Builder{}
			reported.Add(parsePod(t, tt.pod))
			untold.Add(parsePod(t, tt.pod))
			if got := reported.Snapshot("c", 1).Pods[0].Unschedulable; got != tt.want {
				t.Errorf("told: got %v, want %v", got, tt.want)
			}
			want := name == "unschedulable in any case"
			if got := untold.Snapshot("c", 1).Pods[0].Unschedulable; got != want {
				t.Errorf("untold: got %v, want %v", got, want)
			}
		})
	}
}

func TestShapeDetails(t *testing.T) {
	cases := map[string]struct {
		pod   string
		check func(model.PodShape) bool
	}{
		"grace is 30 s unless said":          {`{}`, func(s model.PodShape) bool { return s.GraceSeconds == 30 }},
		"grace of nothing":                   {`spec: {terminationGracePeriodSeconds: 0, containers: []}`, func(s model.PodShape) bool { return s.GraceSeconds == 0 }},
		"gates":                              {`spec: {schedulingGates: [{name: g}], containers: []}`, func(s model.PodShape) bool { return s.Gated }},
		"resource claims":                    {`spec: {resourceClaims: [{name: g}], containers: []}`, func(s model.PodShape) bool { return s.DynamicResource }},
		"an owner that is no controller":     {`metadata: {ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: x}]}`, func(s model.PodShape) bool { return s.OwnerKind == "" }},
		"a daemon set":                       {`metadata: {ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: x, controller: true}]}`, func(s model.PodShape) bool { return s.OwnerKind == "DaemonSet" }},
		"somebody else's daemon set":         {`metadata: {ownerReferences: [{apiVersion: apps.kruise.io/v1alpha1, kind: DaemonSet, name: d, uid: x, controller: true}]}`, func(s model.PodShape) bool { return s.OwnerKind == "DaemonSet.apps.kruise.io" }},
		"a static pod":                       {`metadata: {ownerReferences: [{apiVersion: v1, kind: Node, name: d, uid: x, controller: true}]}`, func(s model.PodShape) bool { return s.OwnerKind == "Node" }},
		"every address is no address":        {`spec: {containers: [{name: a, ports: [{containerPort: 1, hostPort: 1, hostIP: 0.0.0.0}, {containerPort: 2, hostPort: 2, hostIP: 10.0.0.1}]}]}`, func(s model.PodShape) bool { return s.HostPorts[0].IP == "" && s.HostPorts[1].IP == "10.0.0.1" }},
		"host network takes container ports": {`spec: {hostNetwork: true, containers: [{name: a, ports: [{containerPort: 53, protocol: UDP}]}]}`, func(s model.PodShape) bool { return len(s.HostPorts) == 1 && s.HostPorts[0].Port == 53 }},
		"sidecars take ports":                {`spec: {initContainers: [{name: a, restartPolicy: Always, ports: [{hostPort: 1, containerPort: 1}]}, {name: b, ports: [{hostPort: 2, containerPort: 2}]}], containers: []}`, func(s model.PodShape) bool { return len(s.HostPorts) == 1 && s.HostPorts[0].Port == 1 }},
		"a cost that is no number":           {`metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: cheap}}`, func(s model.PodShape) bool { return s.DeletionCost == 0 }},
		"only labels of its own":             {`metadata: {labels: {batch.kubernetes.io/job-completion-index: "3"}}`, func(s model.PodShape) bool { return s.Labels == nil }},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if _, shape := Pod(parsePod(t, tt.pod)); !tt.check(shape) {
				t.Errorf("got %+v", shape)
			}
		})
	}
}

func TestPodsOfOneStatefulSetShareAShape(t *testing.T) {
	var shapes wire.Shapes
	for i := range 5 {
		_, shape := Pod(parsePod(t, strings.ReplaceAll(fullPod, "web-0", fmt.Sprintf("web-%d", i))))
		shapes.Intern(&shape)
	}
	if shapes.Len() != 1 {
		t.Errorf("five pods have %d shapes", shapes.Len())
	}
}

// Promise C13: what a pod gets as a secret stays in the cluster.
func TestNoSecretOfAPodIsTranslated(t *testing.T) {
	pod := parsePod(t, `
metadata:
  namespace: a
  name: b
  annotations: {note: SECRET}
  managedFields: [{manager: SECRET}]
spec:
  containers:
  - name: c
    image: SECRET
    command: [SECRET]
    args: [SECRET]
    env: [{name: PASSWORD, value: SECRET}, {name: TOKEN, valueFrom: {secretKeyRef: {name: SECRET, key: SECRET}}}]
    envFrom: [{secretRef: {name: SECRET}}]
    lifecycle: {preStop: {exec: {command: [SECRET]}}}
  imagePullSecrets: [{name: SECRET}]
  volumes: [{name: v, secret: {secretName: SECRET}}, {name: w, csi: {driver: d, volumeAttributes: {a: SECRET}}}]
status:
  message: SECRET
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: SECRET}]
`)
	builder := &Builder{}
	builder.Add(pod)
	builder.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: map[string]string{"a": "SECRET"}}})
	builder.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"a": "SECRET"}}})
	s := builder.Snapshot("prod", 1)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 1 || strings.Contains(string(data), "SECRET") {
		t.Errorf("got %s", data)
	}
}
