package attach

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

// adoptFlags are what the command line says.
type adoptFlags struct {
	installation.Flags
	reach                  apiserver.Flags
	bucket, output         string
	yes, dryRun, karpenter bool
}

const adoptLong = `Adopts the nodes of a cluster that Karpenter ran. Each NodeClaim with an instance gets a claim in the ledger, its
instance gets the tag joiner.sh/intent, and its drift hashes are rewritten by Joiner's rules: adoption causes no
drift, and nodes that had drifted stay drifted. Pods, nodes, instances, finalizers, NodePools and EC2NodeClasses stay
as they are.

Without --yes nothing is written: it prints what would be done, and what cannot be adopted and why. With --yes it
reads everything again and adopts. You may stop it at any point and run it again; a second run finds nothing left to
do.

Before --yes: attach the cluster, wait until no NodeClaim is being launched, and stop Karpenter (kubectl scale
deployment karpenter -n kube-system --replicas=0). It refuses while Karpenter runs, or while that is unknown. If
Karpenter was just stopped, it waits for two minutes at most, because Karpenter's lease counts for a minute. Do not
change NodePools and EC2NodeClasses in between: a change then counts as made before the launch.

  adopt    gets a claim. If it is being deleted, its drain continues where Karpenter stopped.
  mend     has a claim; an earlier run did not write its tag or its hashes, or did not remove a taint of Karpenter
  ours     nothing is left to do
  wait     Karpenter has not launched an instance for it yet
  refuse   cannot be adopted, for the given reason

Instances without a NodeClaim are listed and left alone, as are nodes without a NodePool, such as managed node groups.
It names each Helm release whose uninstall would delete the CustomResourceDefinitions, such as karpenter-crd, with the
command that makes Helm forget it.

The ledger is found with your own AWS permissions. EC2 and the API server are reached as the functions reach them,
with the role and endpoint the cluster was attached with. --own-rights uses your own permissions for these, too, and
--kubeconfig reaches the API server by a kubeconfig. It needs what the ClusterRole joiner-adopt allows, and
ec2:DescribeInstances and ec2:CreateTags.

Exit status: 0 if everything was read, and with --yes written, even if some NodeClaims cannot be adopted; 2 if
something cannot be read, or Karpenter runs; 1 if something could not be written.`

const adoptExample = `  # what would be adopted
  joiner adopt shop

  # as yourself, through a kubeconfig
  joiner adopt shop --own-rights --kubeconfig ~/.kube/config --context shop

  # adopt
  kubectl scale deployment karpenter -n kube-system --replicas=0
  joiner adopt shop --yes`

