package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
)

// theNode is a node with half a core left.
const theNode = `
---
apiVersion: v1
kind: Node
metadata:
  name: there
  uid: node-there
  labels: {kubernetes.io/arch: amd64, kubernetes.io/os: linux, kubernetes.io/hostname: there, topology.kubernetes.io/zone: us-west-2a}
spec: {providerID: "aws:///us-west-2a/i-00000000000000001"}
status:
  capacity: {cpu: "1", memory: 2Gi, pods: "10"}
  allocatable: {cpu: "1", memory: 2Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: busy, uid: pod-busy, labels: {app: busy}}
spec: {nodeName: there, containers: [{name: a, resources: {requests: {cpu: 500m}}}]}
status: {phase: Running, startTime: "2026-01-02T14:00:00Z"}
`

// aPool is a NodePool; spec is added to its own, of its template to that.
func aPool(name, spec, template string) string {
	return fmt.Sprintf(`
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s, uid: pool-%s}
spec:
  %s
  template:
    metadata: {labels: {team: shop}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      %s
`, name, name, spec, template)
}

// aPod is the pod that is asked about, which kube-scheduler gave up on.
func aPod(spec string) string { return podIs("", spec, unschedulable) }

const unschedulable = `conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/1 nodes are available}]`

func podIs(metadata, spec, status string) string {
	if !strings.Contains(spec, "containers") {
		spec += "\n  containers: [{name: a, resources: {requests: {cpu: 1200m, memory: 1Gi}}}]"
	}
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: web, uid: pod-web, creationTimestamp: "2026-01-02T15:00:00Z", labels: {app: web}%s}
spec:
  %s
status: {phase: Pending, %s}
`, metadata, spec, status)
}

var onDemand = `requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]`

// causes are why a pod waits, each with a cluster in which it is so, and what the first line must name: written down from how the
// cluster was built, not from what is printed.
var causes = []struct {
	name, cluster string
	code          string
	names         []string // what the line says of the cause
	remedy        []string // what it says of the remedy; none = there is none to give
}{
	{"01 scheduling gate", aPool("default", "", "") + podIs("", "schedulingGates: [{name: quota.example.com/wait}]", `conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]`),
		explain.Gated, []string{"scheduling gates"}, []string{"gates", "remove"}},
	{"02 another scheduler", aPool("default", "", "") + podIs("", "schedulerName: batch", ""), explain.OtherScheduler, []string{"scheduler batch", "not tried it for 4m5s"}, []string{"start the scheduler batch"}},
	{"03 bound already", aPool("default", "", "") + podIs("", "nodeName: there", `startTime: "2026-01-02T15:01:00Z"`) + "\n", explain.Bound, []string{"is not pending", "node there", "2026-01-02T15:01:00Z"}, []string{"describe pod web"}},
	{"04 kube-scheduler has not tried", aPool("default", "", "") + podIs("", "", ""), explain.NotScheduledYet, []string{"kube-scheduler has not tried it"}, []string{"check that kube-scheduler runs"}},
	{"05 waits for a preemption", theNode + aPool("default", "", "") + podIs("", "priority: 100", unschedulable+", nominatedNodeName: there"), explain.Preempting, []string{"lower priority", "node there"}, []string{"grace periods"}},
	{"06 claim is missing", aPool("default", "", "") + aPod("volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"), pack.VolumeConflict, []string{"data"}, []string{"create"}},
	{"07 claim is unbound", aPool("default", "", "") + aPod("volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]") + `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data, uid: pvc}, spec: {storageClassName: slow}, status: {phase: Pending}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: ebs.csi.aws.com, volumeBindingMode: Immediate}
