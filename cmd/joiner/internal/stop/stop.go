package stop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// stopFlags are what the command line says.
type stopFlags struct {
	installation.Flags
	list                   cli.List
	cluster, pool, account string
	every                  bool // all clusters of the account in the region
	why, by                string
}

const stopLong = `Stops voluntary disruption: of empty and underutilized nodes, of drifted nodes, and of nodes that expire within
budgets. The scope is a NodePool, a cluster, or every cluster of an account in a region. Commands whose nodes are not
drained yet are undone, within a minute. Provisioning goes on, and so does disruption that is not voluntary: AWS's
warnings, unhealthy nodes, expiry without budgets, and objects that users delete.

It holds until "joiner resume disruption" with the same scope removes it; "joiner stops" lists all stops. A stop with
a wider scope holds beside a narrower one.

The ledger is found with your own AWS permissions. If no table is named, the parameter /joiner/installation names it.

Exit status: 0 if it was written; 2 if the command line is wrong or the ledger cannot be read or written.`

const stopExample = `  # one cluster, while its ingress is being moved
  joiner stop disruption --cluster shop --why "ingress moves, until Friday"

  # one NodePool of it
  joiner stop disruption --cluster shop --pool gpu --why "training runs"

  # all clusters of a region, at once
  joiner stop disruption --all-clusters --region us-west-2 --why "AMI of tonight does not boot"`

// New returns the command stop.
func New() *cobra.Command {
	f := &stopFlags{}
	return verb("stop", "Stop voluntary disruption in a NodePool, a cluster or a region", f, &cobra.Command{
		Use:   "disruption (--cluster CLUSTER [--pool POOL] | --all-clusters) --why TEXT",
		Short: "Stop voluntary disruption",
		Long:  stopLong, Example: stopExample,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command, true, f.stop) },
	}, func(command *cobra.Command) {
		command.Flags().StringVar(&f.why, "why", "", "the reason, a `TEXT` that is shown for every node that stays")
		command.Flags().StringVar(&f.by, "by", self(), "`WHO` stops it")
		cli.NoFiles(command, "why", "by")
	})
}

// NewResume returns the command resume.
func NewResume() *cobra.Command {
	f := &stopFlags{}
	return verb("resume", "Remove a stop", f, &cobra.Command{
		Use: "disruption (--cluster CLUSTER [--pool POOL] | --all-clusters)", Short: "Resume voluntary disruption",
		Long: `Removes a stop that "joiner stop disruption" set with the same scope. It reports other stops that still hold there.

Exit status: 0 if no such stop is left; 2 if the command line is wrong or the ledger cannot be read or written.`,
		Example: `  joiner resume disruption --cluster shop
  joiner resume disruption --cluster shop --pool gpu
  joiner resume disruption --all-clusters --region us-west-2`,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command, false, f.resume) },
	}, nil)
}

// verb is a command of the form "joiner stop disruption": the verb alone says what it can be said of.
func verb(name, short string, f *stopFlags, of *cobra.Command, more func(*cobra.Command)) *cobra.Command {
	command := &cobra.Command{
		Use: name, Short: short, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	of.Args = cli.NoArgs
	f.register(of)
	of.Flags().StringVar(&f.pool, "pool", "", "the `NODEPOOL` of the cluster (default: all of them)")
	of.Flags().BoolVar(&f.every, "all-clusters", false, "every cluster of the account in the region")
	of.Flags().StringVar(&f.account, "account", "",
		"the `ACCOUNT` id, where the table has clusters of several in the region")
	cli.NoFiles(of, "account")
	cli.Must(of.RegisterFlagCompletionFunc("pool", f.CompletePools(&f.cluster)))
	if more != nil {
		more(of)
	}
	command.AddCommand(of)
	return command
}

// NewList returns the command stops.
func NewList() *cobra.Command {
	f := &stopFlags{}
	command := &cobra.Command{
		Use: "stops [--cluster CLUSTER]", Short: "List stopped disruption: where, since when, by whom and why",
		Args: cli.NoArgs,
		Long: `Lists every stop in the ledger: of account and region, of clusters, of NodePools. --cluster lists those that hold there.

Exit status: 0 if the ledger was read, with or without a stop; 2 if it cannot be read.`,
		Example: `  joiner stops
  joiner stops --cluster shop -o json`,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command, false, f.stops) },
	}
	f.register(command)
	f.list.Register(command)
	return command
}

