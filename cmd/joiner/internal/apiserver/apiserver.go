// Package apiserver reaches the API server of an attached cluster the way people do: by a kubeconfig, as kubectl reads
// it, or by the cluster's endpoint and the permissions of a role of its registration, or their own.
//
//	flags.Register(command)
//	client, err := (&apiserver.Clients{Flags: flags, Config: config}).Open(reg)
package apiserver

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/model"
)

// Flags say how an API server is reached.
type Flags struct {
	Kubeconfig, Context string // either has a kubeconfig used, as kubectl does
	OwnRights           bool   // the caller's own permissions, not those of the cluster's role
}

// Register adds the flags of the kubeconfig.
func (f *Flags) Register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.Kubeconfig, "kubeconfig", "", "reach the API server by this kubeconfig `FILE`")
	flags.StringVar(&f.Context, "context", "",
		"the `CONTEXT` of the kubeconfig (default: its current one); alone, of kubectl's own kubeconfig")
	cli.Must(command.MarkFlagFilename("kubeconfig"))
	cli.Contexts(command)
}

// Clients opens clusters.
type Clients struct {
	Flags  *Flags
	Config aws.Config // the caller's own
}

// Rights are the caller's in a cluster, as the flags say.
func (c *Clients) Rights(reg model.Registration) aws.Config {
	if c.Flags.OwnRights {
		reg.Roles, reg.ExternalID = model.Roles{}, ""
	}
	return boot.Rights(c.Config, "joiner-adopt", reg.Region, reg.Roles.Adopt, reg.ExternalID)
}

// Open opens a cluster's API server. People have a way to it that functions have not, and need no relay.
func (c *Clients) Open(reg model.Registration) (*ekscluster.Client, error) {
	if c.Flags.Kubeconfig == "" && c.Flags.Context == "" {
		reg.RelayURL = ""
		return ekscluster.Connect(c.Rights(reg), reg, nil)
	}
	kube, err := (&genericclioptions.ConfigFlags{KubeConfig: &c.Flags.Kubeconfig,
		Context: &c.Flags.Context}).ToRESTConfig()
	if err == nil {
		err = sameServer(kube, reg)
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", cmp.Or(c.Flags.Kubeconfig, "of kubectl"), err)
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
		return fmt.Errorf("it points to %s, whose certificate authority is not the one cluster %s was attached with; "+
			"choose its context with --context",
			kube.Host, reg.Cluster)
	}
	return nil
}
