package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

var (
	nodes   = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leases  = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	maps    = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	classes = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
)

// bench is a cluster with the chart, and what requests are made of.
type bench struct {
	plane *kube.ControlPlane
	admin dynamic.Interface
	made  int
}

// as returns clients of a member of a group. Who is to be refused is a member of system:masters too, so that it is for the
// policy to refuse and not for RBAC.
func (b *bench) as(t *testing.T, group string, allowed bool) (dynamic.Interface, kubernetes.Interface) {
	t.Helper()
	groups := []string{group}
	if !allowed {
		groups = append(groups, "system:masters")
	}
	config, err := b.plane.User("somebody", groups...)
	must(t, "make a user", err)
	return client(t, config), typed(t, config)
}

func typed(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	out, err := kubernetes.NewForConfig(config)
	must(t, "make a client", err)
	return out
}

// object makes an object of YAML in which NAME stands for a name that no other has, and returns it.
func (b *bench) object(t *testing.T, resource schema.GroupVersionResource, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	b.made++
	var object unstructured.Unstructured
	must(t, "read", yaml.Unmarshal([]byte(strings.ReplaceAll(text, "NAME", fmt.Sprintf("thing-%d", b.made))), &object.Object))
	made, err := in(b.admin, resource, namespace).Create(t.Context(), &object, metav1.CreateOptions{})
	must(t, "make "+object.GetName(), err)
	return made
}

func in(client dynamic.Interface, resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace != "" {
		return client.Resource(resource).Namespace(namespace)
	}
	return client.Resource(resource)
}

// evaluate fails the test unless a request went as it should: denied is part of what the policy says, "" for what is allowed. In the
// first moments after its installation an API server does not know a policy yet.
func evaluate(t *testing.T, err error, denied string) {
	t.Helper()
	switch {
	case denied == "" && err != nil:
		t.Errorf("refused: %v", err)
	case denied != "" && err == nil:
		t.Errorf("allowed; %q is to be said", denied)
	case denied != "" && !((apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), denied)):
		t.Errorf("it says %v, not %q", err, denied)
	}
}

const (
	fresh      = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\nspec: {providerID: 'aws:///us-west-2a/i-1', taints: [{key: karpenter.sh/unregistered, effect: NoExecute}]}\n"
	registered = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {karpenter.sh/nodepool: general, karpenter.sh/registered: 'true', karpenter.sh/capacity-type: reserved, karpenter.k8s.aws/capacity-reservation-id: cr-1}, finalizers: [karpenter.sh/termination, example.com/other], annotations: {a: b}}\nspec: {taints: [{key: team, value: a, effect: NoSchedule}]}\n"
	cordoned   = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {karpenter.sh/nodepool: general, karpenter.sh/registered: 'true'}}\nspec: {taints: [{key: karpenter.sh/disrupted, effect: NoSchedule}]}\n"
	foreign    = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {eks.amazonaws.com/nodegroup: system}}\nspec: {providerID: 'aws:///us-west-2a/i-2'}\n"
	bare       = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\nspec: {providerID: 'aws:///us-west-2a/i-3'}\n"
	owner      = `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","name":"c","uid":"1"}`
	disrupted  = `{"key":"karpenter.sh/disrupted","effect":"NoSchedule"}`
	teamTaint  = `{"key":"team","value":"a","effect":"NoSchedule"}`
	aPod       = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {nodeName: somewhere, containers: [{name: main, image: example.com/pause}]}\n"
	aClass     = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: NAME, finalizers: [example.com/other]}\nspec: {role: nodes, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}]}\n"
)

