package attach

import (
	"encoding/pem"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// kubernetesMinor is a version as registrations name it.
var (
	kubernetesMinor = regexp.MustCompile(`^1\.[0-9]{1,3}$`)
	accountID       = regexp.MustCompile(`^[0-9]{12}$`)
)

// checkSelfManaged refuses a registration of a cluster that EKS does not run and that lacks what EKS would say.
func checkSelfManaged(reg *model.Registration) error {
	if !reg.SelfManaged {
		return nil
	}
	endpoint, err := url.Parse(reg.Endpoint)
	switch {
	case err != nil || endpoint.Scheme != "https" || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "":
		return invalid("endpoint", reg.Endpoint,
			"is not the address of a self-managed cluster's API server, such as https://api.example.com:6443")
	case !isPEM(reg.CA):
		return fault.New(fault.Invalid, "",
			"ca: it is not a certificate in PEM; a self-managed cluster's is /etc/kubernetes/pki/ca.crt")
	case !kubernetesMinor.MatchString(reg.Version):
		return invalid("version", reg.Version, `is not a minor version of Kubernetes, such as "1.36"`)
	case !accountID.MatchString(reg.Account):
		return invalid("account", reg.Account, "is not the account of a self-managed cluster's instances: 12 digits")
	case reg.ARN != "":
		return invalid("arn", reg.ARN, "is for clusters of EKS; leave it out")
	}
	if reg.ServiceCIDR != "" {
		if _, err := netip.ParsePrefix(reg.ServiceCIDR); err != nil {
			return invalid("serviceCIDR", reg.ServiceCIDR, "is not a network, such as 10.96.0.0/12")
		}
	}
	return nil
}

func isPEM(text []byte) bool {
	block, _ := pem.Decode(text)
	return block != nil && block.Type == "CERTIFICATE"
}

// selfManagedPlane is what EKS would say of the cluster, as people said it.
func selfManagedPlane(reg *model.Registration) model.ControlPlane {
	return model.ControlPlane{Name: reg.Cluster, Status: "ACTIVE", Version: reg.Version, Endpoint: reg.Endpoint,
		CA: reg.CA, ServiceCIDR: reg.ServiceCIDR}
}

// otherKind refuses to make a cluster of EKS of one that EKS does not run, or the other way round: it is another.
func otherKind(before *model.Registration) error {
	is := "a cluster of EKS"
	if before.SelfManaged {
		is = "self-managed"
	}
	return fault.New(fault.Conflict, "AnotherCluster",
		"cluster %s is attached already, and it is %s; detach that one first (joiner detach %s), or take another name",
		before.Cluster, is, before.Cluster)
}
