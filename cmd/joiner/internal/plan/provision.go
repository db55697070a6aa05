package plan

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

const provisionLong = `Reads a cluster and shows which nodes Joiner would launch for its pending pods, at what price, and why a pod is
unschedulable. It does not call AWS, and changes nothing.

Without -f and -k the cluster of your kubeconfig is read, with your permissions to list in it; --context and
--kubeconfig name another. The input (-f) is what "kubectl get ... -o yaml" or "-o json" prints, or manifests: YAML or
JSON, several documents to a file, Lists, gzip; of a folder the .json, .yaml and .yml files in it, with -R those in
its subfolders too. Manifests of Deployments, ReplicaSets, StatefulSets, Jobs and CronJobs are planned as the pods that
they make. Input without an object is an error. It plans for pods without
spec.nodeName that kube-scheduler found unschedulable or has not tried yet, and for pods of nodes that terminate: the
node or its NodeClaim is being deleted, or it has the taint karpenter.sh/disrupted. Other nodes and NodeClaims are
existing or in-flight capacity; NodePools say what may be launched. The headroom of CapacityBuffers is planned for
like pods of the lowest priority, named capacity-buffer-NAME-NUMBER; include the objects the buffers refer to, too:
PodTemplates, Deployments, StatefulSets, ReplicaSets. If an object occurs twice, the last one counts. Objects of kinds
that planning does not use are left out with a warning.

The catalog of instance types (--catalog) is a JSON file, gzip or not:

  {"instanceTypes": [{
     "name": "m7g.large",
     "capacity": {"cpu": "2", "memory": "7Gi", "pods": "29"},
     "overhead": {"cpu": "70m", "memory": "600Mi"},
     "labels":   {"kubernetes.io/arch": "arm64"},
     "offers":   [{"zone": "us-west-2a", "capacityType": "on-demand", "pricePerHour": 0.0816, "available": true}]}]}

Quantities are written as in Kubernetes. "overhead" is what the system reserves of the capacity. Labels that are
absent mean architecture amd64 and operating system linux; name, zones and capacity types are labels by themselves.
Labels that nodes do not get from their instance type, such as team.example/size, belong to the NodePool and are
ignored here. A capacity type is on-demand, spot or reserved; reserved offerings have "reservationId" and
"reservationCapacity" too. "resourceSlices" is what DRA drivers publish on a node of the type, each the spec of a
ResourceSlice without its node: {"driver": "gpu.nvidia.com", "devices": [{"name": "gpu-0"}]}. What a driver has
published on a node of the type comes first. Every EC2NodeClass can launch all of it, whether or not the EC2NodeClass
is in the input. Without --catalog a built-in catalog of EC2 types and list prices is used, and each NodePool needs its
EC2NodeClass in the input.

With --default-spread, pods without spread constraints of their own get these over the pods that Services,
ReplicationControllers, ReplicaSets and StatefulSets of the input select, as in kube-scheduler.

Exit status: 0 with a plan, even if pods are unschedulable; 2 if the input cannot be read, with file, document and
field on standard error; 1 if the plan cannot be written.`

const provisionExample = `  # the cluster kubectl points at, as it is now
  joiner plan provision

  # as somebody else has listed it
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pv,pvc,storageclasses -A -o json |
    joiner plan provision -f -

  # manifests that are not applied yet, on your own prices
  joiner plan provision -f nodepools.yaml -f deployment.yaml --catalog catalog.json.gz

  # only the price per hour
  joiner plan provision -f cluster.yaml -o json | jq .priceMicroUSDPerHour/1e6`

func newProvision() *cobra.Command {
	flags := &input.Flags{}
	command := &cobra.Command{
		Use: "provision [-f FILE_OR_FOLDER...]", Short: "Show which nodes the pending pods need, and what they cost",
		Long: provisionLong, Example: provisionExample, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			now, err := flags.At()
			if err != nil {
				return err
			}
			cluster, err := flags.Cluster(command.InOrStdin(), now)
			if err != nil {
				return err
			}
			offered, err := flags.Offered(cluster.Snapshot, now)
			if err != nil {
				return err
			}
			cli.Warn(command.ErrOrStderr(), cluster.Warnings, offered.Warnings)
			return cli.WriteWith(command, flags.Output, provision(flags, cluster, &offered, now), show.Table,
				show.PlanJSON)
		},
	}
	flags.Register(command)
	return command
}

// provision makes the plan. Its time is counted from the decoded input on.
func provision(flags *input.Flags, cluster *read.Cluster, offered *input.Offered, now time.Time) *show.Result {
	start := time.Now()
	catalogs, problems := offered.Catalogs(cluster.Snapshot, cluster.Claims)
	plan := pack.Plan(pack.Input{
		Snapshot:            cluster.Snapshot,
		Catalogs:            catalogs,
		ClassProblems:       problems,
		Claims:              cluster.Claims,
		Pending:             pack.PendingAt(cluster.Snapshot, cluster.Leaving, now.Unix()),
		Usage:               input.Usage(cluster.Snapshot, cluster.Claims, catalogs),
		NowUnix:             now.Unix(),
		IgnorePreferences:   flags.IgnorePreferences(),
		BestEffortMinValues: flags.BestEffortMinValues(),
	})
	return &show.Result{
		Plan: plan, Snapshot: cluster.Snapshot, PlanSeconds: time.Since(start).Seconds(), Catalogs: catalogs,
		NotPlanned: notPlanned(cluster.Snapshot), Headroom: headroom(cluster.Snapshot),
	}
}

// headroom counts the places that CapacityBuffers keep free.
func headroom(snapshot *model.Snapshot) int {
	n := 0
	for i := range snapshot.Pods {
		if snapshot.Pods[i].Buffer != "" {
			n++
		}
	}
	return n
}

// notPlanned counts the pods that wait for something else than capacity, by what that is.
func notPlanned(snapshot *model.Snapshot) map[string]int {
	out := map[string]int{}
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if pod.NodeName != "" || pod.Terminal() {
			continue
		}
		if ok, why := pack.Provisionable(snapshot, i); !ok {
			out[why]++
		}
	}
	return out
}
