package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestAddonsAreInstalledInTheCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane")
	}
	s, err := Start(t.Context(), Options{Bare: true, Addons: []string{AddonEBS, AddonVPC}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	client, err := kubernetes.NewForConfig(s.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	for addon, daemonSet := range map[string]string{AddonEBS: "ebs-csi-node", AddonVPC: "aws-node"} {
		if _, err := client.AppsV1().DaemonSets("kube-system").Get(t.Context(), daemonSet, metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", addon, err)
		}
		out, err := eks.NewFromConfig(s.Cloud.Config()).DescribeAddon(t.Context(), &eks.DescribeAddonInput{ClusterName: &s.Options.Cluster, AddonName: &addon})
		if err != nil || out.Addon.Status != "ACTIVE" {
			t.Errorf("%s: EKS reports %+v %v", addon, out, err)
		}
	}
	if err := s.startAddons(t.Context(), &Cluster{Name: "other", account: s.account}); err != nil {
		t.Errorf("in another cluster, which has none: %v", err)
	}
	s.Options.Addons = []string{"coredns"}
	if err := s.startAddons(t.Context(), s.Cluster); err == nil || !strings.Contains(err.Error(), AddonEBS) {
		t.Errorf("an add-on without a model: %v", err)
	}
}
