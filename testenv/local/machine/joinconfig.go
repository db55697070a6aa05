package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// joinConfiguration is a JoinConfiguration of kubeadm.k8s.io/v1beta4, less what is for control planes.
type joinConfiguration struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Discovery  struct {
		BootstrapToken    *bootstrapToken `json:"bootstrapToken"`
		TLSBootstrapToken string          `json:"tlsBootstrapToken"`
	} `json:"discovery"`
	NodeRegistration struct {
		Name             string         `json:"name"`
		CRISocket        string         `json:"criSocket"`
		Taints           []corev1.Taint `json:"taints"`
		KubeletExtraArgs []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"kubeletExtraArgs"`
		IgnorePreflightErrors []string `json:"ignorePreflightErrors"`
	} `json:"nodeRegistration"`
}

// bootstrapToken says where the cluster is, and what both sides know.
type bootstrapToken struct {
	Token                    string   `json:"token"`
	APIServerEndpoint        string   `json:"apiServerEndpoint"`
	CACertHashes             []string `json:"caCertHashes"`
	UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification"`
}

var tokenForm = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// kubeadm reads the arguments of `kubeadm join` into a configuration, which it stands for where the call succeeds.
func (c *computer) kubeadm(into **joinConfiguration) command {
	return func(_ context.Context, p programIO, args []string) uint8 {
		read, err := c.readJoin(args)
		if err != nil {
			return p.fail("kubeadm", err)
		}
		*into = read
		return 0
	}
}

func (c *computer) readJoin(args []string) (*joinConfiguration, error) {
	set := pflag.NewFlagSet("kubeadm", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	file, token := set.String("config", "", ""), set.String("token", "", "")
	hashes := set.StringSlice("discovery-token-ca-cert-hash", nil, "")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	j := &joinConfiguration{}
	switch words := set.Args(); {
	case len(words) == 0 || words[0] != "join" || len(words) > 2:
		return nil, fmt.Errorf("%q is not modeled: there is kubeadm join", args)
	case *file == "" && len(words) == 2:
		j.Discovery.BootstrapToken = &bootstrapToken{Token: *token, APIServerEndpoint: words[1], CACertHashes: *hashes}
		return j, j.check()
	case *file == "" || len(words) == 2:
		return nil, errors.New("give either --config or the address of the API server")
	}
	text, there := c.files[*file]
	if !there {
		return nil, fmt.Errorf("unable to read config from %q: no such file", *file)
	}
	documents := bytes.Split(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n"))
	if len(documents) != 1 {
		return nil, fmt.Errorf("%s has %d documents; one is read here", *file, len(documents))
	}
	if err := yaml.UnmarshalStrict(documents[0], j); err != nil {
		return nil, fmt.Errorf("read %s: %w", *file, err)
	}
	if j.APIVersion != "kubeadm.k8s.io/v1beta4" || j.Kind != "JoinConfiguration" {
		return nil, fmt.Errorf("read %s: the document is %q %q, not kubeadm.k8s.io/v1beta4 JoinConfiguration",
			*file, j.APIVersion, j.Kind)
	}
	return j, j.check()
}

// check refuses what kubeadm refuses before it asks anybody.
func (j *joinConfiguration) check() error {
	switch t := j.Discovery.BootstrapToken; {
	case t == nil:
		return errors.New("discovery: bootstrapToken or file must be set; file is not modeled")
	case !tokenForm.MatchString(t.Token):
		return fmt.Errorf("discovery.bootstrapToken.token: the bootstrap token %q was not of the form %q",
			t.Token, tokenForm)
	case !strings.Contains(t.APIServerEndpoint, ":") || strings.Contains(t.APIServerEndpoint, "/"):
		return fmt.Errorf("discovery.bootstrapToken.apiServerEndpoint: %q is not host:port", t.APIServerEndpoint)
	case len(t.CACertHashes) == 0 && !t.UnsafeSkipCAVerification:
		return errors.New(
			"discovery.bootstrapToken.caCertHashes: using token-based discovery without caCertHashes can be unsafe")
	}
	return nil
}

// flags are the kubelet's, each as a word of a command line.
func (j *joinConfiguration) flags() []string {
	var out []string
	for _, arg := range j.NodeRegistration.KubeletExtraArgs {
		out = append(out, `'--`+arg.Name+"="+arg.Value+`'`)
	}
	if taints := j.NodeRegistration.Taints; len(taints) > 0 {
		var words []string
		for _, t := range taints {
			words = append(words, t.ToString())
		}
		out = append(out, "'--register-with-taints="+strings.Join(words, ",")+"'")
	}
	return out
}
