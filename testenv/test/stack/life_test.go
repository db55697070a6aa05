package stack

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// A cluster's stack is updated and deleted as CloudFormation does: what a property says holds from then on, a property that is taken out
// goes back, what is wrong is refused and changes nothing. In the documented order of removal nothing of the cluster is left: a class
// that is deleted first takes its launch templates with it.
func TestAClustersStackIsUpdatedAndDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	s, err := Start(t.Context(), Options{Watchers: -1, ResyncEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	ctx, stack, name := t.Context(), s.Cluster.stack, s.Cluster.Name
	update := func(changes map[string]any) error {
		t.Helper()
		return s.deployments.Update(ctx, stack, "Cluster", changes)
	}
	for _, paused := range []bool{true, false} {
		if err := update(map[string]any{"paused": paused, "clusterDNS": "10.96.0.11"}); err != nil {
			t.Fatal(err)
		}
		if reg, err := s.Ledger.Cluster(ctx, name); err != nil || reg.Paused != paused || reg.ClusterDNS != "10.96.0.11" {
			t.Errorf("paused %v: %+v, %v", paused, reg, err)
		}
	}
	if err := update(map[string]any{"clusterDNS": "dns"}); err == nil || !strings.Contains(err.Error(), `"dns" is not an IP address`) {
		t.Errorf("what is wrong: %v", err)
	}
	if reg, err := s.Ledger.Cluster(ctx, name); err != nil || reg.ClusterDNS != "10.96.0.11" || reg.Paused {
		t.Errorf("%+v, %v", reg, err)
	}

	// A class, with what is made for it.
	objects, err := dynamic.NewForConfig(s.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	classes := objects.Resource(schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"})
	if err := s.Kube.Apply(ctx, examples.NodePool); err != nil {
		t.Fatal(err)
	}
	resolved := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
			if _, err := s.Resolve(ctx); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	templates := func() int {
		t.Helper()
		out, err := ec2.NewFromConfig(s.Cloud.Config()).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{
			Filters: []ec2types.Filter{{Name: aws.String("tag:eks:eks-cluster-name"), Values: []string{name}}}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.LaunchTemplates)
	}
	resolved("no launch template is made to try the class with", func() bool { return templates() > 0 })
	if err := classes.Delete(ctx, "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	resolved("the class stays", func() bool {
		_, err := classes.Get(ctx, "default", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if n := templates(); n != 0 {
		t.Errorf("%d launch templates of the cluster are left", n)
	}

	if err := s.deployments.Delete(ctx, stack, "Cluster"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ledger.Cluster(ctx, name); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is attached still: %v", err)
	}
	left, err := s.Ledger.Load(ctx, model.Registration{Cluster: name, Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	if err != nil && !fault.Is(err, fault.NotFound) || len(left.Claims)+len(left.Classes) > 0 {
		t.Errorf("the ledger keeps %+v, %v", left, err)
	}
}
