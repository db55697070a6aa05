package ekscluster

import (
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// relayHost stands where a URL must name a host and nobody looks one up.
const relayHost = "https://relay.invalid"

// Client is one cluster's API server, for functions, by what of it is read or written. It may be used from many
// goroutines and kept between invocations.
type Client struct {
	*api
	Reader
	Nodes
	Claims
	Pods
	Objects
	Reporter
}

// SpreadByDefault makes List give pods without spread what kube-scheduler is configured to, see
// translate.ParseDefaultSpread. It then reads Services, ReplicationControllers, ReplicaSets and StatefulSets, too,
// which takes the permission to. It must be called before the client is used.
func (c *Client) SpreadByDefault(constraints []model.Spread) { c.spread = constraints }

// CheckDefaultSpread returns why text cannot be what kube-scheduler spreads pods by, see translate.ParseDefaultSpread.
func CheckDefaultSpread(text string) error {
	_, err := translate.ParseDefaultSpread(text)
	return err
}

// Relay is the way to clusters whose API servers cannot be reached: their watchers carry requests out.
type Relay interface {
	Through(rights aws.Config, reg model.Registration) http.RoundTripper
}

// Connect returns the client of a registered cluster, with the permissions of the config's credentials: through the
// relay where the registration says so. Nothing is sent yet. Invalid where the registration lacks endpoint or
// certificate authority, or where it asks for a relay and the program has none.
func Connect(config aws.Config, reg model.Registration, relay Relay) (*Client, error) {
	if reg.RelayURL != "" {
		if relay == nil {
			return nil, fault.New(fault.Invalid, "",
				"cluster %s: its API server is reached through the queue %s, which only"+
					" functions use; give a kubeconfig", reg.Cluster, reg.RelayURL)
		}
		return New(&rest.Config{Host: relayHost, Transport: relay.Through(config, reg)}, reg.Cluster, reg.Region)
	}
	if !strings.HasPrefix(reg.Endpoint, "https://") {
		return nil, fault.New(fault.Invalid, "", "cluster %s: endpoint %q is not an https URL", reg.Cluster,
			reg.Endpoint)
	}
	base, err := newTransport(reg.CA)
	if err != nil {
		return nil, err
	}
	if config.Region == "" {
		config.Region = reg.Region
	}
	return New(&rest.Config{
		Host:      reg.Endpoint,
		Transport: &bearer{base: base, tokens: newTokens(config, reg.Cluster, time.Now), now: time.Now},
	}, reg.Cluster, reg.Region)
}

// New returns the client of the cluster that a Kubernetes client configuration leads to, such as one read from a
// kubeconfig.
func New(config *rest.Config, cluster, region string) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1                  // the API server's own priority and fairness is the limit; ours would only delay
	config.Timeout = 2 * callTimeout // room for one repetition
	config.UserAgent = "joiner"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next} })
	open := rest.CopyConfig(config)
	open.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, true} })
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next, false} })
	custom, err := dynamic.NewForConfig(open)
	if err != nil {
		return nil, translateError(err, "connect to cluster %s", cluster)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, translateError(err, "connect to cluster %s", cluster)
	}
	a := &api{cluster: cluster, region: region, core: core, custom: custom, now: time.Now}
	return &Client{
		api: a, Reader: Reader{a}, Nodes: Nodes{a, new(together[map[string][]model.Attachment])},
		Claims: Claims{a}, Pods: Pods{a}, Objects: Objects{a}, Reporter: Reporter{a, newRecentEvents()},
	}, nil
}
