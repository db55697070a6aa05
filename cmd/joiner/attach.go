package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

const attachLong = `Attaches a cluster to the installation of its region, or updates its registration. From the next minute on the functions
manage it. The stack of a cluster does the same when it is deployed; this command is for clusters without such a stack.

It reads the cluster from EKS with your own AWS permissions (eks:DescribeCluster). What you do not set stays as it was,
including whether the cluster is paused. You can repeat it, and it reverts an unfinished "joiner detach".

It prints the helm command that installs the watcher in the cluster.

Exit status: 0 if the cluster is attached; 2 if it is not, and nothing has changed.`

const attachExample = `  # with the roles that you created for it
  joiner attach shop --role-provision arn:aws:iam::111122223333:role/shop-provision \
    --role-interruption arn:aws:iam::111122223333:role/shop-interruption \
    --role-catalog arn:aws:iam::111122223333:role/shop-catalog --role-disrupt arn:aws:iam::111122223333:role/shop-disrupt

  # change nothing, until joiner attach shop --paused=false
  joiner attach shop --paused

  # an API server that functions cannot reach
  joiner attach shop --relay https://sqs.us-west-2.amazonaws.com/111122223333/joiner-relay-shop`

// attachFlags are what the command line says.
type attachFlags struct {
	place
	roles                                  model.Roles
	externalID, relay, spread, dns, output string
	image                                  string
	paused, takeOver                       bool
}

