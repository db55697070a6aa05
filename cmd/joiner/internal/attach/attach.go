package attach

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

const attachLong = `Attaches a cluster to the installation of its region, or updates its registration. From the next minute on the functions
manage it. The stack of a cluster does the same when it is deployed; this command is for clusters without such a stack.

It reads the cluster from EKS with your own AWS permissions (eks:DescribeCluster). What you do not set stays as it was,
including whether the cluster is paused. You can repeat it, and it reverts an unfinished "joiner detach".

A cluster that EKS does not run (kubeadm, kOps) is attached with --self-managed, --endpoint, --ca and
--kubernetes-version. EKS is then not asked.

It prints the helm command that installs the watcher in the cluster.

Exit status: 0 if the cluster is attached; 2 if it is not, and nothing has changed.`

const attachExample = `  # with the roles that you created for it
  joiner attach shop --role-provision arn:aws:iam::111122223333:role/shop-provision \
    --role-interruption arn:aws:iam::111122223333:role/shop-interruption \
    --role-catalog arn:aws:iam::111122223333:role/shop-catalog --role-disrupt arn:aws:iam::111122223333:role/shop-disrupt

  # change nothing, until joiner attach shop --paused=false
  joiner attach shop --paused

  # an API server that functions cannot reach
  joiner attach shop --relay https://sqs.us-west-2.amazonaws.com/111122223333/joiner-relay-shop

  # a cluster of kubeadm or kOps
  joiner attach own --self-managed --endpoint https://api.own.example.com:6443 --ca /etc/kubernetes/pki/ca.crt \
    --kubernetes-version 1.36 --service-cidr 10.96.0.0/12`

// attachFlags are what the command line says.
type attachFlags struct {
	installation.Flags
	roles                                  model.Roles
	externalID, relay, spread, dns, output string
	image                                  string
	self                                   selfManaged
	paused, takeOver                       bool
}

// New returns the command attach.
func New() *cobra.Command {
	f := &attachFlags{}
	command := &cobra.Command{
		Use: "attach CLUSTER", Short: "Attach a cluster to the installation", Long: attachLong, Example: attachExample,
		Args: cli.OneArg("CLUSTER"),
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args[0]) },
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	f.Register(command)
	flags := command.Flags()
	for _, role := range []struct {
		name string
		into *string
	}{
		{"provision", &f.roles.Provision}, {"interruption", &f.roles.Interruption}, {"catalog", &f.roles.Catalog},
		{"disrupt", &f.roles.Disrupt}, {"adopt", &f.roles.Adopt},
	} {
		flags.StringVar(role.into, "role-"+role.name, "", "`ARN` of the cluster's role for "+role.name)
		cli.NoFiles(command, "role-"+role.name)
	}
	flags.StringVar(&f.externalID, "external-id", "",
		"the external `ID` the roles require; each cluster has its own (default: the registration's)")
	flags.StringVar(&f.relay, "relay", "", "`URL` of the queue of requests that the watcher carries out")
	flags.StringVar(&f.spread, "default-spread", "", "defaultConstraints of the cluster's kube-scheduler, `YAML`")
	flags.StringVar(&f.dns, "cluster-dns", "",
		"`ADDRESS` of the cluster's DNS (default: the tenth of its service network)")
	f.self.register(command)
	flags.StringVar(&f.image, "image", "",
		"the watcher's `IMAGE`, REPOSITORY@DIGEST, for the helm command (default: the chart's own)")
	flags.BoolVar(&f.paused, "paused", false, "change nothing in the cluster; --paused=false ends the pause")
	flags.BoolVar(&f.takeOver, "take-over", false,
		"take over the registration from the stack that created it, if that stack is deleted")
	cli.OutputFlag(command, &f.output, "output format")
	cli.NoFiles(command, "external-id", "relay", "default-spread", "cluster-dns", "image")
	return command
}

func (f *attachFlags) run(command *cobra.Command, cluster string) error {
	ctx, stop := cli.Context(command)
	defer stop()
	at, err := f.Open(ctx)
	if err != nil {
		return err
	}
	desired, err := f.desired(ctx, command, at, cluster)
	if err != nil {
		return err
	}
	done := cli.Working(command, "attaching "+cluster)
	out, err := attachFlow(at).Attach(ctx, desired)
	done()
	if err != nil {
		return err
	}
	helm, lacks, err := helmCommand(ctx, at, &out.Registration, f.image)
	if err != nil {
		return err
	}
	out.Warnings = append(out.Warnings, lacks...)
	cli.Warn(command.ErrOrStderr(), out.Warnings)
	answer := attachedText{out.Registration, out.New, append([]string{}, out.Changed...),
		append([]string{}, out.Warnings...), helm}
	return cli.Write(command, f.output, &answer, func(w io.Writer,
		a *attachedText) error {
		return printAttached(w, at, a)
	})
}

// attachFlow is the flow with the caller's own permissions.
func attachFlow(at *installation.Session) *attach.Flow {
	return &attach.Flow{
		Registry: at.Ledger, Clusters: ownPlanes{at.Config}, Leases: at.Ledger, Ledger: at.Ledger, Now: time.Now,
		Pause:  pause,
		Spread: ekscluster.CheckDefaultSpread,
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
func (f *attachFlags) desired(
	ctx context.Context, command *cobra.Command, at *installation.Session, cluster string,
) (attach.Desired, error) {
	var desired attach.Desired
	before, err := at.Ledger.Cluster(ctx, cluster)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return desired, err
	}
	desired.Registration = model.Registration{
		Cluster: cluster, Region: at.Config.Region, Roles: before.Roles, ExternalID: before.ExternalID,
		RelayURL: before.RelayURL, DefaultSpread: before.DefaultSpread,
		ClusterDNS: before.ClusterDNS,
	}
	for _, flag := range []struct {
		name string
		into *string
		said string
	}{
		{"role-provision", &desired.Roles.Provision, f.roles.Provision},
		{"role-interruption", &desired.Roles.Interruption, f.roles.Interruption},
		{"role-catalog", &desired.Roles.Catalog, f.roles.Catalog},
		{"role-disrupt", &desired.Roles.Disrupt, f.roles.Disrupt},
		{"role-adopt", &desired.Roles.Adopt, f.roles.Adopt},
		{"external-id", &desired.ExternalID, f.externalID}, {"relay", &desired.RelayURL, f.relay},
		{"default-spread", &desired.DefaultSpread, f.spread},
		{"cluster-dns", &desired.ClusterDNS, f.dns},
	} {
		if command.Flags().Changed(flag.name) {
			*flag.into = flag.said
		}
	}
	if err := f.self.fill(command, at.Account, &before, &desired.Registration); err != nil {
		return desired, err
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

// printAttached writes what was done for people.
func printAttached(out io.Writer, at *installation.Session, a *attachedText) error {
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
	if err := cli.Say(out, "Cluster %s (%s, Kubernetes %s) %s; it is %s.\n", reg.Cluster,
		cmp.Or(reg.ARN, "self-managed, "+reg.Endpoint), reg.Version, what,
		state); err != nil {
		return err
	}
	if a.Helm == nil {
		return cli.Say(out, "The watcher's settings are unknown here: %v\n", at.Unread)
	}
	return cli.Say(out,
		"\nInstall or upgrade the watcher from a checkout of this version by\n\n  %s\n\nThen check the cluster with "+
			"joiner doctor %s.\n", shellWords(a.Helm), reg.Cluster)
}