`, pack.VolumeConflict, []string{"shop/data has no volume", "slow"}, []string{"see the events of the claim", "WaitForFirstConsumer"}},
	{"08 volume is in another zone", aPool("default", "", "") + aPod("volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]") + `
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: shop, name: data, uid: pvc, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {storageClassName: gp3, volumeName: vol}, status: {phase: Bound}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: vol}
spec:
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2c]}]}]}}
`, pack.VolumeConflict, []string{"us-west-2c"}, []string{"let a NodePool launch nodes there"}},
	{"09 a label nobody defines", aPool("default", "", "") + aPod("nodeSelector: {example.com/team: shop}"), pack.RequirementConflict, []string{"spec.nodeSelector", "example.com/team", "did you mean team?"}, []string{"change the pod's node selection"}},
	{"10 a zone nobody sells", aPool("default", "", "") + aPod("nodeSelector: {topology.kubernetes.io/zone: us-west-2d}"), pack.RequirementConflict, []string{"us-west-2d", "they have us-west-2a, us-west-2b", "did you mean us-west-2a?"}, []string{"change the pod's node selection", "then NodePool default would hold it"}},
	{"11 taint is not tolerated", aPool("gpu", "", `taints: [{key: gpu, value: "yes", effect: NoSchedule}]`) + aPod(""), pack.TaintNotTolerated, []string{"gpu=yes:NoSchedule"}, []string{"add a toleration", "then NodePool gpu would hold it on m7.large"}},
	{"12 too large", aPool("default", "", "") + aPod("containers: [{name: a, resources: {requests: {cpu: \"64\"}}}]"), pack.ResourcesTooLarge, []string{"cpu 64", "at most 3900m"}, []string{"lower the requests"}},
	{"13 an m was forgotten", aPool("default", "", "") + aPod("containers: [{name: a, resources: {requests: {cpu: \"1500000\"}}}]"), pack.ResourcesTooLarge, []string{`was "m" left out`}, []string{"lower the requests"}},
	{"14 daemons take the rest", aPool("default", "", `requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m7.large]}]`) + aPod("containers: [{name: a, resources: {requests: {cpu: 1600m}}}]") + `
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: kube-system, name: agent, uid: ds}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, resources: {requests: {cpu: 400m}}}]}}}}
`, pack.ResourcesTooLarge, []string{"less the requests of DaemonSets", "cpu 1600m (at most 1500m)"}, []string{"lower the requests, or let the pool use larger instance types"}},
	{"15 spread cannot hold", aPool("default", "", `requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}]`) + aPod("topologySpreadConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, minDomains: 3, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}]"),
		pack.TopologySpread, []string{"topologySpreadConstraints[0]", "more than 1"}, []string{"raise maxSkew"}},
	{"16 must not be near", aPool("default", "", `requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}]`) + aPod("affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: busy}}}]}}"),
		pack.PodAntiAffinity, []string{"podAntiAffinity", "pods with app=busy already run in"}, []string{"allow more domains"}},
	{"17 nobody to be near", aPool("default", "", "") + aPod("affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: cache}}}]}}"),
		pack.PodAffinity, []string{"podAffinity", "app=cache"}, []string{"start such a pod"}},
	{"18 a daemon has its host port", aPool("default", "", "") + aPod("containers: [{name: a, resources: {requests: {cpu: 1200m}}, ports: [{containerPort: 80, hostPort: 8080}]}]") + `
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: kube-system, name: proxy, uid: ds}, spec: {selector: {matchLabels: {app: proxy}}, template: {metadata: {labels: {app: proxy}}, spec: {containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}]}]}}}}
`, pack.HostPortTaken, []string{"hostPort"}, []string{"use another host port"}},
	{"19 too few values", aPool("default", "", `requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: 9}]`) + aPod(""), pack.MinValues, []string{"node.kubernetes.io/instance-type"}, []string{"lower minValues"}},
	{"20 the NodePool contradicts itself", aPool("default", "", `requirements: [{key: example.com/rack, operator: In, values: [a]}, {key: example.com/rack, operator: In, values: [b]}]`) + aPod(""), pack.PoolInvalid, []string{"example.com/rack"}, []string{"correct the NodePool"}},
	{"21 no NodePool", aPod(""), pack.NoPools, []string{"no NodePool"}, []string{"create a NodePool"}},
	{"22 the limit is reached", aPool("default", "limits: {cpu: 1}", "") + aPod(""), pack.LimitReached, []string{"spec.limits.cpu 1", "at least 2"}, []string{"raise the limit"}},
	{"23 everything is sold out", aPool("gpu", "", `requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2b]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]`) +
		aPod("containers: [{name: a, resources: {requests: {cpu: 1200m}, limits: {nvidia.com/gpu: 1}}}]"), pack.NoOffering, []string{"all 1 offerings that could hold it are unavailable"}, []string{"more instance types, zones"}},
	{"24 the reservation is used up", aPool("gpu", "", `requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}]`) +
		aPod("containers: [{name: a, resources: {requests: {cpu: 1200m}, limits: {nvidia.com/gpu: 1}}}]"), pack.NoOffering, []string{"capacity reservations it may use are full"}, []string{"enlarge the reservation"}},
	{"25 the NodePool has a fixed size", aPool("default", "replicas: 2", "") + aPod(""), pack.PoolStatic, []string{"spec.replicas is 2"}, []string{"raise spec.replicas"}},
	{"26 dynamic resources", aPool("default", "", "") + aPod("resourceClaims: [{name: gpu, resourceClaimName: gpu}]"), pack.DevicesUnavailable, []string{"spec.resourceClaims"}, []string{"Kubernetes 1.34"}},
	{"27 a DaemonSet's pod", aPool("default", "", "") + podIs(`, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: ds, controller: true}]`,
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [there]}]}]}}}", unschedulable),
		explain.OfItsNode, []string{"node there", "DaemonSet agent"}, []string{"free capacity there"}},
	{"M93 a system workload",
		aPool("default", "", "") + podIs(", annotations: {joiner.sh/system-workload: \"true\"}", "", unschedulable),
		explain.SystemWorkload, []string{"joiner.sh/system-workload"}, []string{"remove the annotation"}},
	{"28 the machine has not joined", aPool("default", "", "") + aPod("") + claimOf("2026-01-02T15:00:30Z", ""), explain.Joining, []string{"NodeClaim default-x1", "launched 3m35s ago", "not joined"}, []string{"get-console-output", "i-00000000000000009", "2026-01-02T15:15:30Z"}},
	{"29 a startup taint", aPool("default", "", `startupTaints: [{key: net.example.com/wait, effect: NoSchedule}]`) + aPod("") + claimOf("2026-01-02T15:00:30Z", `startupTaints: [{key: net.example.com/wait, effect: NoSchedule}]`) +
		joined(`taints: [{key: net.example.com/wait, effect: NoSchedule}]`, "True"), explain.StartupTaint, []string{"net.example.com/wait:NoSchedule", "node new"}, []string{"removes it"}},
	{"30 the node is not ready", aPool("default", "", "") + aPod("") + claimOf("2026-01-02T15:00:30Z", "") + joined("", "False"), explain.NodeNotReady, []string{"node new", "not Ready"}, []string{"network plugin"}},
	{"31 it fits what is there", aPool("default", "", "") + aPod("containers: [{name: a, resources: {requests: {cpu: 300m}}}]"), explain.FitsThere, []string{"fits the existing node there"}, []string{"kube-scheduler"}},
	{"32 a machine can be had", aPool("default", "", onDemand) + aPod(""), explain.Planned, []string{"NodePool default (m7.large on-demand"}, []string{"the same command without -f"}},
	{"33 a misspelt pod", aPool("default", "", "") + strings.ReplaceAll(aPod(""), "name: web,", "name: web-5d4f8c7b9f-x2k9z,"), explain.NotThere, []string{"does not exist"}, []string{"did you mean shop/web-5d4f8c7b9f-x2k9z"}},
	{"34 a pod that was never made", aPool("default", "", ""), explain.NotThere, []string{"does not exist"}, []string{"ResourceQuota", "FailedCreate"}},
	{"35 the nearest of several NodePools", aPool("arm", "", `requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]`) + aPool("gpu", "", `taints: [{key: gpu, effect: NoSchedule}]
      requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2b]}]`) + aPool("default", "limits: {cpu: 1}", "") + aPod("nodeSelector: {topology.kubernetes.io/zone: us-west-2a}"),
		pack.LimitReached, []string{"NodePool default: spec.limits.cpu"}, []string{"raise the limit", "then NodePool default would hold it"}},
	{"36 it has ended", strings.Replace(podIs("", "nodeName: there", "reason: Done"), "phase: Pending", "phase: Succeeded", 1), explain.Ended, []string{"has succeeded"}, nil},
}

// claimOf is a NodeClaim of an instance that was launched then.
func claimOf(launched, spec string) string {
	return fmt.Sprintf(`
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: default-x1, uid: claim, creationTimestamp: "2026-01-02T15:00:20Z", labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m7.large, topology.kubernetes.io/zone: us-west-2b, karpenter.sh/capacity-type: on-demand}}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m7.large]}, {key: topology.kubernetes.io/zone, operator: In, values: [us-west-2b]}]
  resources: {requests: {cpu: 1200m, memory: 1Gi}}
  %s