func newAttach() *cobra.Command {
	f := &attachFlags{}
	command := &cobra.Command{
		Use: "attach CLUSTER", Short: "Attach a cluster to the installation", Long: attachLong, Example: attachExample, Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.register(command)
	flags := command.Flags()
	for _, role := range []struct {
		name string
		into *string
	}{
		{"provision", &f.roles.Provision}, {"interruption", &f.roles.Interruption}, {"catalog", &f.roles.Catalog}, {"disrupt", &f.roles.Disrupt}, {"adopt", &f.roles.Adopt},
	} {
		flags.StringVar(role.into, "role-"+role.name, "", "`ARN` of the cluster's role for "+role.name)
		must(command.RegisterFlagCompletionFunc("role-"+role.name, cobra.NoFileCompletions))
	}
	flags.StringVar(&f.externalID, "external-id", "", "the external `ID` the roles require; each cluster has its own (default: the registration's)")
	flags.StringVar(&f.relay, "relay", "", "`URL` of the queue of requests that the watcher carries out")
	flags.StringVar(&f.spread, "default-spread", "", "defaultConstraints of the cluster's kube-scheduler, `YAML`")
	flags.StringVar(&f.dns, "cluster-dns", "", "`ADDRESS` of the cluster's DNS (default: the tenth of its service network)")
	flags.StringVar(&f.image, "image", "", "the watcher's `IMAGE`, REPOSITORY@DIGEST, for the helm command (default: the chart's own)")
	flags.BoolVar(&f.paused, "paused", false, "change nothing in the cluster; --paused=false ends the pause")
	flags.BoolVar(&f.takeOver, "take-over", false, "take over the registration from the stack that created it, if that stack is deleted")
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
	for _, name := range []string{"external-id", "relay", "default-spread", "cluster-dns", "image"} {
		must(command.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return command
}

func (f *attachFlags) run(command *cobra.Command, cluster string) error {
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	at, err := f.open(ctx)
	if err != nil {
		return err
	}
	desired, err := f.desired(ctx, command, at, cluster)
	if err != nil {
		return err
	}
	out, err := attachFlow(at).Attach(ctx, desired)
	if err != nil {
		return err
	}
	helm, lacks, err := at.helmCommand(ctx, &out.Registration, f.image)
	if err != nil {
		return err
	}
	out.Warnings = append(out.Warnings, lacks...)
	warn(command.ErrOrStderr(), out.Warnings)
	return f.print(command.OutOrStdout(), at, out, helm)
}

// attachFlow is the flow with the caller's own permissions.
func attachFlow(at *session) *attach.Flow {
	return &attach.Flow{
		Registry: at.ledger, Clusters: ownPlanes{at.config}, Leases: at.ledger, Ledger: at.ledger, Now: time.Now, Pause: pause,
		Spread: func(text string) error { _, err := translate.ParseDefaultSpread(text); return err },
	}
}

// ownPlanes asks EKS with the caller's own permissions.
type ownPlanes struct{ config aws.Config }

// Describe returns the registration's cluster.
func (p ownPlanes) Describe(ctx context.Context, reg model.Registration) (model.ControlPlane, error) {
	config := p.config.Copy()
	config.Region = reg.Region
	reg.Roles = model.Roles{}
	return ekscontrol.New(eks.NewFromConfig(config)).Describe(ctx, reg)
}

// desired is what there is, with what the flags say.
func (f *attachFlags) desired(ctx context.Context, command *cobra.Command, at *session, cluster string) (attach.Desired, error) {
	var desired attach.Desired
	before, err := at.ledger.Cluster(ctx, cluster)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return desired, err
	}
	desired.Registration = model.Registration{
		Cluster: cluster, Region: at.config.Region, Roles: before.Roles, ExternalID: before.ExternalID, RelayURL: before.RelayURL, DefaultSpread: before.DefaultSpread,
		ClusterDNS: before.ClusterDNS,
	}
	for _, flag := range []struct {
		name string
		into *string
		said string
	}{
		{"role-provision", &desired.Roles.Provision, f.roles.Provision}, {"role-interruption", &desired.Roles.Interruption, f.roles.Interruption},
		{"role-catalog", &desired.Roles.Catalog, f.roles.Catalog}, {"role-disrupt", &desired.Roles.Disrupt, f.roles.Disrupt}, {"role-adopt", &desired.Roles.Adopt, f.roles.Adopt},
		{"external-id", &desired.ExternalID, f.externalID}, {"relay", &desired.RelayURL, f.relay}, {"default-spread", &desired.DefaultSpread, f.spread},
		{"cluster-dns", &desired.ClusterDNS, f.dns},
	} {
		if command.Flags().Changed(flag.name) {
			*flag.into = flag.said
		}
	}
	desired.TakeOver = f.takeOver
	if command.Flags().Changed("paused") {
		desired.Paused = &f.paused
	}
	return desired, nil
}

// attachedText is what is written as JSON.
type attachedText struct {
	Registration model.Registration `json:"registration"`
	New          bool               `json:"new"`
	Changed      []string           `json:"changed"`
	Warnings     []string           `json:"warnings"`
	Helm         []string           `json:"helm,omitempty"` // the command that installs the watcher
}

func (f *attachFlags) print(out io.Writer, at *session, a attach.AttachOutcome, helm []string) error {
	if f.output == outputJSON {
		text, err := json.MarshalIndent(attachedText{a.Registration, a.New, append([]string{}, a.Changed...), append([]string{}, a.Warnings...), helm}, "", "  ")
		if err != nil {
			return err
		}
		return say(out, "%s\n", text)
	}
	reg, state := a.Registration, "active"
	if reg.Paused {
		state = "paused: nothing is launched or terminated until joiner attach " + reg.Cluster + " --paused=false"
	}
	what := "is attached already, nothing changed"
	switch {
	case a.New:
		what = "is attached"
	case len(a.Changed) > 0:
		what = "is attached again: " + strings.Join(a.Changed, ", ") + " changed"
	}
	if err := say(out, "Cluster %s (%s, Kubernetes %s) %s; it is %s.\n", reg.Cluster, reg.ARN, reg.Version, what, state); err != nil {
		return err
	}
	if helm == nil {
		return say(out, "The watcher's settings are unknown here: %v\n", at.unread)
	}
	return say(out, "\nInstall or upgrade the watcher from a checkout of this version by\n\n  %s\n\nThen check the cluster with joiner doctor %s.\n", shellWords(helm), reg.Cluster)
}

const detachLong = `Removes a cluster from the installation: its registration and all its records in the ledger. Without --yes it only
says whether that is possible.

It refuses while instances of the cluster run, because no controller would manage them. Delete its NodePools and wait,
or hand the instances over. With --hand-over, instances, nodes and pods stay as they are:

  --hand-over=karpenter   for Karpenter, which uses NodeClaims as they are. Start it afterwards.
  --hand-over=people      for no controller: the finalizers of NodeClaims and Nodes are removed, so that they can be deleted.
                          Instances then run until you terminate them.

Work in progress, such as a launch or a drain, cannot be handed over: run the command again when it is done.

A hand-over reaches the API server with the cluster's role for adoption, or with your own permissions by --own-rights
or --kubeconfig.

Exit status: 0 if the cluster is detached, or can be; 2 if not.`

// detachFlags are what the command line says.
type detachFlags struct {
	place
	adopt    adoptFlags // how the API server is reached
	handOver string
	yes      bool
}

func newDetach() *cobra.Command {
	f := &detachFlags{}
	command := &cobra.Command{
		Use: "detach CLUSTER", Short: "Remove a cluster from the installation", Long: detachLong, Args: cobra.ExactArgs(1),
		Example: `  joiner detach shop                             # is it possible?
  joiner detach shop --yes
  joiner detach shop --hand-over=karpenter --yes`,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.register(command)
	choice(command, &f.handOver, "hand-over", "", "", []string{attach.ToKarpenter, attach.ToPeople}, "hand over running instances, to karpenter or people (without a value: people)")
	flags := command.Flags()
	flags.Lookup("hand-over").NoOptDefVal = attach.ToPeople
	flags.BoolVar(&f.yes, "yes", false, "detach; without it nothing is written")
	f.adopt.registerReach(command)
	flags.BoolVar(&f.adopt.own, "own-rights", false, "reach the API server with your own permissions, not with the cluster's role")
	return command
}

func (f *detachFlags) run(command *cobra.Command, cluster string) error {
	if err := f.adopt.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	at, err := f.open(ctx)
	if err != nil {
		return err
	}
	flow := attachFlow(at)
	flow.Connector = &leavingClients{adoptClients{flags: &f.adopt, config: at.config}}
	out, err := flow.Detach(ctx, attach.DetachRequest{Cluster: cluster, Owner: "detach-" + ulid.Make().String(), HandOver: f.handOver, DryRun: !f.yes})
	if err != nil {
		return err
	}
	warn(command.ErrOrStderr(), out.Warnings)
	return f.print(command.OutOrStdout(), out)
}

func (f *detachFlags) print(out io.Writer, d attach.DetachOutcome) error {
	who := ""
	if n := len(d.Living); n > 0 {
		who = fmt.Sprintf("; %d instances are handed over to %s", n, f.handOver)
	}
	if !d.Gone {
		return say(out, "Cluster %s can be detached%s. Run again with --yes to detach it.\n", d.Registration.Cluster, who)
	}
	if err := say(out, "Cluster %s is detached%s.\n", d.Registration.Cluster, who); err != nil {
		return err
	}
	return say(out, "Uninstall the watcher too: helm uninstall joiner --namespace joiner. The CustomResourceDefinitions stay, and with them NodePools and NodeClaims.\n")
}

// leavingClients opens clusters that are handed over.
type leavingClients struct{ adoptClients }

// Connect opens a cluster's API server.
func (s *leavingClients) Connect(ctx context.Context, reg model.Registration) (attach.Objects, error) {
	site, err := s.open(ctx, reg)
	if err != nil {
		return nil, err
	}
	return site, nil
}