// NewAdopt returns the command adopt.
func NewAdopt() *cobra.Command {
	f := &adoptFlags{}
	command := &cobra.Command{
		Use:     "adopt CLUSTER",
		Short:   "Adopt the nodes of a cluster that Karpenter ran",
		Long:    adoptLong,
		Example: adoptExample,
		Args:    cli.OneArg("CLUSTER"),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = f.CompleteClusters()
	f.Register(command)
	flags := command.Flags()
	flags.StringVar(&f.bucket, "bucket", os.Getenv("JOINER_BUCKET"),
		"the `BUCKET` with the catalog, for prices (default: JOINER_BUCKET, else the installation's; without it "+
			"claims have no price)")
	f.reach.Register(command)
	flags.BoolVar(&f.reach.OwnRights, "own-rights", false,
		"reach EC2 and the API server with your own permissions, not with the cluster's role")
	flags.BoolVar(&f.karpenter, "despite-karpenter", false,
		"continue although Karpenter seems to run: only if you know that it does not")
	flags.BoolVar(&f.yes, "yes", false, "adopt; without it nothing is written")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, as without --yes")
	cli.OutputFlag(command, &f.output, "output format")
	cli.NoFiles(command, "bucket")
	return command
}

func (f *adoptFlags) run(command *cobra.Command, cluster string) error {
	if f.yes && f.dryRun {
		return errors.New("--dry-run: it excludes --yes; give one of them")
	}
	ctx, stop := cli.Context(command)
	defer stop()
	flow, at, err := f.flow(ctx)
	if err != nil {
		return err
	}
	flow.Progress = func(text string) { fmt.Fprintln(command.ErrOrStderr(), text) }
	outcome, err := flow.Run(ctx, adopt.Request{
		Cluster: cluster, Owner: "adopt-" + ulid.MustNew(ulid.Now(), rand.Reader).String(), Apply: f.yes,
		DespiteKarpenter: f.karpenter,
	})
	if len(outcome.Items) > 0 {
		outcome.Warnings = append(outcome.Warnings, HelmTraps(ctx, at, &f.reach, cluster)...)
	}
	return f.print(command, outcome, err)
}

// HelmTraps says which releases of Helm's take the definitions away when they are uninstalled, as people do with
// Karpenter's once it is stopped.
func HelmTraps(ctx context.Context, at *installation.Session, reach *apiserver.Flags, cluster string) []string {
	reg, err := at.Ledger.Cluster(ctx, cluster)
	if err != nil {
		return nil // of which the flow has said so
	}
	client, err := (&apiserver.Clients{Flags: reach, Config: at.Config}).Open(reg)
	if err != nil {
		return nil
	}
	releases, err := ekscluster.DefinitionReleases(ctx, client, preflight.Definitions)
	var out []string
	for _, finding := range preflight.HelmReleaseFindings(releases) {
		out = append(out, finding.Object+": "+finding.Seen+"; "+finding.Do)
	}
	if err != nil {
		out = append(out, "whether a Helm release would delete the CustomResourceDefinitions is unknown ("+err.Error()+
			"); before you uninstall a release of Karpenter: joiner doctor "+cluster+" --kubeconfig FILE")
	}
	return out
}

// print writes what was seen and done. What stopped the run comes after it; before anything was written that is a
// failure to begin.
func (f *adoptFlags) print(command *cobra.Command, outcome adopt.Outcome, failure error) error {
	written := 0
	for i := range outcome.Items {
		written += len(outcome.Items[i].Done)
	}
	if failure != nil && written == 0 && fault.CodeOf(failure) != "KarpenterRuns" {
		return failure
	}
	cli.Warn(command.ErrOrStderr(), outcome.Warnings)
	applied := f.yes && fault.CodeOf(failure) != "KarpenterRuns"
	err := cli.WriteWith(command, f.output, &outcome,
		func(out io.Writer, o *adopt.Outcome) error { return show.Adoption(out, o, applied) },
		func(out io.Writer, o *adopt.Outcome) error { return show.AdoptionJSON(out, o, applied) })
	if err != nil {
		return err
	}
	switch problems := outcome.Problems(); {
	case failure != nil && written > 0:
		return cli.Written(fmt.Errorf("stopped: %w; run it again", failure))
	case failure != nil:
		return failure
	case problems > 0:
		return cli.Written(fmt.Errorf("%d NodeClaims could not be adopted completely; run it again", problems))
	}
	return nil
}

// flow is the flow with real adapters.
func (f *adoptFlags) flow(ctx context.Context) (*adopt.Flow, *installation.Session, error) {
	find := f.Find
	if f.bucket == "" {
		find = f.Open
	}
	at, err := find(ctx)
	if err != nil {
		return nil, nil, err
	}
	flow := &adopt.Flow{
		Registry: at.Ledger, Leases: at.Ledger, Ledger: at.Ledger,
		Connector: adoptClients{apiserver.Clients{Flags: &f.reach, Config: at.Config}},
		Now:       time.Now, Pause: pause,
	}
	if bucket := cmp.Or(f.bucket, at.Bucket); bucket != "" {
		flow.Catalogs = s3catalog.New(s3.NewFromConfig(at.Config), bucket, s3catalog.Settings{})
	}
	return flow, at, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// adoptClients opens clusters that are taken over.
type adoptClients struct{ apiserver.Clients }

// Connect opens a cluster as the functions do, or as the flags say.
func (c adoptClients) Connect(_ context.Context, reg model.Registration) (adopt.Clients, error) {
	cluster, err := c.Open(reg)
	if err != nil {
		return adopt.Clients{}, err
	}
	return adopt.Clients{Cluster: cluster, Karpenter: cluster, Objects: cluster,
		Fleet: ec2fleet.New(ec2.NewFromConfig(c.Rights(reg)))}, nil
}
