package attach

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/model"
)

// clustersFlags are what the command line says.
type clustersFlags struct {
	installation.Flags
	list cli.List
}

// NewClusters returns the command clusters.
func NewClusters() *cobra.Command {
	f := &clustersFlags{}
	command := &cobra.Command{
		Use: "clusters", Short: "List attached clusters and their state", Args: cli.NoArgs,
		Long: `Lists the clusters of the installation: their state, the age of their watcher's last heartbeat, and the number of their
instances in the ledger.

Exit status: 0 if the ledger was read; 2 if not.`,
		Example: `  joiner clusters
  joiner clusters -o json
  joiner clusters --sort-by heartbeatSeconds
  for cluster in $(joiner clusters -o name); do joiner doctor $cluster; done`,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.Register(command)
	f.list.Register(command)
	return command
}

// clusterRow is one cluster of the list.
type clusterRow struct {
	Cluster   string         `json:"cluster"`
	Account   string         `json:"account"`
	Region    string         `json:"region"`
	Version   string         `json:"version"`
	State     string         `json:"state"`            // active, paused, leaving
	Relay     bool           `json:"relay,omitempty"`  // functions reach it through its watcher
	Heartbeat int64          `json:"heartbeatSeconds"` // since the watcher's last; -1 = there was none
	Claims    int            `json:"claims"`           // with an instance, or about to have one
	States    map[string]int `json:"states"`           // the same by state
	Stops     int            `json:"stops"`
	Problem   string         `json:"problem,omitempty"` // why it could not be read
}

func rowOf(ctx context.Context, at *installation.Session, reg model.Registration) clusterRow {
	row := clusterRow{
		Cluster: reg.Cluster, Account: reg.Account, Region: reg.Region, Version: reg.Version,
		State: installation.State(&reg), Relay: reg.RelayURL != "",
		Heartbeat: -1, States: map[string]int{},
	}
	ledger, err := at.Ledger.Load(ctx, reg)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	if ledger.Manifest != nil {
		row.Heartbeat = max(0, ledger.NowUnix-ledger.Manifest.HeartbeatAt)
	}
	row.Claims, row.Stops = len(ledger.Claims), len(ledger.Stops)
	for i := range ledger.Claims {
		row.States[string(ledger.Claims[i].State)]++
	}
	return row
}

func (f *clustersFlags) run(command *cobra.Command) error {
	ctx, stop := cli.Context(command)
	defer stop()
	at, err := f.Open(ctx)
	if err != nil {
		return err
	}
	all, err := at.Clusters(ctx, command.ErrOrStderr())
	if err != nil {
		return err
	}
	rows := make([]clusterRow, len(all))
	var group errgroup.Group
	group.SetLimit(8)
	for i := range all {
		group.Go(func() error {
			rows[i] = rowOf(ctx, at, all[i])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return cli.WriteRows(command, &f.list, rows, func(out io.Writer, rows []clusterRow) error {
		return clustersTable(out, rows, !f.list.NoHeaders)
	}, func(out io.Writer, rows []clusterRow) error {
		return show.Indented(out, map[string][]clusterRow{"clusters": rows})
	}, func(r clusterRow) string { return r.Cluster })
}

func clustersTable(out io.Writer, clusters []clusterRow, headers bool) error {
	if len(clusters) == 0 {
		return cli.Say(out, "No cluster is attached.\n")
	}
	rows := [][]string{{"CLUSTER", "ACCOUNT", "REGION", "KUBERNETES", "STATE", "HEARTBEAT", "INSTANCES", "STOPS"}}
	for _, r := range clusters {
		heartbeat := "never"
		if r.Heartbeat >= 0 {
			heartbeat = fmt.Sprintf("%d s ago", r.Heartbeat)
		}
		state := r.State
		if r.Relay {
			state += ", relay"
		}
		if r.Problem != "" {
			heartbeat = "cannot be read: " + r.Problem
		}
		rows = append(rows, []string{r.Cluster, r.Account, r.Region, r.Version, state, heartbeat,
			fmt.Sprint(r.Claims), fmt.Sprint(r.Stops)})
	}
	return show.Rows(out, rows, "......rr", headers)
}
