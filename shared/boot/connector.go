package boot

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/model"
)

// Connector opens clusters with their own permissions and keeps what it opened for the next invocation.
type Connector[Clients any] struct {
	config  aws.Config
	session string
	role    func(model.Roles) string
	open    func(config aws.Config, reg model.Registration) (Clients, error)
	opened  ClientCache[Clients]
}

// NewConnector returns a connector that assumes one of a cluster's roles under the session's name, and opens the
// cluster with that.
func NewConnector[Clients any](
	config aws.Config, session string, role func(model.Roles) string, open func(config aws.Config, reg model.Registration) (Clients, error),
) *Connector[Clients] {
	return &Connector[Clients]{config: config, session: session, role: role, open: open}
}

// Connect returns the cluster's clients; another endpoint, authority, role or default spread opens it anew.
func (c *Connector[Clients]) Connect(_ context.Context, reg model.Registration) (Clients, error) {
	return c.opened.Open(reg.Cluster, reg.Access()+" "+reg.DefaultSpread, func() (Clients, error) {
		return c.open(Rights(c.config, c.session, reg.Region, c.role(reg.Roles), reg.ExternalID), reg)
	})
}