status:
  providerID: aws:///us-west-2b/i-00000000000000009
  capacity: {cpu: "2", memory: 8Gi, pods: "29"}
  allocatable: {cpu: 1900m, memory: 7Gi, pods: "29"}
  conditions: [{type: Launched, status: "True", reason: Launched, lastTransitionTime: %q}]
`, spec, launched)
}

// joined is the node of that instance.
func joined(spec, ready string) string {
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Node
metadata:
  name: new
  uid: node-new
  labels: {kubernetes.io/arch: amd64, kubernetes.io/os: linux, kubernetes.io/hostname: new, topology.kubernetes.io/zone: us-west-2b, node.kubernetes.io/instance-type: m7.large, karpenter.sh/capacity-type: on-demand, karpenter.sh/nodepool: default, karpenter.sh/registered: "true"}
spec: {providerID: "aws:///us-west-2b/i-00000000000000009", %s}
status:
  capacity: {cpu: "2", memory: 8Gi, pods: "29"}
  allocatable: {cpu: 1900m, memory: 7Gi, pods: "29"}
  conditions: [{type: Ready, status: %q}]
`, spec, ready)
}

// D3, M112: for canned causes of a pending pod the first line names the true cause and the nearest remedy.
func TestWhyPodNamesTheCauseAndTheRemedyInItsFirstLine(t *testing.T) {
	if len(causes) < 25 {
		t.Fatalf("%d causes", len(causes))
	}
	for _, test := range causes {
		t.Run(test.name, func(t *testing.T) {
			code, out, errs := joiner(theNode+test.cluster, "why", "pod", "shop/web", "-f", "-", "--catalog", "testdata/why/catalog.json", "--at", "2026-01-02T15:04:05Z")
			if code != 0 && test.code != explain.NotThere { // U22
				t.Fatalf("exit status %d: %s", code, errs)
			}
			first, _, _ := strings.Cut(out+errs, "\n")
			t.Log(first)
			cause, remedy, has := strings.Cut(first, " Remedy: ")
			if !has && len(test.remedy) > 0 {
				t.Error("no remedy is named")
			}
			for _, want := range test.names {
				if !strings.Contains(cause, want) {
					t.Errorf("the cause does not say %q", want)
				}
			}
			for _, want := range test.remedy {
				if !strings.Contains(remedy, want) {
					t.Errorf("the remedy does not say %q", want)
				}
			}
			var answer explain.PodAnswer
			code, out, errs = joiner(theNode+test.cluster, "why", "pod", "shop/web", "-f", "-", "--catalog", "testdata/why/catalog.json", "--at", "2026-01-02T15:04:05Z", "-o", "json")
			if code != 0 && test.code != explain.NotThere { // U22
				t.Fatalf("exit status %d: %s", code, errs)
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Cause.Code != test.code {
				t.Errorf("the code is %s, want %s", answer.Cause.Code, test.code)
			}
		})
	}
}

// Files are enough to say why a node stays, of one of which it is unknown that it is not there, and of one of no NodePool that it is nobody's.
func TestWhyNodeOfFiles(t *testing.T) {
	for asked, want := range map[string]string{
		"default-00006":                          "node ip-10-0-0-6.us-west-2.compute.internal runs since 2026-02-28T20:00:00Z at $0.2016 per hour and stays: node ip-10-0-0-6.us-west-2.compute.internal has the annotation karpenter.sh/do-not-disrupt: true.",
		"i-00000000000000007":                    "node ip-10-0-0-7.us-west-2.compute.internal runs since 2026-02-28T20:00:00Z at $0.2016 per hour and stays: PodDisruptionBudget shop/ledger allows no disruption now, and selects pod shop/ledger-0.",
		"ip-10-0-0-4.us-west-2.compute.internal": "node ip-10-0-0-4.us-west-2.compute.internal runs since 2026-02-28T20:00:00Z at $0.2900 per hour; it is disrupted next (Empty), which saves $0.5800 per hour with all of the command.",
		"ip-10-0-0-4.us-west-2.compute.interna1": "node ip-10-0-0-4.us-west-2.compute.interna1 is neither a node, nor a NodeClaim, nor an instance that is known as of 2026-03-01T02:00:00Z. Remedy: did you mean ip-10-0-0-4.us-west-2.compute.internal?",
	} {
		code, out, errs := joiner("", "why", "node", asked, "-f", "testdata/night", "--at", "2026-03-01T02:00:00Z")
		status := 0
		if strings.Contains(want, "is neither a node") { // U22
			out, status = errs, 1
		}
		if first, _, _ := strings.Cut(out, "\n"); code != status || first != want {
			t.Errorf("%s: exit status %d, %s\ngot  %s\nwant %s", asked, code, errs, first, want)
		}
	}
	code, out, _ := joiner(theNode, "why", "node", "there", "-f", "-", "--catalog", "testdata/why/catalog.json")
	if code != 0 || !strings.Contains(out, "belongs to no NodePool") {
		t.Errorf("exit status %d, %s", code, out)
	}
}

// What nodes of files cost an hour comes to the sum that plan disrupt has, and what is shared out with what is idle to the whole.
func TestReportOfFilesSumsUp(t *testing.T) {
	code, out, errs := joiner("", "report", "-f", "testdata/night", "-o", "json")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var cost explain.Cost
	if err := json.Unmarshal([]byte(out), &cost); err != nil {
		t.Fatal(err)
	}
	shared := cost.Idle + cost.Unseen
	for _, n := range cost.Namespaces {
		shared += n.Cost
	}
	if cost.Total != 2_596_000 || shared != cost.Total || cost.Unpriced != 0 || len(cost.Nodes) != 9 {
		t.Errorf("total %d, shared %d, %d without a price, %d nodes", cost.Total, shared, cost.Unpriced, len(cost.Nodes))
	}
	for _, by := range []string{"pool", "namespace", "workload"} {
		if code, out, errs := joiner("", "report", "-f", "testdata/night", "--by", by); code != 0 || !strings.Contains(out, strings.ToUpper(by)) || !strings.Contains(out, "IDLE NODES") {
			t.Errorf("exit status %d: %s%s", code, out, errs)
		}
	}
	for args, want := range map[string]string{
		"report --since 0h": "give more than 0", "savings --since soon": "not a duration", "why pod a/b/c -f x": "NAMESPACE/NAME", "why pod a/b -f testdata/night --at noon": "not a time",
	} {
		if code, _, errs := joiner("", strings.Fields(args)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit status %d, %s", args, code, errs)
		}
	}
}
