package top

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

const long = `Shows the nodes of a cluster with instance type, price, pods and how much of each is requested, the sums
of its NodePools, what stops voluntary disruption, and the pending pods with what they wait for. It is the console in a
terminal. With --watch it is read again every few seconds (--every), until it is interrupted.

` + source.Help + `

Exit status: 0 with an answer; 2 if the cluster cannot be read; 1 if the answer cannot be written.`

const example = `  joiner top
  joiner top --watch --cluster shop

  # the cluster kubectl points at, without an installation
  joiner top --context shop --watch

  # the most expensive nodes
  joiner top -o json | jq -r '.nodes | sort_by(-.priceMicroUSDPerHour)[:5][].name'`

// clear empties a terminal.
const clear = "\x1b[H\x1b[2J\x1b[3J"

// flags are what the command line says.
type flags struct {
	source.Flags
	watch bool
	every time.Duration
}

// New returns the command top.
func New() *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use: "top [-f FILE_OR_FOLDER...]", Short: "Show nodes, their load and price, and pending pods in the terminal",
		Long: long, Example: example, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.Register(command)
	f.RegisterAt(command)
	command.Flags().BoolVarP(&f.watch, "watch", "w", false, "read it again and again, until interrupted")
	command.Flags().DurationVar(&f.every, "every", 5*time.Second, "with --watch: the `TIME` between two readings")
	cli.NoFiles(command, "every")
	return command
}

func (f *flags) run(command *cobra.Command) error {
	if !f.watch {
		return f.once(command, command.OutOrStdout())
	}
	if slices.Contains(f.Files, read.Stdin) {
		return errors.New("--watch: standard input can be read only once; give a file or a cluster")
	}
	if f.every < time.Second {
		return errors.New("--every: give a second at least")
	}
	ctx, stop := cli.Context(command)
	defer stop()
	command.SetContext(ctx)
	out := command.OutOrStdout()
	for {
		var text bytes.Buffer
		err := f.once(command, &text)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if show.IsTerminal(out) {
			fmt.Fprint(out, clear)
		}
		if _, err := out.Write(text.Bytes()); err != nil {
			return cli.Written(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.every):
		}
	}
}

// once reads the cluster and writes it.
func (f *flags) once(command *cobra.Command, out io.Writer) error {
	state, _, err := f.Read(command, history.Query{})
	if err != nil {
		return err
	}
	cluster := console.NewCluster(f.Name, "", state)
	plan := console.PlanNow(cluster)
	v := viewOf(cluster, console.WaitingPods(cluster, &plan))
	columns := show.Width(command.OutOrStdout(), show.Preset)
	return cli.WriteTo(out, f.Output, v, func(out io.Writer, v *view) error { return v.write(out, columns) })
}

// view is what is written as JSON.
type view struct {
	AtUnix  int64          `json:"at"`
	Nodes   []node         `json:"nodes"`
	Pools   []pool         `json:"nodePools"`
	Pending []pending      `json:"pending"`
	Stopped []string       `json:"stopped"`              // what stops voluntary disruption, a sentence each
	Price   model.MicroUSD `json:"priceMicroUSDPerHour"` // of nodes of NodePools
}

type node struct {
	Name         string         `json:"name"`
	NodePool     string         `json:"nodePool,omitempty"`
	InstanceType string         `json:"instanceType"`
	CapacityType string         `json:"capacityType"`
	Zone         string         `json:"zone"`
	State        string         `json:"state"`
	Price        model.MicroUSD `json:"priceMicroUSDPerHour,omitempty"` // 0 = not known
	SinceUnix    int64          `json:"since,omitempty"`
	Pods         int            `json:"pods"`
	load
	Note string `json:"note,omitempty"` // what it waits for, or why it ends
}

// load is what is requested, and what there is for pods.
type load struct {
	CPU               int64 `json:"requestedMilliCPU"`
	CPUAllocatable    int64 `json:"allocatableMilliCPU"`
	Memory            int64 `json:"requestedMemoryMiB"`
	MemoryAllocatable int64 `json:"allocatableMemoryMiB"`
}

type pool struct {
	Name  string         `json:"name"` // "" = nodes of no NodePool
	Nodes int            `json:"nodes"`
	Pods  int            `json:"pods"`
	Price model.MicroUSD `json:"priceMicroUSDPerHour"`
	load
}

type pending struct {
	Workload  string   `json:"workload"`
	Pods      int      `json:"pods"`
	Names     []string `json:"names"` // of the first 50
	SinceUnix int64    `json:"since,omitempty"`
	Why       string   `json:"why"`
	Remedy    string   `json:"remedy,omitempty"`
}

// viewOf puts together what is shown.
func viewOf(cluster *console.Cluster, waiting []console.Waiting) *view {
	rows := console.Rows(cluster)
	v := &view{AtUnix: cluster.State.Ask.NowUnix, Nodes: []node{}, Pools: []pool{}, Pending: []pending{},
		Stopped: []string{}}
	if at := cluster.State.Installation; at != nil && !at.Past { // the ledger says what is stopped now
		v.Stopped = console.Stopped(cluster)
	}
	for i := range rows {
		r := &rows[i]
		n := node{
			Name: r.Name, NodePool: r.Pool, InstanceType: r.Type, CapacityType: r.Capacity, Zone: r.Zone,
			State: r.State, Price: r.Price, SinceUnix: r.Since, Pods: r.Pods, Note: r.Note,
			load: load{r.CPU, r.CPUHas, r.Memory, r.MemoryHas},
		}
		v.Nodes = append(v.Nodes, n)
		at := slices.IndexFunc(v.Pools, func(p pool) bool { return p.Name == r.Pool })
		if at < 0 {
			at = len(v.Pools)
			v.Pools = append(v.Pools, pool{Name: r.Pool})
		}
		p := &v.Pools[at]
		p.Nodes, p.Pods, p.Price = p.Nodes+1, p.Pods+r.Pods, p.Price+r.Price
		p.CPU, p.CPUAllocatable = p.CPU+n.CPU, p.CPUAllocatable+n.CPUAllocatable
		p.Memory, p.MemoryAllocatable = p.Memory+n.Memory, p.MemoryAllocatable+n.MemoryAllocatable
		if r.Pool != "" {
			v.Price += r.Price
		}
	}
	for i := range waiting {
		w := &waiting[i]
		v.Pending = append(v.Pending, pending{w.Workload, w.Pods, w.Names, w.Since, w.Why, w.Remedy})
	}
	return v
}
