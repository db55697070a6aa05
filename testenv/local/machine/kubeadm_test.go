package machine_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// stored is the parameter that scripts of these tests read.
var stored atomic.Value

func parameter(_ context.Context, _ machine.Instance, name string) (string, error) {
	if token, there := stored.Load().(string); there && name == "/own/bootstrap-token" {
		return token, nil
	}
	return "", errors.New("AccessDeniedException")
}

// kubeadmScript joins as docs/tasks/self-managed.md has it.
const kubeadmScript = `#!/bin/bash
set -e
imds=http://169.254.169.254/latest
session=$(curl -sfX PUT $imds/api/token -H "X-aws-ec2-metadata-token-ttl-seconds: 60")
about() { curl -sf -H "X-aws-ec2-metadata-token: $session" $imds/meta-data/$1; }
instance=$(about instance-id)
zone=$(about placement/availability-zone)
token=$(aws ssm get-parameter --name /own/bootstrap-token --with-decryption --query Parameter.Value --output text)
cat > /etc/kubernetes/join.yaml <<EOF
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {apiServerEndpoint: "API_SERVER", token: "$token", caCertHashes: ["CA_HASH"]}
nodeRegistration:
  kubeletExtraArgs:
    - {name: provider-id, value: "aws:///$zone/$instance"}
    - {name: node-labels, value: "team=payments,karpenter.sh/nodepool=default"}
    - {name: register-with-taints, value: "karpenter.sh/unregistered:NoExecute"}
    - {name: max-pods, value: "58"}
EOF
kubeadm join --config /etc/kubernetes/join.yaml
`

// ownInstance is one of an image of a cluster's own, whose script is that above with other texts in it.
func ownInstance(t *testing.T, n int, changes ...string) machine.Instance {
	t.Helper()
	i := instance(n)
	i.ImageName = "kubeadm-1.36-arm64"
	block, _ := pem.Decode(plane.CertificateAuthority())
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	script := strings.NewReplacer(changes...).Replace(kubeadmScript)
	i.UserData = []byte(strings.NewReplacer("API_SERVER", strings.TrimPrefix(plane.Endpoint(), "https://"),
		"CA_HASH", "sha256:"+hex.EncodeToString(sum[:])).Replace(script))
	return i
}

// An instance of a cluster's own image runs its script, finds the cluster by the token, and its kubelet registers
// with a certificate of its own and the flags that the script gives it.
func TestOwnImageJoinsByKubeadm(t *testing.T) {
	token, err := plane.BootstrapToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored.Store(token)
	i := ownInstance(t, 200)
	boot(t, fleet, events, i, machine.Ready)
	n := node(t, i.PrivateDNSName)
	if n.Spec.ProviderID != "aws:///us-west-2a/"+i.ID || n.Labels["team"] != "payments" ||
		n.Status.NodeInfo.KubeletVersion != cluster().Version {
		t.Errorf("node %s %v %+v", n.Spec.ProviderID, n.Labels, n.Status.NodeInfo)
	}
	if pods := n.Status.Capacity.Pods().Value(); pods != 58 {
		t.Errorf("%d pods", pods)
	}
	has := func(key string) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	}
	if !has("karpenter.sh/unregistered") || has("node.cloudprovider.kubernetes.io/uninitialized") {
		t.Errorf("taints %v", n.Spec.Taints)
	}
	fleet.Terminated(i.ID)
	events.await(t, i.ID, machine.Deleted)
}

func TestWhyOwnImagesDoNotJoin(t *testing.T) {
	token, err := plane.BootstrapToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored.Store(token)
	for n, tt := range []struct {
		name, says string
		changes    []string
	}{
		{"another authority", "none of the public keys is pinned",
			[]string{"CA_HASH", "sha256:" + strings.Repeat("0", 64)}},
		{"metadata without a session", "(22)", []string{"$session", "none"}},
		{"a parameter it may not read", "AccessDeniedException", []string{"/own/bootstrap-token", "/other"}},
		{"a token of another form", "was not of the form", []string{`"$token"`, `"abc"`}},
		{"a field that there is not", "unknown field", []string{"nodeRegistration:", "registration:"}},
		{"a program that there is not", "command not found", []string{"kubeadm join", "nodeup join"}},
		{"no call", "no script that calls kubeadm join",
			[]string{"kubeadm join --config /etc/kubernetes/join.yaml", ""}},
	} {
		e := boot(t, fleet, events, ownInstance(t, 201+n, tt.changes...), machine.Refused)
		if e.Err == nil || !strings.Contains(e.Err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, e.Err, tt.says)
		}
	}
}
