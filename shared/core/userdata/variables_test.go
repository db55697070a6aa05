package userdata

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ownAuthority returns a certificate in PEM, and its pin as kubeadm computes it.
func ownAuthority(t *testing.T) (certificate []byte, pin string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "sha256:" + hex.EncodeToString(sum[:])
}

func customInput(ca []byte, text string) Input {
	return Input{
		Class: model.Class{Name: "own", Family: "Custom", UserData: text,
			Annotations: map[string]string{model.AnnotationUserDataVariables: "true"}},
		Cluster: "shop", Endpoint: "https://10.0.0.10:6443", CA: ca, MaxPods: 110,
		Labels: map[string]string{"team": "a", "karpenter.sh/nodepool": "web",
			"node.kubernetes.io/instance-type": "m7g.large"},
		Taints: []model.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}},
	}
}

// M96: user data of amiFamily Custom may name what Joiner knows of the cluster, the NodePool and the instance type.
func TestM96VariablesInUserData(t *testing.T) {
	ca, pin := ownAuthority(t)
	text := "#!/bin/bash\nkubeadm join ${JOINER_API_SERVER} --discovery-token-ca-cert-hash ${JOINER_CA_HASH}\n" +
		"echo ${HOME} ${JOINER_ENDPOINT} ${JOINER_CLUSTER} '${JOINER_NODE_LABELS}' '${JOINER_NODE_TAINTS}'" +
		" ${JOINER_MAX_PODS} dns=${JOINER_CLUSTER_DNS} cidr=${JOINER_SERVICE_CIDR}\n${JOINER_CA}\n"
	got, err := Render(customInput(ca, text))
	want := "#!/bin/bash\nkubeadm join 10.0.0.10:6443 --discovery-token-ca-cert-hash " + pin + "\n" +
		"echo ${HOME} https://10.0.0.10:6443 shop " +
		"'karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=web,team=a' " +
		"'gpu=yes:NoSchedule,karpenter.sh/unregistered:NoExecute' 110 dns= cidr=\n" +
		base64.StdEncoding.EncodeToString(ca) + "\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	in := customInput(ca, text)
	in.Class.Annotations = nil
	if got, err := Render(in); err != nil || string(got) != text {
		t.Errorf("nobody asked for it: %v\n%s", err, got)
	}
}

// M96: what there is not, or what the cluster is registered without, is refused with its name.
func TestM96VariablesThatHaveNoValueAreRefused(t *testing.T) {
	ca, _ := ownAuthority(t)
	for name, c := range map[string]struct {
		text   string
		change func(*Input)
		code   string
		says   string
	}{
		"unknown": {"${JOINER_ENDPIONT}", nil, "InvalidUserData",
			"${JOINER_ENDPIONT}, which there is not; there are ${JOINER_API_SERVER}"},
		"no authority": {"${JOINER_CA}", func(in *Input) { in.CA = nil }, "ClusterUnknown", "attach the cluster again"},
		"no certificate": {"${JOINER_CA_HASH}", func(in *Input) { in.CA = []byte("pem") }, "ClusterUnknown",
			"${JOINER_CA_HASH}"},
		"no address": {"${JOINER_API_SERVER}", func(in *Input) { in.Endpoint = "nowhere" }, "ClusterUnknown",
			"${JOINER_API_SERVER}"},
		"a quote": {"'${JOINER_NODE_LABELS}'", func(in *Input) { in.Labels["team"] = "a'b" }, "", "'"},
	} {
		in := customInput(ca, c.text)
		if c.change != nil {
			c.change(&in)
		}
		got, err := Render(in)
		if !fault.Is(err, fault.Invalid) || c.code != "" && fault.CodeOf(err) != c.code ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	in := customInput(ca, "${JOINER_API_SERVER}")
	in.Endpoint = "https://api.example.com"
	if got, err := Render(in); err != nil || string(got) != "api.example.com:443" {
		t.Errorf("without a port: %q, %v", got, err)
	}
}
