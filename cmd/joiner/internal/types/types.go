package types

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

const long = `Lists the instance types that can be bought, with their capacity, what of it pods may request, labels and
prices: of the
built-in catalog, or of a --catalog; with --nodepool those that a NodePool of the input can buy, as its EC2NodeClass and
NodeOverlays make them. Names may have *, such as 'm7*.large'.

Without an input, types are those that an EC2NodeClass of Amazon Linux 2023 sees. "joiner plan provision --help"
describes the input and the catalog. It does not call AWS. Prices in JSON are in millionths of a dollar per hour.

Exit status: 0 if there is a type; 1 if there is none of that name, or the answer cannot be written; 2 if the input
cannot be read.`

const example = `  joiner types
  joiner types 'm7*.large' -o yaml
  joiner types --sort-by .spotMicroUSDPerHour | head

  # what a NodePool can buy
  joiner types --nodepool default -f nodepools.yaml
  joiner types --nodepool default --context shop`

// row is an instance type.
type row struct {
	Name        string              `json:"name"`
	Capacity    map[string]string   `json:"capacity"`
	Allocatable map[string]string   `json:"allocatable"`
	Labels      map[string][]string `json:"labels"` // a key with several values is decided by the offering
	OnDemand    model.MicroUSD      `json:"onDemandMicroUSDPerHour,omitempty"`
	Spot        model.MicroUSD      `json:"spotMicroUSDPerHour,omitempty"` // the cheapest zone's, as is that on demand
	Offerings   []zonePrice         `json:"offerings"`

	memoryMiB int64
}

type zonePrice struct {
	Zone         string         `json:"zone"`
	CapacityType string         `json:"capacityType"`
	Price        model.MicroUSD `json:"priceMicroUSDPerHour"`
	Available    bool           `json:"available"`
}

// flags are what the command line says.
type flags struct {
	input.Flags
	list cli.List
	pool string
}

// New returns the command types.
func New() *cobra.Command {
	f := &flags{}
	command := &cobra.Command{
		Use: "types [NAME...]", Short: "List instance types that can be bought: capacity, labels, prices",
		Long: long, Example: example, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args) },
	}
	f.RegisterFiles(command)
	f.list.Register(command)
	command.Flags().StringVar(&f.pool, "nodepool", "", "only what this `NODEPOOL` of the input can buy")
	cli.NoFiles(command, "nodepool")
	return command
}

func (f *flags) run(command *cobra.Command, names []string) error {
	for _, name := range names {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("%q: not a name of instance types; write one such as 'm7*.large'", name)
		}
	}
	matches, err := f.matches(command)
	if err != nil {
		return err
	}
	var rows []row
	for _, m := range matches {
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			is, _ := path.Match(name, m.Type.Name) // the pattern was read above
			return is
		}) {
			if r := rowOf(m); r.zones() != "" { // or it is not sold here
				rows = append(rows, r)
			}
		}
	}
	if len(rows) == 0 {
		return cli.NotFound{What: f.none(names)}
	}
	return cli.WriteRows(command, &f.list, rows, func(out io.Writer, rows []row) error {
		return table(out, rows, !f.list.NoHeaders)
	}, nil, func(r row) string { return r.Name })
}

// none says that there is nothing to list.
func (f *flags) none(names []string) string {
	text := "no instance type"
	if len(names) > 0 {
		text += " of the name " + strings.Join(names, " or ")
	}
	if f.pool != "" {
		return text + " can be bought by NodePool " + f.pool + "; joiner lint says why"
	}
	return text + " is in the catalog"
}

