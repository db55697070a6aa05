package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/adopt"
	"github.com/joiner-sh/joiner/shared/model"
)

// adoptFlags are what the command line says.
type adoptFlags struct {
	place
	bucket              string
	kubeconfig, context string
	yes, karpenter, own bool
	output              string
	dryRun              bool
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

func newAdopt() *cobra.Command {
	f := &adoptFlags{}
	command := &cobra.Command{
		Use:     "adopt CLUSTER",
		Short:   "Adopt the nodes of a cluster that Karpenter ran",
		Long:    adoptLong,
		Example: adoptExample,
		Args:    cobra.ExactArgs(1),
		RunE:    func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.register(command)
	flags := command.Flags()
	flags.StringVar(&f.bucket, "bucket", os.Getenv("JOINER_BUCKET"), "the `BUCKET` with the catalog, for prices (default: JOINER_BUCKET, else the installation's; without it claims have no price)")
	f.registerReach(command)
	flags.BoolVar(&f.own, "own-rights", false, "reach EC2 and the API server with your own permissions, not with the cluster's role")
	flags.BoolVar(&f.karpenter, "despite-karpenter", false, "continue although Karpenter seems to run: only if you know that it does not")
	flags.BoolVar(&f.yes, "yes", false, "adopt; without it nothing is written")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, as without --yes")
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
	must(command.RegisterFlagCompletionFunc("bucket", cobra.NoFileCompletions))
	return command
}

// registerReach adds the flags that say how an API server is reached.
func (f *adoptFlags) registerReach(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "reach the API server by this kubeconfig `FILE`")
	flags.StringVar(&f.context, "context", "", "the `CONTEXT` of the kubeconfig (default: its current one)")
	must(command.MarkFlagFilename("kubeconfig"))
	must(command.RegisterFlagCompletionFunc("context", cobra.NoFileCompletions))
}

func (f *adoptFlags) run(command *cobra.Command, cluster string) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flow, at, err := f.flow(ctx)
	if err != nil {
		return err
	}
	flow.Progress = func(text string) { fmt.Fprintln(command.ErrOrStderr(), text) }
	outcome, err := flow.Run(ctx, adopt.Request{
		Cluster: cluster, Owner: "adopt-" + ulid.MustNew(ulid.Now(), rand.Reader).String(), Apply: f.yes, DespiteKarpenter: f.karpenter,
	})
	if len(outcome.Items) > 0 {
		outcome.Warnings = append(outcome.Warnings, f.traps(ctx, at, cluster)...)
	}
	return f.print(command, outcome, err)
}

// traps says which releases of Helm's take the definitions away when they are uninstalled, as people do with Karpenter's once it is stopped.
func (f *adoptFlags) traps(ctx context.Context, at *session, cluster string) []string {
	reg, err := at.ledger.Cluster(ctx, cluster)
	if err != nil {
		return nil // of which the flow has said so
	}
	sites := adoptClients{flags: f, config: at.config}
	client, err := sites.open(ctx, reg)
	if err != nil {
		return nil
	}
	releases, err := ekscluster.DefinitionReleases(ctx, client, preflight.Definitions)
	var out []string
	for _, finding := range preflight.HelmReleaseFindings(releases) {
		out = append(out, finding.Object+": "+finding.Seen+"; "+finding.Do)
	}
	if err != nil {
		out = append(out, "whether a Helm release would delete the CustomResourceDefinitions is unknown ("+err.Error()+"); before you uninstall a release of Karpenter: joiner doctor "+cluster+" --kubeconfig FILE")
	}
	return out
}

func (f *adoptFlags) check() error {
	switch {
	case f.yes && f.dryRun:
		return errors.New("--dry-run: it excludes --yes; give one of them")
	case f.context != "" && f.kubeconfig == "":
		return errors.New("--context: it is of a kubeconfig; give --kubeconfig too")
	}
	return nil
}

