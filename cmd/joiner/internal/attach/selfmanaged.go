package attach

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/shared/model"
)

// selfManaged are the flags of clusters that EKS does not run: what EKS would say of them.
type selfManaged struct {
	is                                            bool
	endpoint, authority, cidr, version, inAccount string
}

func (f *selfManaged) register(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVar(&f.is, "self-managed", false, "EKS does not run the cluster, and is not asked")
	flags.StringVar(&f.endpoint, "endpoint", "", "`URL` of a self-managed cluster's API server, as nodes reach it")
	flags.StringVar(&f.authority, "ca", "", "`FILE` with a self-managed cluster's certificate authority, PEM")
	flags.StringVar(&f.cidr, "service-cidr", "", "`NETWORK` of a self-managed cluster's services")
	flags.StringVar(&f.version, "kubernetes-version", "", "`MINOR` version of a self-managed cluster, such as 1.36")
	flags.StringVar(&f.inAccount, "account", "",
		"`ACCOUNT` of a self-managed cluster's instances (default: the roles', else the installation's)")
	cli.NoFiles(command, "endpoint", "service-cidr", "kubernetes-version", "account")
}

// fill sets what the flags say, and else what was registered before. None of them is for a cluster of EKS.
func (f *selfManaged) fill(command *cobra.Command, own string, before, into *model.Registration) error {
	into.SelfManaged = f.is || before.SelfManaged && !command.Flags().Changed("self-managed")
	if !into.SelfManaged {
		for _, name := range []string{"endpoint", "ca", "service-cidr", "kubernetes-version", "account"} {
			if command.Flags().Changed(name) {
				return fmt.Errorf("--%s: it is for clusters that EKS does not run; add --self-managed, or leave it out",
					name)
			}
		}
		return nil
	}
	into.Endpoint = cmp.Or(strings.TrimSuffix(f.endpoint, "/"), before.Endpoint)
	into.ServiceCIDR, into.Version = cmp.Or(f.cidr, before.ServiceCIDR), cmp.Or(f.version, before.Version)
	into.Account = cmp.Or(f.inAccount, before.Account, accountOf(into.Roles.Provision), own)
	into.CA = before.CA
	if f.authority != "" {
		text, err := os.ReadFile(f.authority)
		if err != nil {
			return fmt.Errorf("--ca: %w", err)
		}
		into.CA = text
	}
	return nil
}

// accountOf returns the account of an ARN, "" for none.
func accountOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}

// selfManagedValues are the chart's for a cluster that EKS does not run: the port of its API server where that is not
// 443, which the watcher's NetworkPolicy lets through.
func selfManagedValues(reg *model.Registration) []string {
	endpoint, err := url.Parse(reg.Endpoint)
	if err != nil || endpoint.Port() == "" || endpoint.Port() == "443" {
		return nil
	}
	return []string{"--set", "networkPolicy.ports={" + endpoint.Port() + "}"}
}