// matches returns the types with the offerings that can be bought of them.
func (f *flags) matches(command *cobra.Command) ([]offering.Match, error) {
	now := time.Now()
	cluster := &read.Cluster{Snapshot: &model.Snapshot{}}
	if f.Given() || f.pool != "" {
		var err error
		if cluster, err = f.Cluster(command.InOrStdin(), now); err != nil {
			return nil, err
		}
	}
	offered, err := f.Offered(cluster.Snapshot, now)
	if err != nil {
		return nil, err
	}
	cli.Warn(command.ErrOrStderr(), offered.Warnings)
	if f.pool == "" {
		return offering.Matches(offered.Everything(), requirement.Requirements{}), nil
	}
	i := slices.IndexFunc(cluster.Snapshot.Pools, func(p model.Pool) bool { return p.Name == f.pool })
	if i < 0 {
		return nil, cli.NotFound{What: fmt.Sprintf("--nodepool: the input has no NodePool %q", f.pool)}
	}
	pool := &cluster.Snapshot.Pools[i]
	catalogs, problems := offered.Catalogs(cluster.Snapshot, nil)
	if why := problems[pool.Template.ClassName]; why != "" {
		return nil, fmt.Errorf("EC2NodeClass %s: %s", pool.Template.ClassName, why)
	}
	types := model.CatalogOf(catalogs, pool.Template.ClassName, pool.Name)
	if types == nil {
		return nil, fmt.Errorf("NodePool %s: the input has no EC2NodeClass %s; include it, or give a --catalog",
			pool.Name, pool.Template.ClassName)
	}
	wanted, err := requirement.From(offering.Requirements(&pool.Template))
	if err != nil {
		return nil, fmt.Errorf("NodePool %s: %w", pool.Name, err)
	}
	return offering.Matches(types, wanted), nil
}

func rowOf(m offering.Match) row {
	r := row{
		Name: m.Type.Name, Capacity: quantities(m.Type.Capacity), Allocatable: quantities(m.Type.Allocatable()),
		Labels: m.Type.Labels, Offerings: []zonePrice{}, memoryMiB: m.Type.Capacity[model.Memory] >> 20,
	}
	for _, o := range m.Offerings {
		r.Offerings = append(r.Offerings, zonePrice{o.Zone, o.CapacityType, o.Price, o.Available})
		least := &r.OnDemand
		switch o.CapacityType {
		case model.Spot:
			least = &r.Spot
		case model.OnDemand:
		default:
			continue // paid for already
		}
		if o.Available && o.Price > 0 && (*least == 0 || o.Price < *least) {
			*least = o.Price
		}
	}
	return r
}

func quantities(all model.Resources) map[string]string {
	out := make(map[string]string, len(all))
	for name, amount := range all {
		out[name] = resource.Format(name, amount)
	}
	return out
}

// table writes types for people.
func table(out io.Writer, list []row, headers bool) error {
	rows := [][]string{{"NAME", "ARCH", "CPU", "MEMORY", "PODS", "ON-DEMAND", "SPOT", "ZONES", "DEVICES"}}
	for i := range list {
		r := &list[i]
		rows = append(rows, []string{
			r.Name, strings.Join(r.Labels[model.LabelArch], ","), r.Capacity[model.CPU],
			fmt.Sprintf("%.1f GiB", float64(r.memoryMiB)/1024), r.Capacity[model.Pods],
			dollars(r.OnDemand), dollars(r.Spot), r.zones(), r.devices(),
		})
	}
	return show.Rows(out, rows, "..rrrrr..", headers)
}

func dollars(price model.MicroUSD) string {
	if price == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", price.USD())
}

// zones are those where it can be bought.
func (r *row) zones() string {
	var zones []string
	for _, o := range r.Offerings {
		if o.Available && !slices.Contains(zones, o.Zone) {
			zones = append(zones, o.Zone)
		}
	}
	slices.Sort(zones)
	return strings.Join(zones, ",")
}

// devices are its resources beside those that every type has.
func (r *row) devices() string {
	var out []string
	for name, amount := range r.Capacity {
		if strings.Contains(name, "/") && amount != "0" && !strings.HasPrefix(name, "vpc.amazonaws.com/") {
			out = append(out, name+" "+amount)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