// What functions may write, asked of the real API server by members of their groups.
func TestPoliciesAllowWhatFunctionsDoAndDenyTheRest(t *testing.T) {
	if testing.Short() {
		t.Skip("a control plane")
	}
	plane, r := startPlane(t)
	b := &bench{plane: plane, admin: client(t, plane.Config())}
	given := values(t, "default")
	given["watcher"] = map[string]any{"replicas": 0}
	given["webhook"] = map[string]any{"enabled": false}
	must(t, "install", r.Install(t.Context(), given))
	functions, _ := b.as(t, "joiner:functions", false)
	eventually(t, "the policies are in force", func() error {
		node := b.object(t, nodes, "", foreign)
		if _, err := functions.Resource(nodes).Patch(t.Context(), node.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err == nil {
			return fmt.Errorf("a patch of node %s is allowed", node.GetName())
		}
		return nil
	})
	t.Run("nodes", func(t *testing.T) { nodeRows(t, b) })
	t.Run("pods", func(t *testing.T) { podRows(t, b) })
	t.Run("specs", func(t *testing.T) { specRows(t, b) })
	t.Run("watcher", func(t *testing.T) { watcherRows(t, b) })
	given["policies"] = map[string]any{"bareNodes": true}
	must(t, "upgrade", r.Install(t.Context(), given))
	t.Run("bare nodes", func(t *testing.T) { bareRows(t, b) })
}

// keeping returns a patch in which the taints that Kubernetes itself has put on the node stay: that it is not ready yet, above all.
func (b *bench) keeping(t *testing.T, node, patch string) string {
	t.Helper()
	object, err := b.admin.Resource(nodes).Get(t.Context(), node, metav1.GetOptions{})
	must(t, "read node "+node, err)
	taints, _, err := unstructured.NestedSlice(object.Object, "spec", "taints")
	must(t, "read taints of node "+node, err)
	var own []string
	for _, taint := range taints {
		if key, _ := taint.(map[string]any)["key"].(string); strings.HasPrefix(key, "node.kubernetes.io/") {
			text, err := json.Marshal(taint)
			must(t, "write a taint", err)
			own = append(own, string(text))
		}
	}
	if len(own) == 0 {
		return patch
	}
	all := strings.Join(own, ",")
	return strings.NewReplacer(`"taints":[]`, `"taints":[`+all+`]`, `"taints":[{`, `"taints":[`+all+`,{`).Replace(patch)
}

func nodeRows(t *testing.T, b *bench) {
	const claimOf = `"ownerReferences":[` + owner + `]`
	patched := []struct{ name, group, node, patch, denied string }{
		{"registration", "functions", fresh, `{"metadata":{"labels":{"karpenter.sh/registered":"true","team":"a"},"annotations":{"x":"y"},"finalizers":["karpenter.sh/termination"],` + claimOf + `},"spec":{"taints":[` + teamTaint + `]}}`, ""},
		{"initialisation", "functions", registered, `{"metadata":{"labels":{"karpenter.sh/initialized":"true"}}}`, ""},
		{"a node of another", "functions", foreign, `{"metadata":{"labels":{"karpenter.sh/registered":"true"}}}`, "is not managed by Joiner"},
		{"a node that says nothing", "functions", bare, `{"metadata":{"labels":{"karpenter.sh/registered":"true"},` + claimOf + `}}`, "register the node with the taint karpenter.sh/unregistered:NoExecute"},
		{"labels of a registered node", "functions", registered, `{"metadata":{"labels":{"team":"b"}}}`, "labels team are not to be changed"},
		{"taints of a registered node", "functions", registered, `{"spec":{"taints":[]}}`, "taints team are not to be changed"},
		{"a taint that evicts", "functions", registered, `{"spec":{"taints":[` + teamTaint + `,{"key":"out","effect":"NoExecute"}]}}`, "taints out are not to be changed"},
		{"annotations of a node", "disrupt", registered, `{"metadata":{"annotations":{"a":"c"}}}`, "annotations are its registration's to change"},
		{"unschedulable", "functions", fresh, `{"spec":{"unschedulable":true}}`, "nothing but taints"},
		{"a finalizer of others", "functions", registered, `{"metadata":{"finalizers":["karpenter.sh/termination"]}}`, "karpenter.sh/termination alone"},
		{"an owner that is no claim", "functions", fresh, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"1"}]}}`, "adds its NodeClaim, and takes that off, and nothing else"},
		{"cordon", "interruption", registered, `{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":"karpenter"}},"spec":{"taints":[` + teamTaint + `,` + disrupted + `]}}`, ""},
		{"let go of", "interruption", registered, `{"metadata":{"finalizers":["example.com/other"]}}`, ""},
		{"cordon of another's node", "interruption", foreign, `{"spec":{"taints":[` + disrupted + `]}}`, "is not managed by Joiner"},
		{"another taint", "interruption", registered, `{"spec":{"taints":[` + teamTaint + `,{"key":"out","effect":"NoExecute"}]}}`, "taints out"},
		{"a pool's taint is taken off", "interruption", registered, `{"spec":{"taints":[` + disrupted + `]}}`, "taints team"},
		{"another label", "interruption", registered, `{"metadata":{"labels":{"karpenter.sh/nodepool":"other"}}}`, "labels karpenter.sh/nodepool"},
		{"an owner", "interruption", registered, `{"metadata":{` + claimOf + `}}`, "adds its NodeClaim"},
		{"a reservation that ended", "catalog", registered, `{"metadata":{"labels":{"karpenter.sh/capacity-type":"on-demand","karpenter.k8s.aws/capacity-reservation-id":null}}}`, ""},
		{"its pool", "catalog", registered, `{"metadata":{"labels":{"karpenter.sh/nodepool":null}}}`, "labels karpenter.sh/nodepool"},
		{"a taint of the catalogue", "catalog", registered, `{"spec":{"taints":[` + teamTaint + `,` + disrupted + `]}}`, "taints karpenter.sh/disrupted"},
		{"kept free", "disrupt", registered, `{"spec":{"taints":[` + teamTaint + `,` + disrupted + `]}}`, ""},
		{"free again", "disrupt", cordoned, `{"spec":{"taints":[]}}`, ""},
		{"a label", "disrupt", registered, `{"metadata":{"labels":{"a":"b"}}}`, "labels a are"},
		{"what Karpenter left behind", "adopt", cordoned, `{"spec":{"taints":[]}}`, ""},
		{"another's node", "adopt", foreign, `{"spec":{"taints":[` + disrupted + `]}}`, "is not managed by Joiner"},
		{"people", "", foreign, `{"metadata":{"labels":{"a":"b"}},"spec":{"unschedulable":true}}`, ""},
	}
	for _, tt := range patched {
		t.Run(tt.group+" "+tt.name, func(t *testing.T) {
			node := b.object(t, nodes, "", tt.node)
			who, _ := b.as(t, "joiner:"+tt.group, tt.denied == "" && tt.group != "")
			var err error
			for range 10 { // Kubernetes may change its own taints in between
				_, err = who.Resource(nodes).Patch(t.Context(), node.GetName(), types.MergePatchType, []byte(b.keeping(t, node.GetName(), tt.patch)), metav1.PatchOptions{})
				if err == nil || !strings.Contains(err.Error(), "node.kubernetes.io/") {
					break
				}
			}
			evaluate(t, err, tt.denied)
		})
	}
	for node, denied := range map[string]string{registered: "", foreign: "is not managed by Joiner"} {
		made := b.object(t, nodes, "", node)
		who, _ := b.as(t, "joiner:interruption", denied == "")
		evaluate(t, who.Resource(nodes).Delete(t.Context(), made.GetName(), metav1.DeleteOptions{}), denied)
	}
	who, _ := b.as(t, "joiner:functions", false)
	var made unstructured.Unstructured
	must(t, "read", yaml.Unmarshal([]byte(registered), &made.Object))
	made.SetName("made-up")
	_, err := who.Resource(nodes).Create(t.Context(), &made, metav1.CreateOptions{})
	evaluate(t, err, "make no Nodes")
}