func (f *stopFlags) register(command *cobra.Command) {
	f.Flags.Register(command)
	command.Flags().StringVar(&f.cluster, "cluster", "", "the `CLUSTER`, as it was attached")
	cli.Must(command.RegisterFlagCompletionFunc("cluster", f.CompleteClusters()))
}

// self is who runs the program, as far as the system knows.
func self() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// run opens the ledger and does what is asked for.
func (f *stopFlags) run(
	command *cobra.Command, reasoned bool, do func(context.Context, *cobra.Command, *installation.Session) error,
) error {
	scoped := command.Flags().Lookup("all-clusters") != nil
	err := cli.Required(command, map[string]bool{
		giveScope: scoped && f.cluster == "" && !f.every,
		giveWhy:   reasoned && !command.Flags().Changed("why"),
	}, giveScope, giveWhy)
	if err != nil {
		return err
	}
	ctx, cancel := cli.Context(command)
	defer cancel()
	at, err := f.Find(ctx)
	if err != nil {
		return err
	}
	return do(ctx, command, at)
}

// What is said of flags that are missing.
const (
	giveScope = "the scope (--cluster CLUSTER or --all-clusters)"
	giveWhy   = "the reason (--why TEXT)"
)

// scope checks what the flags say and finds the registration that a stop of it is kept with.
func (f *stopFlags) scope(
	ctx context.Context, at *installation.Session, warn io.Writer,
) (model.Registration, model.Stop, error) {
	stop := model.Stop{Scope: model.StopCluster, Pool: f.pool}
	switch {
	case f.cluster != "" && f.every:
		return model.Registration{}, stop, errors.New("--all-clusters: it excludes --cluster; give one of them")
	case f.pool != "" && f.every:
		return model.Registration{}, stop,
			errors.New("--pool: a NodePool belongs to a cluster; give --cluster, not --all-clusters")
	case f.account != "" && !f.every:
		return model.Registration{}, stop,
			errors.New("--account: it goes with --all-clusters; a cluster's account is known")
	case f.pool != "":
		stop.Scope = model.StopPool
	case f.every:
		stop.Scope = model.StopRegion
	}
	all, err := at.Clusters(ctx, warn)
	if err != nil {
		return model.Registration{}, stop, err
	}
	if f.cluster != "" {
		reg, err := at.Attached(all, f.cluster)
		return reg, stop, err
	}
	reg, err := f.inRegion(at, all)
	return reg, stop, err
}

// inRegion returns a registration of the account and region that are meant.
func (f *stopFlags) inRegion(at *installation.Session, all []model.Registration) (model.Registration, error) {
	byAccount, regions, region := map[string]model.Registration{}, []string{}, at.Config.Region
	for _, reg := range all {
		regions = append(regions, reg.Region)
		if reg.Region == region && (f.account == "" || reg.Account == f.account) {
			byAccount[reg.Account] = reg
		}
	}
	slices.Sort(regions)
	regions = slices.Compact(regions)
	switch len(byAccount) {
	case 0:
		return model.Registration{}, fmt.Errorf("--all-clusters: table %s has no cluster in %s%s, but in %s", at.Table,
			region, ofAccount(f.account), cmp.Or(strings.Join(regions, ", "), "no region"))
	case 1:
		for _, reg := range byAccount {
			return reg, nil
		}
	}
	var accounts []string
	for account := range byAccount {
		accounts = append(accounts, account)
	}
	slices.Sort(accounts)
	return model.Registration{}, fmt.Errorf("--account: clusters in %s belong to accounts %s; name one", region,
		strings.Join(accounts, ", "))
}

