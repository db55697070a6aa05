package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// provisionFlags are what the command line says.
type provisionFlags struct {
	planFlags
	policies policyFlags
}

const provisionLong = `Reads a cluster from files and says which nodes Joiner would ask for, for the pods that wait, at what price, and
why a pod cannot be helped. Nothing is asked of a cluster or of AWS, and nothing is changed.

Input (-f) is what "kubectl get ... -o yaml" or "-o json" prints, or manifests: YAML or JSON, several documents to a
file, Lists, gzip; of a folder the .json, .yaml and .yml files in it, not the folders. Planned for are pods without
spec.nodeName that kube-scheduler found unschedulable or has not looked at, and those of nodes that are to end: the node
or its NodeClaim is being deleted, or it bears the taint karpenter.sh/disrupted. Other nodes and NodeClaims are capacity
that is there or on its way; NodePools say what may be bought. The room that CapacityBuffers keep free is planned for
like pods of the lowest priority, named capacity-buffer-NAME-NUMBER; give what the buffers are of, too: PodTemplates,
Deployments, StatefulSets, ReplicaSets. An object that is there twice counts as the last one says.
Objects of kinds that planning does not look at are left out with a warning.

What can be bought (--catalog) is a JSON file, gzip or not:

  {"instanceTypes": [{
     "name": "m7g.large",
     "capacity": {"cpu": "2", "memory": "7Gi", "pods": "29"},
     "overhead": {"cpu": "70m", "memory": "600Mi"},
     "labels":   {"kubernetes.io/arch": "arm64"},
     "offers":   [{"zone": "us-west-2a", "capacityType": "on-demand", "pricePerHour": 0.0816, "available": true}]}]}

Quantities are written as Kubernetes does. "overhead" is what the system keeps of the capacity. Labels that are absent
mean architecture amd64 and operating system linux; name, zones and capacity types are labels by themselves. Labels
that nodes do not get from their machine, such as team.example/size, are the NodePool's: they are not looked at here. A
capacity type is on-demand, spot or reserved; reserved offers have "reservationId" and "reservationCapacity" too. Every
EC2NodeClass can buy all of it, whether or not the class is in the input. Without --catalog a built-in catalogue of
EC2 types and list prices is used, and each NodePool needs its EC2NodeClass in the input.

With --default-spread, pods without spread of their own get it over the pods that Services, ReplicationControllers,
ReplicaSets and StatefulSets of the input say are their like, as kube-scheduler does.

Exit status: 0 with a plan, pods that cannot be helped included; 2 where the input cannot be read, with file, document
and field named on standard error; 1 where the plan cannot be written.`

const provisionExample = `  # the cluster kubectl points at, as it is now
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pv,pvc,storageclasses -A -o json |
    joiner plan provision -f -

  # manifests that are not applied yet, on your own prices
  joiner plan provision -f nodepools.yaml -f pods/ --catalog catalog.json.gz

  # the price per hour alone
  joiner plan provision -f cluster.yaml -o json | jq .pricePerHour`

func newProvision() *cobra.Command {
	flags := &provisionFlags{}
	command := &cobra.Command{
		Use:     "provision -f FILE_OR_FOLDER...",
		Short:   "Say which nodes the waiting pods need, and what they cost",
		Long:    provisionLong,
		Example: provisionExample,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command)
		},
	}
	flags.register(command)
	flags.policies.register(command)
	return command
}

func (f *provisionFlags) run(command *cobra.Command) error {
	now, err := f.at()
	if err != nil {
		return err
	}
	cluster, err := f.policies.cluster(command.InOrStdin(), &f.planFlags, now)
	if err != nil {
		return err
	}
	offered, err := f.policies.catalogInput(&f.planFlags, cluster, now)
	if err != nil {
		return err
	}
	warn(command.ErrOrStderr(), cluster.Warnings, offered.warnings)
	result := f.plan(cluster, &offered, now)
	write := show.Table
	if f.output == outputJSON {
		write = show.JSON
	}
	if err := write(command.OutOrStdout(), result); err != nil {
		return writeError{err}
	}
	return nil
}

// plan makes the plan. Its time is counted from the decoded input on.
func (f *provisionFlags) plan(cluster *read.Cluster, offered *catalogInput, now time.Time) *show.Result {
	start := time.Now()
	catalogs, problems := offered.catalogs(cluster.Snapshot, cluster.Claims)
	plan := pack.Plan(pack.Input{
		Snapshot:            cluster.Snapshot,
		Catalogs:            catalogs,
		ClassProblems:       problems,
		Claims:              cluster.Claims,
		Pending:             pack.PendingAt(cluster.Snapshot, cluster.Leaving, now.Unix()),
		Usage:               usage(cluster.Snapshot, cluster.Claims, catalogs),
		NowUnix:             now.Unix(),
		IgnorePreferences:   f.policies.preferences == ignore,
		BestEffortMinValues: f.policies.minValues == bestEffort,
	})
	return &show.Result{Plan: plan, PlanSeconds: time.Since(start).Seconds(), Catalogs: catalogs, NotPlanned: notPlanned(cluster.Snapshot), Headroom: headroom(cluster.Snapshot)}
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

func warn(out io.Writer, lists ...[]string) {
	for _, list := range lists {
		for _, warning := range list {
			fmt.Fprintln(out, "warning:", warning)
		}
	}
}