// bareRows are of nodes that say nothing of themselves where people have allowed that.
func bareRows(t *testing.T, b *bench) {
	who, _ := b.as(t, "joiner:functions", true)
	begin := []byte(`{"metadata":{"labels":{"karpenter.sh/registered":"true"},"ownerReferences":[` + owner + `]}}`)
	eventually(t, "a bare node is registered", func() error {
		_, err := who.Resource(nodes).Patch(t.Context(), b.object(t, nodes, "", bare).GetName(), types.MergePatchType, begin, metav1.PatchOptions{})
		return err
	})
	_, err := who.Resource(nodes).Patch(t.Context(), b.object(t, nodes, "", foreign).GetName(), types.MergePatchType, begin, metav1.PatchOptions{})
	evaluate(t, err, "is not managed by Joiner")
	_, err = who.Resource(nodes).Patch(t.Context(), b.object(t, nodes, "", bare).GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	evaluate(t, err, "is not managed by Joiner")
}

func podRows(t *testing.T, b *bench) {
	grace := func(n int64) *int64 { return &n }
	tests := []struct {
		name, group string
		evict       bool
		grace       *int64
		uid         bool
		denied      string
	}{
		{"deletes with a grace", "interruption", false, grace(1), true, ""},
		{"deletes at once", "interruption", false, grace(0), true, "at least one second"},
		{"deletes with the pod's own grace", "interruption", false, nil, true, ""},
		{"deletes whichever has the name", "interruption", false, grace(5), false, "set preconditions.uid"},
		{"evicts", "interruption", true, nil, true, ""},
		{"evicts at once", "interruption", true, grace(0), true, "at least one second"},
		{"evicts whichever has the name", "interruption", true, nil, false, "set preconditions.uid"},
		{"deletes at once", "functions", false, grace(0), true, "at least one second"},
		{"evicts whichever has the name", "disrupt", true, nil, false, "set preconditions.uid"},
		{"a kubelet deletes at once", "", false, grace(0), false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.group+" "+tt.name, func(t *testing.T) {
			pod := b.object(t, pods, "default", aPod)
			_, who := b.as(t, "joiner:"+tt.group, tt.denied == "" && tt.group != "")
			options := metav1.DeleteOptions{GracePeriodSeconds: tt.grace}
			if tt.uid {
				id := pod.GetUID()
				options.Preconditions = &metav1.Preconditions{UID: &id}
			}
			if tt.evict {
				evaluate(t, who.CoreV1().Pods("default").EvictV1(t.Context(), &policyv1.Eviction{
					ObjectMeta: metav1.ObjectMeta{Name: pod.GetName(), Namespace: "default"}, DeleteOptions: &options}), tt.denied)
				return
			}
			evaluate(t, who.CoreV1().Pods("default").Delete(t.Context(), pod.GetName(), options), tt.denied)
		})
	}
	for _, tt := range []struct{ name, group, patch, denied string }{
		{"nominates", "functions", `{"status":{"nominatedNodeName":"n"}}`, ""},
		{"nominates twice", "functions", `{"status":{"nominatedNodeName":"m"}}`, ""},
		{"takes a nomination back", "functions", `{"status":{"nominatedNodeName":null}}`, "and nothing else"},
		{"says more", "functions", `{"status":{"nominatedNodeName":"n","message":"x"}}`, "and nothing else"},
		{"says that it has ended", "functions", `{"status":{"nominatedNodeName":"n","phase":"Failed"}}`, "and nothing else"},
		{"labels it beside", "functions", `{"metadata":{"labels":{"a":"b"}},"status":{"nominatedNodeName":"n"}}`, "and nothing else"},
		{"nominates", "interruption", `{"status":{"nominatedNodeName":"n"}}`, "and nothing else"},
		{"nominates", "disrupt", `{"status":{"nominatedNodeName":"n"}}`, "and nothing else"},
	} {
		t.Run(tt.group+" "+tt.name, func(t *testing.T) {
			pod := b.object(t, pods, "default", strings.Replace(aPod, "nodeName: ", "schedulerName: ", 1))
			who, _ := b.as(t, "joiner:"+tt.group, tt.denied == "")
			if tt.name == "takes a nomination back" || tt.name == "nominates twice" {
				_, err := in(b.admin, pods, "default").Patch(t.Context(), pod.GetName(), types.MergePatchType, []byte(`{"status":{"nominatedNodeName":"n"}}`), metav1.PatchOptions{}, "status")
				must(t, "nominate", err)
			}
			_, err := in(who, pods, "default").Patch(t.Context(), pod.GetName(), types.MergePatchType, []byte(tt.patch), metav1.PatchOptions{}, "status")
			evaluate(t, err, tt.denied)
		})
	}
	who, _ := b.as(t, "joiner:functions", false)
	bound := b.object(t, pods, "default", aPod)
	_, err := in(who, pods, "default").Patch(t.Context(), bound.GetName(), types.MergePatchType, []byte(`{"status":{"nominatedNodeName":"n"}}`), metav1.PatchOptions{}, "status")
	evaluate(t, err, "nominatedNodeName") // newer API servers say so before the policy does
	who, _ = b.as(t, "joiner:interruption", false)
	pod := b.object(t, pods, "default", aPod)
	_, err = in(who, pods, "default").Patch(t.Context(), pod.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	evaluate(t, err, "neither make nor change pods")
	pod.SetName("made-up")
	pod.SetResourceVersion("")
	_, err = in(who, pods, "default").Create(t.Context(), pod, metav1.CreateOptions{})
	evaluate(t, err, "neither make nor change pods")
}

func specRows(t *testing.T, b *bench) {
	claim := strings.Replace(someClaim, "name: held", "name: NAME", 1)
	for _, tt := range []struct {
		name, group string
		resource    schema.GroupVersionResource
		object      string
		patch       string
		denied      string
	}{
		{"a claim's annotations", "functions", nodeClaims, claim, `{"metadata":{"annotations":{"karpenter.sh/nodepool-hash":"1"}}}`, ""},
		{"a claim's spec", "functions", nodeClaims, claim, `{"spec":{"expireAfter":"1h"}}`, "the spec of a claim cannot change"},
		{"a claim's spec", "interruption", nodeClaims, claim, `{"spec":{"terminationGracePeriod":"1s"}}`, "the spec of a claim cannot change"},
		{"a claim is let go of", "interruption", nodeClaims, claim, `{"metadata":{"finalizers":[]}}`, ""},
		{"a pool's spec", "functions", nodePools, strings.Replace(somePool, "name: kept", "name: NAME", 1), `{"spec":{"limits":{"cpu":"1000"}}}`, "Joiner changes no spec: that of nodepools"},
		{"a class is held", "catalog", classes, aClass, `{"metadata":{"finalizers":["example.com/other","karpenter.k8s.aws/termination"]}}`, ""},
		{"a class's spec", "catalog", classes, aClass, `{"spec":{"role":"admin"}}`, "Joiner changes no spec: that of ec2nodeclasses"},
		{"a class's user data", "disrupt", classes, aClass, `{"spec":{"userData":"x"}}`, "Joiner changes no spec"},
		{"a finalizer of others", "catalog", classes, aClass, `{"metadata":{"finalizers":[]}}`, "finalizers of others"},
		{"people", "", classes, aClass, `{"spec":{"role":"admin"}}`, ""},
	} {
		t.Run(tt.group+" "+tt.name, func(t *testing.T) {
			object := b.object(t, tt.resource, "", tt.object)
			who, _ := b.as(t, "joiner:"+tt.group, tt.denied == "" && tt.group != "")
			_, err := who.Resource(tt.resource).Patch(t.Context(), object.GetName(), types.MergePatchType, []byte(tt.patch), metav1.PatchOptions{})
			evaluate(t, err, tt.denied)
		})
	}
}

// watcherRows are of a watcher whose role somebody has made too large.
func watcherRows(t *testing.T, b *bench) {
	config, err := b.plane.ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	must(t, "get a token", err)
	who, ctx := client(t, config), t.Context()
	lease := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": name}}}
	}
	made, err := in(who, leases, "joiner").Create(ctx, lease("joiner-watcher"), metav1.CreateOptions{})
	evaluate(t, err, "")
	_, err = in(who, leases, "joiner").Create(ctx, lease("other"), metav1.CreateOptions{})
	evaluate(t, err, "nothing but its lease")

	b.object(t, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, "", `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: joiner-watcher, namespace: joiner}]
`)
	eventually(t, "the watcher may read secrets", func() error {
		_, err := in(who, secrets, "joiner").List(ctx, metav1.ListOptions{})
		return err
	})
	made.SetLabels(map[string]string{"a": "b"})
	_, err = in(who, leases, "joiner").Update(ctx, made, metav1.UpdateOptions{})
	evaluate(t, err, "")
	for what, try := range map[string]func(context.Context) error{
		"another lease": func(ctx context.Context) error {
			_, err := in(who, leases, "default").Create(ctx, lease("joiner-watcher"), metav1.CreateOptions{})
			return err
		},
		"an end of its lease": func(ctx context.Context) error {
			return in(who, leases, "joiner").Delete(ctx, "joiner-watcher", metav1.DeleteOptions{})
		},
		"a ConfigMap": func(ctx context.Context) error {
			text, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}})
			var object unstructured.Unstructured
			if err := object.UnmarshalJSON(text); err != nil {
				return err
			}
			_, err := in(who, maps, "joiner").Create(ctx, &object, metav1.CreateOptions{})
			return err
		},
		"a node": func(ctx context.Context) error {
			_, err := who.Resource(nodes).Patch(ctx, b.object(t, nodes, "", registered).GetName(), types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
			return err
		},
		"a node's status": func(ctx context.Context) error {
			_, err := who.Resource(nodes).Patch(ctx, b.object(t, nodes, "", registered).GetName(), types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
			return err
		},
		"a claim": func(ctx context.Context) error {
			return who.Resource(nodeClaims).Delete(ctx, b.object(t, nodeClaims, "", strings.Replace(someClaim, "name: held", "name: NAME", 1)).GetName(), metav1.DeleteOptions{})
		},
	} {
		t.Run(what, func(t *testing.T) { evaluate(t, try(t.Context()), "nothing but its lease") })
	}
}