func ofAccount(account string) string {
	if account == "" {
		return ""
	}
	return " of account " + account
}

func (f *stopFlags) stop(ctx context.Context, command *cobra.Command, at *installation.Session) error {
	if f.why = strings.TrimSpace(f.why); f.why == "" {
		return errors.New("--why: give the reason: it is shown for every node that stays")
	}
	reg, stop, err := f.scope(ctx, at, command.ErrOrStderr())
	if err != nil {
		return err
	}
	stop.Why, stop.By, stop.SinceUnix = f.why, f.by, time.Now().Unix()
	if stop.Scope == model.StopPool {
		known, err := knownPool(ctx, at, reg, f.pool)
		if err != nil {
			return err
		}
		if !known {
			cli.Warn(command.ErrOrStderr(),
				[]string{fmt.Sprintf(
					"cluster %s has no node of a NodePool %s: if the name is wrong, this stops nothing",
					reg.Cluster, f.pool)})
		}
	}
	if err := at.Ledger.Stop(ctx, reg, stop); err != nil {
		return err
	}
	return cli.Say(command.OutOrStdout(),
		"Disruption is stopped: %s. Provisioning goes on. joiner resume disruption%s resumes it.\n", stop.What(reg),
		f.flags())
}

// flags are those that say the scope again.
func (f *stopFlags) flags() string {
	var out strings.Builder
	if f.every {
		out.WriteString(" --all-clusters")
	}
	for _, flag := range [][2]string{{"cluster", f.cluster}, {"pool", f.pool}, {"region", f.Region},
		{"account", f.account}} {
		if flag[1] != "" {
			fmt.Fprintf(&out, " --%s %s", flag[0], flag[1])
		}
	}
	return out.String()
}

// knownPool reports whether the ledger has heard of the NodePool.
func knownPool(ctx context.Context, at *installation.Session, reg model.Registration, pool string) (bool, error) {
	ledger, err := at.Ledger.Load(ctx, reg)
	if err != nil {
		return false, fmt.Errorf("read the ledger of cluster %s: %w", reg.Cluster, err)
	}
	return slices.ContainsFunc(ledger.Claims, func(c model.Claim) bool { return c.Pool == pool }), nil
}

func (f *stopFlags) resume(ctx context.Context, command *cobra.Command, at *installation.Session) error {
	reg, stop, err := f.scope(ctx, at, command.ErrOrStderr())
	if err != nil {
		return err
	}
	before, err := at.Ledger.Stops(ctx, reg)
	if err != nil {
		return err
	}
	if err := at.Ledger.Resume(ctx, reg, stop); err != nil {
		return err
	}
	after, err := at.Ledger.Stops(ctx, reg)
	if err != nil {
		return err
	}
	text := "There was no stop of " + stop.What(reg) + "."
	if slices.ContainsFunc(before, func(s model.Stop) bool { return s.Scope == stop.Scope && s.Pool == stop.Pool }) {
		text = "Disruption is resumed: " + stop.What(reg) + "."
	}
	for _, s := range after {
		text += "\nStill stopped: " + s.What(reg) + show.StopDetails(s) + "."
	}
	return cli.Say(command.OutOrStdout(), "%s\n", text)
}

func (f *stopFlags) stops(ctx context.Context, command *cobra.Command, at *installation.Session) error {
	all, err := at.Clusters(ctx, command.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.cluster != "" {
		reg, err := at.Attached(all, f.cluster)
		if err != nil {
			return err
		}
		all = []model.Registration{reg}
	}
	var rows []show.StopEntry
	for _, reg := range all {
		stops, err := at.Stops(ctx, reg)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		for _, stop := range stops {
			row := show.StopEntryOf(reg, stop)
			if !slices.Contains(rows, row) { // of a region, each of its clusters has it
				rows = append(rows, row)
			}
		}
	}
	return cli.WriteRows(command, &f.list, rows, func(out io.Writer, rows []show.StopEntry) error {
		return show.Stops(out, rows, !f.list.NoHeaders)
	}, show.StopsJSON, show.StopEntry.Which)
}
