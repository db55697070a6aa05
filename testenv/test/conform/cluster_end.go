package conform

import (
	"context"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// ClusterEnderPort is an API server as the launching and the ending flow see it.
type ClusterEnderPort interface {
	ClusterPort
	// Ender is the API server as the ending flow sees it.
	Ender() interruption.Cluster
}

// ClusterEnder is the contract of an API server towards the flow that ends instances; see Cluster.
func ClusterEnder(t *testing.T, start func(t *testing.T) ClusterEnderPort) {
	for name, rule := range map[string]func(plane, interruption.Cluster){
		"a look shows nodes and objects as they are":             clusterChecks,
		"a node runs what outlives it, and no daemons":           clusterRuns,
		"an object is removed by its UID, and no other instead":  clusterRemoves,
		"nothing is removed that is gone, or without being told": clusterRemovesNothing,
	} {
		t.Run(name, func(t *testing.T) {
			port := start(t)
			rule(plane{port, t}, port.Ender())
		})
	}
}

// live looks at the cluster and returns what it shows of a node and of a claim's object; false where there is none.
func (b plane) live(ender interruption.Cluster, node, claim string) (n model.Node, hasNode bool, object model.ClaimObject, hasObject bool) {
	b.t.Helper()
	live, err := ender.ReadLive(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if i := slices.IndexFunc(live.Nodes, func(n model.Node) bool { return n.Name == node }); i >= 0 {
		n, hasNode = live.Nodes[i], true
	}
	if i := slices.IndexFunc(live.Objects, func(o model.ClaimObject) bool { return o.Claim.Name == claim }); i >= 0 {
		object, hasObject = live.Objects[i], true
	}
	return n, hasNode, object, hasObject
}

func clusterChecks(b plane, ender interruption.Cluster) {
	node, claim := b.node("looked"), b.launched("looked")
	uid := b.show(claim)
	n, hasNode, object, hasObject := b.live(ender, node.Name, claim.Name)
	if !hasNode || n.UID != node.UID || n.ProviderID != node.ProviderID || n.Labels["kept"] != "x" {
		b.t.Errorf("node %+v", n)
	}
	if got := object.Claim; !hasObject || got.ObjectUID != uid || got.ProviderID != claim.ProviderID || got.State != model.Launched || got.Pool != claim.Pool || object.DeletedUnix != 0 {
		b.t.Errorf("object %+v", object)
	}
	first, err := ender.ReadLive(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	b.node("later")
	if second, err := ender.ReadLive(b.t.Context()); err != nil || second.Version <= first.Version || first.Version == 0 {
		b.t.Errorf("versions %d and then %d, %v", first.Version, second.Version, err)
	}
}

func clusterRuns(b plane, ender interruption.Cluster) {
	node := b.node("runs")
	runs := func(what string, want bool) {
		b.t.Helper()
		if got, err := ender.Runs(b.t.Context(), node.Name); err != nil || got != want {
			b.t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	runs("an empty node", false)
	b.MakePod(b.Unique("elsewhere"), "", false)
	b.MakePod(b.Unique("daemon"), node.Name, true)
	runs("a node with a daemon", false)
	b.MakePod(b.Unique("web"), node.Name, false)
	runs("a node with a pod", true)
}

func clusterRemoves(b plane, ender interruption.Cluster) {
	node, claim := b.node("removed"), b.launched("removed")
	uid := b.show(claim)
	b.want(fault.Conflict, "another node of the name", ender.Remove(b.t.Context(), interruption.KindNode, model.Object{Name: node.Name, UID: otherUID}))
	b.want(fault.Conflict, "another object of the name", ender.Remove(b.t.Context(), interruption.KindNodeClaim, model.Object{Name: claim.Name, UID: otherUID}))
	if _, hasNode, _, hasObject := b.live(ender, node.Name, claim.Name); !hasNode || !hasObject {
		b.t.Fatalf("node %v, object %v: removed instead of others", hasNode, hasObject)
	}
	if holds, ok := ender.(interface { // our finalizer, which is another contract's
		Free(context.Context, string, model.Object) (bool, error)
	}); ok {
		if _, err := holds.Free(b.t.Context(), interruption.KindNodeClaim, model.Object{Name: claim.Name, UID: uid}); err != nil {
			b.t.Fatal(err)
		}
	}
	for kind, object := range map[string]model.Object{
		interruption.KindNode: {Name: node.Name, UID: node.UID}, interruption.KindNodeClaim: {Name: claim.Name, UID: uid},
	} {
		if err := ender.Remove(b.t.Context(), kind, object); err != nil {
			b.t.Errorf("%s: %v", kind, err)
		}
		b.want(fault.NotFound, "once more", ender.Remove(b.t.Context(), kind, object))
	}
	if _, hasNode, _, hasObject := b.live(ender, node.Name, claim.Name); hasNode || hasObject {
		b.t.Errorf("node %v, object %v: still there", hasNode, hasObject)
	}
}

func clusterRemovesNothing(b plane, ender interruption.Cluster) {
	node := b.node("kept")
	b.want(fault.NotFound, "a node that never was", ender.Remove(b.t.Context(), interruption.KindNode, model.Object{Name: b.Unique("absent"), UID: otherUID}))
	b.want(fault.Invalid, "a node without a UID", ender.Remove(b.t.Context(), interruption.KindNode, model.Object{Name: node.Name}))
	b.want(fault.Invalid, "another kind", ender.Remove(b.t.Context(), "Pod", model.Object{Name: node.Name, UID: otherUID}))
	if _, hasNode, _, _ := b.live(ender, node.Name, ""); !hasNode {
		b.t.Error("the node is gone")
	}
}
