package attach

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

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
	installation.Flags
	reach    apiserver.Flags // how the API server is reached
	handOver string

	yes, dryRun bool
}

// NewDetach returns the command detach.
func NewDetach() *cobra.Command {
	f := &detachFlags{}
	command := &cobra.Command{
		Use: "detach CLUSTER", Short: "Remove a cluster from the installation", Long: detachLong,
		Args: cli.OneArg("CLUSTER"),
		Example: `  joiner detach shop                             # is it possible?
  joiner detach shop --yes
  joiner detach shop --hand-over=karpenter --yes`,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = f.CompleteClusters()
	f.Register(command)
	cli.Choice(command, &f.handOver, "hand-over", "", []string{attach.ToKarpenter, attach.ToPeople},
		"hand over running instances, to karpenter or people (without a value: people)")
	flags := command.Flags()
	flags.Lookup("hand-over").NoOptDefVal = attach.ToPeople
	flags.BoolVar(&f.yes, "yes", false, "detach; without it nothing is written")
	flags.BoolVar(&f.dryRun, "dry-run", false, "write nothing, as without --yes")
	f.reach.Register(command)
	flags.BoolVar(&f.reach.OwnRights, "own-rights", false,
		"reach the API server with your own permissions, not with the cluster's role")
	return command
}

func (f *detachFlags) run(command *cobra.Command, cluster string) error {
	if f.yes && f.dryRun {
		return errors.New("--dry-run: it excludes --yes; give one of them")
	}
	ctx, stop := cli.Context(command)
	defer stop()
	at, err := f.Open(ctx)
	if err != nil {
		return err
	}
	flow := attachFlow(at)
	flow.Connector = leavingClients{apiserver.Clients{Flags: &f.reach, Config: at.Config}}
	out, err := flow.Detach(ctx, attach.DetachRequest{Cluster: cluster, Owner: "detach-" + ulid.Make().String(),
		HandOver: f.handOver, DryRun: !f.yes})
	if err != nil {
		return err
	}
	cli.Warn(command.ErrOrStderr(), out.Warnings)
	return f.print(command.OutOrStdout(), out)
}

func (f *detachFlags) print(out io.Writer, d attach.DetachOutcome) error {
	who := ""
	if n := len(d.Living); n > 0 {
		who = fmt.Sprintf("; %d instances are handed over to %s", n, f.handOver)
	}
	if !d.Gone {
		return cli.Say(out, "Cluster %s can be detached%s. Run again with --yes to detach it.\n",
			d.Registration.Cluster, who)
	}
	if err := cli.Say(out, "Cluster %s is detached%s.\n", d.Registration.Cluster, who); err != nil {
		return err
	}
	return cli.Say(out,
		"Uninstall the watcher too: helm uninstall joiner --namespace joiner. The CustomResourceDefinitions stay, and "+
			"with them NodePools and NodeClaims.\n")
}

// leavingClients opens clusters that are handed over.
type leavingClients struct{ apiserver.Clients }

// Connect opens a cluster's API server.
func (c leavingClients) Connect(_ context.Context, reg model.Registration) (attach.Objects, error) {
	client, err := c.Open(reg)
	if err != nil {
		return nil, err
	}
	return client, nil
}
