package world_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// clusterUnderTest is a cluster as its contract wants it.
type clusterUnderTest struct {
	*world.Cluster
	names *int
}

func TestClusterKeepsTheContract(t *testing.T) {
	conform.Cluster(t, func(*testing.T) conform.ClusterPort { return newClusterUnderTest() })
}

func TestClusterKeepsTheContractOfItsEnd(t *testing.T) {
	conform.ClusterEnder(t, func(*testing.T) conform.ClusterEnderPort { return newClusterUnderTest() })
}

func newClusterUnderTest() clusterUnderTest {
	return clusterUnderTest{world.New(world.Options{}).Cluster, new(int)}
}

func (c clusterUnderTest) Ender() interruption.Cluster { return c.Cluster }

func (c clusterUnderTest) Unique(base string) string {
	*c.names++
	return fmt.Sprintf("%s-%d", base, *c.names)
}

func (c clusterUnderTest) MakeNode(node model.Node) string {
	node.UID = ""
	c.PutNode(node)
	for _, made := range c.Nodes() {
		if made.Name == node.Name {
			return made.UID
		}
	}
	return ""
}

func (c clusterUnderTest) DropNode(name string) { c.DeleteNode(name) }

func (c clusterUnderTest) MakePod(name, node string, daemon bool) {
	shape := model.PodShape{Namespace: "default", Requests: model.Resources{model.CPU: 250}}
	if daemon {
		shape.OwnerKind = "DaemonSet"
	}
	if node == "" {
		c.CreatePod(name, shape)
		return
	}
	c.CreatePodOn(name, node, shape)
}

func (c clusterUnderTest) MakePool(name string) string {
	c.AddPool(world.Pool(name, "default"))
	snapshot, _ := c.ListAt(0)
	for _, pool := range snapshot.Pools {
		if pool.Name == name {
			return pool.UID
		}
	}
	return ""
}

func (c clusterUnderTest) MakeClass(name string) model.Class {
	c.AddClass(world.Class(name))
	return c.Class(name)
}

func (c clusterUnderTest) ClassStatus(name string) model.ClassStatus { return c.Class(name).Status }

func (c clusterUnderTest) Shown(name string) (conform.Shown, bool) {
	for _, object := range c.Claims() {
		if object.Claim.Name == name {
			return conform.Shown{UID: object.UID, ProviderID: object.Claim.ProviderID, NodeName: object.Claim.NodeName, State: object.Claim.State}, true
		}
	}
	return conform.Shown{}, false
}

func (c clusterUnderTest) DropClaim(name string) { c.DeleteClaim(name) }

func (c clusterUnderTest) Reasons(kind, name string) []string {
	var out []string
	for _, event := range c.Events(kind, name) {
		out = append(out, event.Reason)
	}
	slices.Sort(out)
	return out
}
