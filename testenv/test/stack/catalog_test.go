package stack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: joiner-joiner-demo-us-west-2-node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: joiner-demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: joiner-demo}}]
`

// The function as it is deployed, with its own role and the rights we ship, resolves a class, makes its instance profile,
// tries it dry, and lets it go.
func TestCatalogFunctionResolvesAClassAndLetsItGo(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	var mutex sync.Mutex
	var said []string
	s, err := Start(t.Context(), Options{Watchers: -1, ResyncEvery: time.Hour, OnLog: func(line lambdaruntime.LogLine) {
		mutex.Lock()
		defer mutex.Unlock()
		said = append(said, fmt.Sprint(line))
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	client, err := dynamic.NewForConfig(s.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	classes := client.Resource(awsv1.EC2NodeClassResource)
	if err := s.Kube.Apply(t.Context(), []byte(class)); err != nil {
		t.Fatal(err)
	}
	read := func() *unstructured.Unstructured {
		object, err := classes.Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return object
	}
	within := func(what string, holds func() bool) {
		t.Helper()
		deadline := time.Now().Add(3 * time.Minute)
		for !holds() {
			if time.Now().After(deadline) {
				mutex.Lock()
				defer mutex.Unlock()
				t.Fatalf("%s: %v\n%s", what, read(), strings.Join(said[max(0, len(said)-20):], "\n"))
			}
			if result, err := s.Resolve(context.WithoutCancel(t.Context())); err != nil {
				t.Fatalf("%+v %v", result, err)
			}
			time.Sleep(2 * time.Second)
		}
	}
	within("ready", func() bool { return conditions(read())["Ready"] == "True" })
	object := read()
	for _, kind := range []string{"AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady", "PlacementGroupReady", "CapacityReservationsReady", "ValidationSucceeded"} {
		if conditions(object)[kind] != "True" {
			t.Errorf("%s is %q", kind, conditions(object)[kind])
		}
	}
	if len(object.GetFinalizers()) != 1 || object.GetAnnotations()[model.AnnotationClassHashVersion] != model.ClassHashVersion {
		t.Errorf("%v %v", object.GetFinalizers(), object.GetAnnotations())
	}
	profile, _, _ := unstructured.NestedString(object.Object, "status", "instanceProfile")
	if !strings.HasPrefix(profile, "joiner-demo_") {
		t.Errorf("instance profile %q", profile)
	}
	if n := len(s.EC2.Instances()); n != 0 {
		t.Errorf("%d instances were launched", n)
	}
	if err := classes.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within("gone", func() bool { return read() == nil })
	for _, p := range s.EC2.InstanceProfiles() {
		if p.Name == profile {
			t.Errorf("instance profile %s is left over", profile)
		}
	}
}

// conditions returns the status of each condition, by type.
func conditions(object *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	if object == nil {
		return out
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range list {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		out[kind], _ = condition["status"].(string)
	}
	return out
}
