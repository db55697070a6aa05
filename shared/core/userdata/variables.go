package userdata

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// variable is how user data of amiFamily Custom names what Joiner knows and its author does not.
var variable = regexp.MustCompile(`\$\{JOINER_[A-Za-z0-9_]*\}`)

// renderCustom returns the class's user data: as it is, or with its variables replaced where the class asks for that.
func renderCustom(in Input) ([]byte, error) {
	if in.Class.Annotations[model.AnnotationUserDataVariables] != "true" {
		return []byte(in.Class.UserData), nil
	}
	used, values := variable.FindAllString(in.Class.UserData, -1), in.variables()
	for _, name := range used {
		value, known := values[name]
		if !known {
			return nil, fault.New(fault.Invalid, "InvalidUserData",
				"spec.userData of EC2NodeClass %s names %s, which there is not; there are %s", in.Class.Name, name,
				strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		if value == "" && name != variableDNS && name != variableCIDR && name != variableMaxPods {
			return nil, fault.New(fault.Invalid, "ClusterUnknown",
				"spec.userData of EC2NodeClass %s names %s, without which cluster %q is registered; attach "+
					"the cluster again", in.Class.Name, name, in.Cluster)
		}
		if err := in.checkPlain(name+" of spec.userData", value); err != nil {
			return nil, err
		}
	}
	text := variable.ReplaceAllStringFunc(in.Class.UserData, func(name string) string { return values[name] })
	return []byte(text), nil
}

// Variables that may be empty.
const (
	variableDNS     = "${JOINER_CLUSTER_DNS}"
	variableCIDR    = "${JOINER_SERVICE_CIDR}"
	variableMaxPods = "${JOINER_MAX_PODS}"
)

// variables are those there are, with their values. Labels and taints are as the kubelet's flags take them.
func (in Input) variables() map[string]string {
	return map[string]string{
		"${JOINER_CLUSTER}":     in.Cluster,
		"${JOINER_ENDPOINT}":    in.Endpoint,
		"${JOINER_API_SERVER}":  hostPort(in.Endpoint),
		"${JOINER_CA}":          base64.StdEncoding.EncodeToString(in.CA),
		"${JOINER_CA_HASH}":     publicKeyHash(in.CA),
		"${JOINER_NODE_LABELS}": pairs(nodeLabels(in), "="),
		"${JOINER_NODE_TAINTS}": taintFlag(in),
		variableDNS:             in.ClusterDNS,
		variableCIDR:            in.ServiceCIDR,
		variableMaxPods:         number(&in.MaxPods),
	}
}

// hostPort returns the host and port of a URL, the way kubeadm join is given an API server; "" for none.
func hostPort(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return ""
	}
	if u.Port() == "" {
		return u.Host + ":443"
	}
	return u.Host
}

// publicKeyHash returns the pin of the first certificate's public key, as kubeadm's discovery takes it; "" where there
// is no certificate.
func publicKeyHash(ca []byte) string {
	block, _ := pem.Decode(ca)
	if block == nil {
		return ""
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}