// print writes what was seen and done. What stopped the run comes after it; before anything was written that is a failure to
// begin.
func (f *adoptFlags) print(command *cobra.Command, outcome adopt.Outcome, failure error) error {
	written := 0
	for i := range outcome.Items {
		written += len(outcome.Items[i].Done)
	}
	if failure != nil && written == 0 && fault.CodeOf(failure) != "KarpenterRuns" {
		return failure
	}
	warn(command.ErrOrStderr(), outcome.Warnings)
	write := show.Adoption
	if f.output == outputJSON {
		write = show.AdoptionJSON
	}
	if err := write(command.OutOrStdout(), &outcome, f.yes && fault.CodeOf(failure) != "KarpenterRuns"); err != nil {
		return writeError{err}
	}
	switch problems := outcome.Problems(); {
	case failure != nil && written > 0:
		return writeError{fmt.Errorf("stopped: %w; run it again", failure)}
	case failure != nil:
		return failure
	case problems > 0:
		return writeError{fmt.Errorf("%d NodeClaims could not be adopted completely; run it again", problems)}
	}
	return nil
}

// flow is the flow with real adapters.
func (f *adoptFlags) flow(ctx context.Context) (*adopt.Flow, *session, error) {
	find := f.find
	if f.bucket == "" {
		find = f.open
	}
	at, err := find(ctx)
	if err != nil {
		return nil, nil, err
	}
	flow := &adopt.Flow{
		Registry: at.ledger, Leases: at.ledger, Ledger: at.ledger, Connector: &adoptClients{flags: f, config: at.config}, Now: time.Now, Pause: pause,
	}
	if bucket := cmp.Or(f.bucket, at.Bucket); bucket != "" {
		flow.Catalogs = s3catalog.New(s3.NewFromConfig(at.config), bucket, s3catalog.Settings{})
	}
	return flow, at, nil
}

// errNoRegion says that nothing names a region.
var errNoRegion = errors.New("no AWS region is set, by --region, AWS_REGION or the profile")

// awsConfig is the caller's own configuration for AWS; region empty = the one it says.
func awsConfig(ctx context.Context, region string) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})} // errors say what went wrong; a line of the SDK's log beside them does not help
	if region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	config, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return config, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if config.Region == "" {
		return config, errNoRegion
	}
	return config, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// adoptClients opens clusters.
type adoptClients struct {
	flags  *adoptFlags
	config aws.Config
}

// rights are the caller's in a cluster, as the flags say.
func (s *adoptClients) rights(reg model.Registration) aws.Config {
	if s.flags.own {
		reg.Roles, reg.ExternalID = model.Roles{}, ""
	}
	return boot.Rights(s.config, "joiner-adopt", reg.Region, reg.Roles.Adopt, reg.ExternalID)
}

// open opens a cluster's API server.
func (s *adoptClients) open(_ context.Context, reg model.Registration) (*ekscluster.Client, error) {
	reg.RelayURL = "" // people reach it themselves, or not at all
	return s.cluster(s.rights(reg), reg)
}

// Connect opens a cluster as the functions do, or as the flags say.
func (s *adoptClients) Connect(ctx context.Context, reg model.Registration) (adopt.Clients, error) {
	config := s.rights(reg)
	cluster, err := s.open(ctx, reg)
	if err != nil {
		return adopt.Clients{}, err
	}
	return adopt.Clients{Cluster: cluster, Karpenter: cluster, Objects: cluster, Fleet: ec2fleet.New(ec2.NewFromConfig(config))}, nil
}

func (s *adoptClients) cluster(config aws.Config, reg model.Registration) (*ekscluster.Client, error) {
	if s.flags.kubeconfig == "" {
		reg.RelayURL = "" // people have a way to API servers that functions have not, and an access entry of their own
		return ekscluster.Connect(config, reg, nil)
	}
	kube, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: s.flags.kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: s.flags.context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", s.flags.kubeconfig, err)
	}
	if err := sameServer(kube, reg); err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", s.flags.kubeconfig, err)
	}
	return ekscluster.New(kube, reg.Cluster, reg.Region)
}

// sameServer refuses a kubeconfig whose certificate authority is not that of the cluster: every cluster has its own.
func sameServer(kube *rest.Config, reg model.Registration) error {
	if err := rest.LoadTLSFiles(kube); err != nil {
		return err
	}
	have, want := bytes.TrimSpace(kube.CAData), bytes.TrimSpace(reg.CA)
	if len(have) > 0 && len(want) > 0 && !bytes.Equal(have, want) {
		return fmt.Errorf("it points to %s, whose certificate authority is not the one cluster %s was attached with; choose its context with --context", kube.Host, reg.Cluster)
	}
	return nil
}
